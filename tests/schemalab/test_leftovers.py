"""A new PostgreSQL starts whatever the last one of this home left: a frozen postmaster, children, a long recovery."""

import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import psycopg
import pytest

from schemalab.embedded import postgres
from schemalab.embedded.leftovers import PID_FILE, end_leftovers, ours
from schemalab.embedded.locations import Locations, locations_of, prepare_folders
from schemalab.embedded.postgres import ServiceFailed
from schemalab.polling import wait_for
from schemalab.supervisor import children
from tests.harness.services import private_home

LIMIT_S = 60.0
CARELESS = {"fsync": "off", "shared_buffers": "8MB"}


@pytest.fixture(scope="module")
def home() -> Iterator[Locations]:
    folder = private_home("leftovers")
    places = locations_of(folder)
    prepare_folders(places)
    postgres.prepare(places)
    yield places
    shutil.rmtree(folder)


@pytest.fixture
def places(home: Locations) -> Iterator[Locations]:
    """A home with a database that is not running; no process that a test leaves there stays."""
    yield home
    for pid in ours(home):
        os.kill(pid, signal.SIGKILL)
    wait_for(lambda: ours(home) == [], what="the end of the test's servers", seconds_max=LIMIT_S)


def start(places: Locations, **options: str) -> "subprocess.Popen[bytes]":
    return children.start(postgres.launch(places, {**CARELESS, **options}), output=places.logs / "postgres.log")


def has_ended(pid: int) -> bool:
    return not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


STARTS_AND_DIES = """
import os, sys, signal, subprocess
from tests.schemalab.test_leftovers import frozen_orphan
frozen_orphan(sys.argv[1])
"""


def frozen_orphan(home: str) -> None:
    """Be an `up` whose postmaster does not heed the kernel's word, since it is frozen; then be killed."""
    places = locations_of(Path(home))
    server = start(places)
    postgres.wait_until_ready(places, still_running=server)
    server.send_signal(signal.SIGSTOP)
    print(server.pid, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)


def test_an_old_postmaster_is_ended_before_a_new_one_starts(places: Locations) -> None:
    program = [sys.executable, "-c", STARTS_AND_DIES, str(places.home)]
    done = subprocess.run(program, stdout=subprocess.PIPE, text=True, check=False, timeout=LIMIT_S)
    old = int(done.stdout)
    assert not has_ended(old)
    said: list[str] = []
    end_leftovers(places, said.append)
    assert has_ended(old)
    assert said[0] == f"ending PostgreSQL's old postmaster (process {old}), left by a run that was killed"
    server = start(places)
    try:
        postgres.wait_until_ready(places, still_running=server)
    finally:
        children.stop(server, postgres.launch(places))


HEARS = """
import signal, sys
signal.signal(signal.SIGINT, signal.SIG_IGN)
signal.signal(signal.SIGQUIT, lambda *_: (open(sys.argv[1], "w").close(), sys.exit()))
print("here", flush=True)
signal.pause()
"""
STARTS_ONE_AND_DIES = """
import os, signal, subprocess, sys
from dataclasses import replace
from pathlib import Path
from schemalab.embedded import postgres
from schemalab.embedded.locations import locations_of
launch = replace(postgres.launch(locations_of(Path(sys.argv[1]))), argv=(sys.executable, *sys.argv[2:]))
options = launch.popen_options() | {"user": None, "group": None}
child = subprocess.Popen(launch.argv, stdout=subprocess.PIPE, **options)
child.stdout.readline()
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_server_whose_starter_is_killed_is_told_what_it_heeds_in_recovery_too(
    places: Locations, tmp_path: Path
) -> None:
    """SIGINT, a fast shutdown, is not heard while a server recovers; it would keep the next one away."""
    heard = tmp_path / "heard"
    program = [sys.executable, "-c", STARTS_ONE_AND_DIES, str(places.home), "-c", HEARS, str(heard)]
    subprocess.run(program, stdout=subprocess.DEVNULL, check=False, timeout=LIMIT_S)
    wait_for(heard.exists, what="SIGQUIT", seconds_max=LIMIT_S)


def test_a_frozen_child_of_a_killed_postmaster_is_ended(places: Locations) -> None:
    """It would keep the shared memory, and every new server away."""
    server = start(places)
    postgres.wait_until_ready(places, still_running=server)
    with psycopg.connect(places.database_url) as connection:
        child = connection.info.backend_pid
        os.kill(child, signal.SIGSTOP)
        wait_for(lambda: children.is_stopped(child), what="the signal", seconds_max=LIMIT_S)
        server.kill()
        server.wait()
    wait_for(lambda: ours(places) == [child], what="the end of the others", seconds_max=LIMIT_S)
    end_leftovers(places, lambda _line: None)
    server = start(places)
    try:
        postgres.wait_until_ready(places, still_running=server)
    finally:
        children.stop(server, postgres.launch(places))


def test_a_long_recovery_is_waited_for_and_reported(places: Locations, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres, "START_S_MAX", 2.0)
    monkeypatch.setattr(postgres, "REPORT_AGAIN_S", 0.5)
    go_on = places.data / "go_on"
    (places.data / "recovery.signal").touch()
    os.chown(places.data / "recovery.signal", places.data.stat().st_uid, -1)
    wait = f"while ! test -e {go_on}; do sleep 0.1; done; exit 1"
    server = start(places, restore_command=wait, hot_standby="off")
    said: list[str] = []

    def say(line: str) -> None:
        said.append(line)
        if len(said) == 8:  # longer than it would wait for silence
            go_on.touch()

    try:
        postgres.wait_until_ready(places, still_running=server, say=say)
    finally:
        go_on.touch()
        children.stop(server, postgres.launch(places))
    assert len(said) >= 8
    assert all(re.fullmatch(r"PostgreSQL is recovering: \d+ s so far", line) for line in said)


def test_the_waiting_ends_when_the_user_has_enough(places: Locations) -> None:
    given_up = threading.Event()
    given_up.set()
    with pytest.raises(ServiceFailed, match="not waited for any longer"):
        postgres.wait_until_ready(places, given_up=given_up)


@pytest.fixture
def stranger(tmp_path: Path) -> Iterator[int]:
    """A process that the lock file names and that is none of ours."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, cwd=tmp_path) as process:
        yield process.pid
        with suppress(ProcessLookupError):
            process.kill()


def test_a_process_that_is_not_ours_is_named_and_not_touched(
    places: Locations, stranger: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    (places.data / PID_FILE).write_text(f"{stranger}\n{places.data}\n")
    said: list[str] = []
    end_leftovers(places, said.append)
    assert said == []
    assert not has_ended(stranger)
    monkeypatch.setattr(postgres, "START_S_MAX", 0.2)
    with pytest.raises(ServiceFailed, match=f"names process {stranger}, which is not PostgreSQL .* remove this file"):
        postgres.wait_until_ready(places)
    (places.data / PID_FILE).unlink()
