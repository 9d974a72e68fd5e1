"""The trial of prepared statements across schema changes does not take errors, or silence, for answers. `make clients`
runs the drivers themselves; here a false connection answers as it should not."""

import importlib
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import tests.clients as clients

DRIVERS = Path(clients.__file__).parent / "drivers"
MODULES = ("trial", "across_changes")


@pytest.fixture
def across_changes(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The module as a driver's script has it, with less patience."""
    for name, value in {"PGHOST": "here", "PGPORT": "1", "PGUSER": "owner", "PGDATABASE": "schemalab"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("PGPORTS", raising=False)
    monkeypatch.syspath_prepend(str(DRIVERS))
    for name in MODULES:
        monkeypatch.delitem(sys.modules, name, raising=False)
    module = importlib.import_module("across_changes")
    monkeypatch.setattr(module, "SECONDS_MAX", 1)
    monkeypatch.setattr(module, "JOIN_S_MAX", 0.2)
    yield module
    for name in MODULES:
        monkeypatch.delitem(sys.modules, name, raising=False)


class Refused(Exception):
    sqlstate = "40001"


class Door:
    """Answers a worker as its ledger has it, but for what `meets` raises or waits for; no schema change is made."""

    def __init__(self, module: ModuleType, meets: Callable[[str], None]) -> None:
        self.module, self.meets = module, meets

    def ask(self, sql: str, values: dict[str, Any]) -> Any:
        self.meets(sql)
        return self.module.Answer(None, [], 1)

    def prepare_again(self, sql: str) -> None: ...


def workers_of(module: ModuleType, meets: Callable[[str], None]) -> list[Any]:
    progress = module.Progress()
    return [module.Worker("t", Door(module, meets), number, progress) for number in range(module.WORKERS)]


def test_errors_alone_are_no_answers(across_changes: ModuleType) -> None:
    def refused(sql: str) -> None:
        raise Refused

    def change(_port: int, _sql: str) -> None: ...

    with pytest.raises(AssertionError, match="not done after 1 s"):
        across_changes.across_changes("t", lambda _: Door(across_changes, refused), change)


def test_a_statement_that_succeeded_before_a_change_only_is_named(across_changes: ModuleType) -> None:
    workers = workers_of(across_changes, lambda _: None)
    for worker in workers:
        worker.succeeded_at = dict.fromkeys(across_changes.STATEMENTS, 1) | {"sum": 0}
        worker.progress.done = 1
    across_changes.SUCCESSES = 0
    across_changes.wait_for(workers, of_each=False)
    with pytest.raises(AssertionError, match="since the last change: .'0: sum', '1: sum', '2: sum'"):
        across_changes.wait_for(workers, of_each=True)


def test_a_statement_that_does_not_end_is_seen(across_changes: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    ended = threading.Event()

    def hangs(sql: str) -> None:
        ended.wait(20)

    def change(_port: int, _sql: str) -> None: ...

    monkeypatch.setattr(across_changes, "wait_for", lambda workers, of_each: None)
    try:
        with pytest.raises(AssertionError, match=r"\[True, True, True\], not \[False, False, False\]"):
            across_changes.across_changes("t", lambda _: Door(across_changes, hangs), change)
    finally:
        ended.set()
