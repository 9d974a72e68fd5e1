"""The base of the lab's commands: no database, and bad usage is one line and exit code 2."""

import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any, NoReturn

from django.core.management.base import BaseCommand, CommandError


class LabCommand(BaseCommand):
    requires_system_checks: tuple[str, ...] = ()

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> ArgumentParser:
        parser = super().create_parser(prog_name, subcommand, **kwargs)

        def refuse(message: str) -> NoReturn:
            sys.stderr.write(f"{subcommand}: {message}\n")
            raise SystemExit(2)

        parser.error = refuse  # type: ignore[method-assign]
        return parser


def write_file(path: str | Path, text: str) -> None:
    """Raises `CommandError`."""
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise CommandError(f"cannot write {path}: {error}", returncode=2) from error
