"""Commands that only look answer at once: they load what they show, and no engine, page or queue."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ENGINES = {
    "pyspark", "py4j", "pyarrow", "numpy", "pandas", "channels.layers", "channels.generic", "celery", "kombu",
    "uvicorn", "uvloop", "nodes.execution", "lab.explorer.verdict",
}  # fmt: skip
PAGES = {"views", "admin", "consumers", "urls"}
"""A module of ours with such a name belongs to a page."""
RUN = """
import atexit, json, sys
from django.conf import settings
settings.DATABASES["default"]["NAME"] = sys.argv.pop(1)
import manage
atexit.register(lambda: print(json.dumps(sorted(sys.modules)), file=sys.stderr))
manage.main()
"""


@pytest.mark.parametrize("words", ["nodes", "leases", "change list", "storages list", "users"])
def test_a_command_that_looks_loads_no_engine_and_no_page(dsn: str, words: str) -> None:
    from django.db import connection

    name = str(connection.settings_dict["NAME"])
    program = [sys.executable, "-c", RUN, name, *words.split()]
    ran = subprocess.run(program, cwd=ROOT, capture_output=True, text=True, check=False, timeout=60)
    *said, loaded = ran.stderr.splitlines()
    assert (ran.returncode, said) == (0, []), ran.stderr
    modules = json.loads(loaded)
    assert "django.db.backends.postgresql.base" in modules
    assert ENGINES & set(modules) == set()
    ours = {path.name for path in ROOT.iterdir() if (path / "__init__.py").exists()}
    assert [one for one in modules if one.split(".")[0] in ours and PAGES & set(one.split(".")[1:])] == []
