"""The folder of `make anywhere`, written once for all tests of a run that open it in a browser."""

import os
import shutil
from pathlib import Path

import pytest

from tests.anywhere.host import write_folder


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A host with the folder below course/. Skipped where npm is missing, except in continuous integration."""
    if shutil.which("npm") is None and os.environ.get("CI") != "true":
        pytest.skip("npm is missing: make anywhere fetches Pyodide by it")
    host = tmp_path_factory.mktemp("host")
    write_folder(host)
    return host
