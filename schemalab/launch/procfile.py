"""The Procfile: the processes of the cluster as `name: command` lines with $VARIABLES."""

import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from string import Template

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = {"python": (sys.executable,), "celery": (sys.executable, "-m", "celery")}


def read_procfile(text: str) -> dict[str, str]:
    lines = (line.strip() for line in text.splitlines())
    entries = (line.partition(":") for line in lines if line and not line.startswith("#"))
    return {name.strip(): command.strip() for name, _, command in entries}


def command_line(command: str, values: Mapping[str, str]) -> tuple[str, ...]:
    program, *arguments = (Template(word).substitute(values) for word in shlex.split(command))
    return (*PROGRAMS.get(program, (program,)), *arguments)
