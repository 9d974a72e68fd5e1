"""The same work in this process and on Spark; a JVM that dies is replaced, and a run goes on."""

import os
import signal
from pathlib import Path

import pytest

from spark_tasks.models import ReorgRun
from spark_tasks.spark import session
from tests.spark_tasks.runs import Runs, entries, to_filling
from tests.storage.stage import Stage, user


@pytest.fixture
def runs(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> Runs:
    """Every job goes to Spark, however small; a range holds few rows."""
    monkeypatch.setattr("spark_tasks.services._send", lambda run_id: None)
    monkeypatch.setattr(session, "ROWS_IN_PROCESS_MAX", 0)
    monkeypatch.setattr("spark_tasks.runs.ranges.ROWS_PER_RANGE", 10)
    monkeypatch.setattr("spark_tasks.runs.ranges.FILL_ROWS", 10)
    stage.insert(user(stage.now, n, f"name {n % 7}") for n in range(100))
    return Runs(stage, stage.table_id)


def test_spark_does_what_this_process_does(stage: Stage, runs: Runs, spark: None) -> None:
    runs.add_index()
    assert stage.violations() == []
    assert len(entries(stage)) == 100
    ReorgRun.objects.filter(table_id=stage.table_id).delete()


@pytest.mark.soak
def test_a_jvm_that_was_killed_is_replaced(stage: Stage, runs: Runs, spark: None) -> None:
    to_filling(stage)
    os.kill(session.spark().sparkContext._gateway.proc.pid, signal.SIGKILL)
    assert runs.do("fill").state == "done"
    assert len(entries(stage)) == 100
    ReorgRun.objects.filter(table_id=stage.table_id).delete()


def test_without_java_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(session.NoJava, match="needs Java; there is none in PATH, and JAVA_HOME is not set: install"):
        session.java()


def test_a_java_that_is_too_old_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text("#!/bin/sh\necho 'openjdk version \"11.0.2\"' >&2\n")
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(session.NoJava, match=r'is too old for Spark \(openjdk version "11.0.2"\)'):
        session.java()
