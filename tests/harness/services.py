"""The database and Redis of a test session: embedded, in a private home, removed afterwards. tests/conftest.py imports
it before Django reads its settings; the first test that asks (`services`, `dsn`, `redis_url`, django_db) starts them,
so pure tests pay nothing."""

import atexit
import os
import shutil
import sys
import tempfile
from pathlib import Path

LEASE_S = "2"


def private_home(name: str) -> Path:
    """A folder of ours that the database server's user can walk through."""
    home = Path(tempfile.mkdtemp(prefix=f"schemalab-{name}-"))
    home.chmod(0o755)
    return home


def surround() -> Path:
    """Point this process's settings at a private home; nothing of the user's environment or .env gets through."""
    from schemalab.environment import SETTINGS

    keep_bytecode()
    for setting in SETTINGS:
        os.environ.pop(setting.name, None)
    home = private_home("tests")
    owner = os.getpid()
    atexit.register(lambda: shutil.rmtree(home, ignore_errors=True) if os.getpid() == owner else None)
    os.environ.update(
        SCHEMALAB_HOME=str(home),
        SCHEMALAB_ENV_FILE=os.devnull,
        LEASE_S=LEASE_S,
        SECRET_KEY="only for tests",
        DJANGO_SETTINGS_MODULE="schemalab.settings",
    )
    return home


def keep_bytecode() -> None:
    """Modules are compiled once for us and all our children, whatever the environment says: without bytecode each of
    the dozens of processes takes two seconds more of a processor."""
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False
