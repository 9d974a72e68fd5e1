"""Reads the three sources of settings; `schemalab/environment.py` parses and merges them."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dotenv import dotenv_values

from schemalab.environment import home_of, merge, parse_settings

BASE_DIR = Path(__file__).resolve().parent.parent
RUNNING_FILE = "up.env"


def read_env_file(path: Path) -> dict[str, str]:
    return {name: value or "" for name, value in dotenv_values(path).items()} if path.is_file() else {}


def env_file() -> Path:
    """The clone's .env, or SCHEMALAB_ENV_FILE, which keeps a user's file from tests."""
    return BASE_DIR / os.environ.get("SCHEMALAB_ENV_FILE", ".env")


def home(process: Mapping[str, str] = os.environ) -> Path:
    return home_of({**read_env_file(env_file()), **process}, base=BASE_DIR)


def values_in_force(process: Mapping[str, str] = os.environ) -> dict[str, str]:
    running = read_env_file(home(process) / RUNNING_FILE)
    return merge(process=process, env_file=read_env_file(env_file()), running=running)


def load_settings() -> dict[str, Any]:
    return parse_settings(values_in_force())


def make_home(folder: Path) -> Path:
    if not folder.exists():
        folder.mkdir(parents=True)
        folder.chmod(0o755)
    return folder
