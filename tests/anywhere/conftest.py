"""The folder of `make anywhere`, written once for all tests of a run that open it in a browser."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.anywhere.host import Served, write_folder
from tests.chromium import running_browser


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A host with the folder below course/. Skipped where npm is missing, except in continuous integration."""
    if shutil.which("npm") is None and os.environ.get("CI") != "true":
        pytest.skip("npm is missing: make anywhere fetches Pyodide by it")
    host = tmp_path_factory.mktemp("host")
    write_folder(host)
    return host


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Ends with the file: the folder's other tests use Django's ORM."""
    with running_browser() as running:
        yield running


@pytest.fixture(scope="module")
def served(folder: Path) -> Iterator[Served]:
    running = Served(folder)
    yield running
    running.end()


@pytest.fixture(scope="module")
def complaints() -> list[str]:
    """Of the browser's console."""
    return []
