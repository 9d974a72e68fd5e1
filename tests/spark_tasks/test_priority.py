"""Others go first where the operating system can see to it, and nobody else's process is touched."""

import os
import threading
from pathlib import Path

import psycopg
import pytest

from spark_tasks.spark import priority
from tests.storage.stage import Stage


def test_a_session_that_reads_has_a_lower_priority_and_no_other_one_has(stage: Stage) -> None:
    with psycopg.connect(stage.dsn, autocommit=True) as reader, psycopg.connect(stage.dsn, autocommit=True) as writer:
        before = [os.getpriority(os.PRIO_PROCESS, one.info.backend_pid) for one in (reader, writer)]
        priority.lower_server(reader)
        assert reader.execute("SELECT 1").fetchone() == (1,)
        after = [os.getpriority(os.PRIO_PROCESS, one.info.backend_pid) for one in (reader, writer)]
        may = os.geteuid() == 0 or Path(f"/proc/{reader.info.backend_pid}").stat().st_uid == os.geteuid()
    assert before[0] == before[1]
    assert after == [max(before[0], priority.NICENESS) if may else before[0], before[1]]


def test_a_process_that_only_has_the_number_is_left_alone(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server may count its processes elsewhere: in another container, on another machine."""
    lowered: list[int] = []
    monkeypatch.setattr(priority, "_lower", lowered.append)
    with psycopg.connect(stage.dsn, autocommit=True) as reader:
        assert not priority._is_child_of_peer(reader, os.getpid())
        priority.lower_server(reader)
        assert lowered == [reader.info.backend_pid]


def test_a_priority_that_is_lower_already_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who began all of it with less does not mean one of its processes to have more."""
    asked: list[int] = []
    monkeypatch.setattr(os, "getpriority", lambda *_: priority.NICENESS + 5)
    monkeypatch.setattr(os, "setpriority", lambda *args: asked.append(args[-1]))
    assert list(priority.lowered(lambda: iter(["done"]))) == ["done"]
    assert asked == []


def test_work_that_lets_others_go_first_leaves_its_process_as_it_was() -> None:
    """Spark's processes are used again, and a niceness only goes down: a load after it would be slow for no reason."""

    def own() -> int:
        return os.getpriority(os.PRIO_PROCESS, threading.get_native_id())

    before = own()
    assert list(priority.lowered(lambda: iter([str(own())]))) == [str(max(before, priority.NICENESS))]
    assert own() == before


def test_an_error_of_such_work_is_its_callers() -> None:
    with pytest.raises(ZeroDivisionError):
        list(priority.lowered(lambda: iter([str(1 // 0)])))
