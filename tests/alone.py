"""A test that measures how long others wait runs alone: beside it no other process of the suite is within a test. All
tests share a room, which a test marked `alone` has for itself; all enter by one door, so that other tests do not keep
it out."""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Generator, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.whole_files import WholeFile

IN_WORKER = "PYTEST_XDIST_WORKER"


def folder_of(dealer: int) -> Path:
    """Of the run whose tests are dealt out by this process."""
    return Path(tempfile.gettempdir(), f"schemalab-room-{dealer}")


@contextmanager
def locked(path: Path, how: int) -> Iterator[None]:
    """Let go by name: a child that a test has forked keeps the file open."""
    with path.open("w") as file:
        fcntl.flock(file, how)
        try:
            yield
        finally:
            fcntl.flock(file, fcntl.LOCK_UN)


@contextmanager
def room(folder: Path, *, alone: bool) -> Iterator[None]:
    """The room of a run's tests, for as long as one of them takes."""
    folder.mkdir(exist_ok=True)
    with ExitStack() as inside:
        with locked(folder / "door", fcntl.LOCK_EX):
            inside.enter_context(locked(folder / "room", fcntl.LOCK_EX if alone else fcntl.LOCK_SH))
        yield


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, Any, Any]:
    if IN_WORKER not in os.environ or isinstance(item, WholeFile):
        return (yield)
    with room(folder_of(os.getppid()), alone=item.get_closest_marker("alone") is not None):
        return (yield)


def pytest_unconfigure() -> None:
    shutil.rmtree(folder_of(os.getpid()), ignore_errors=True)
