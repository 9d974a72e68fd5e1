"""One supervised process: output, restart after a crash, a kill that lasts, freeze and thaw, nothing left behind."""

import asyncio
import os
import signal
import socket
import sys
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from schemalab.polling import wait_for
from schemalab.supervisor.children import Launch
from schemalab.supervisor.control import CommandRefused, ControlServer, NotRunning, obey, send
from schemalab.supervisor.process import Refused, Supervised, report_nothing
from schemalab.supervisor.tree import signals_to_stop

LIMIT_S = 20.0
SLEEPS = "import time; print('here', flush=True); time.sleep(600)"
IGNORES_TERM = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); {SLEEPS}"
HAS_A_CHILD = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {SLEEPS!r}]); {SLEEPS}"
LOSES_ITS_LEASE = "print('here', flush=True); raise SystemExit(75)"


class Heard:
    """The lines a process said; `until` waits for the n-th line that contains some words."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._news = asyncio.Event()

    def say(self, _name: str, line: str) -> None:
        self.lines.append(line)
        self._news.set()

    async def until(self, words: str, *, times: int = 1) -> None:
        async with asyncio.timeout(LIMIT_S):
            while sum(words in line for line in self.lines) < times:
                self._news.clear()
                await self._news.wait()


def supervise(code: str, scenario: Callable[[Supervised, Heard], Awaitable[None]]) -> Heard:
    """Run a scenario on a Python program; the program must be gone afterwards."""

    async def run() -> Heard:
        heard = Heard()
        launch = Launch(argv=(sys.executable, "-c", code), env={}, cwd=Path.cwd())
        process = Supervised("n1", launch, heard.say)
        process.begin()
        try:
            await scenario(process, heard)
        finally:
            await process.stop(seconds_max=1.0)
        return heard

    heard = asyncio.run(run())
    assert [child for child in psutil.Process().children(recursive=True) if still_sleeps(child)] == []
    return heard


def still_sleeps(child: psutil.Process) -> bool:
    """One of these programs. A child of another test may be a zombie, without a command line, or end as we look."""
    try:
        return "time.sleep(600)" in str(child.cmdline())
    except (psutil.ZombieProcess, psutil.NoSuchProcess):
        return False


def test_what_it_prints_is_heard_and_it_ends_when_asked() -> None:
    async def scenario(process: Supervised, heard: Heard) -> None:
        await heard.until("here")
        assert process.state == "up"

    assert supervise(SLEEPS, scenario).lines == ["here"]


def test_a_node_that_lost_its_lease_is_started_again_and_the_reason_reported() -> None:
    async def scenario(process: Supervised, heard: Heard) -> None:
        await heard.until("here", times=2)

    heard = supervise(LOSES_ITS_LEASE, scenario)
    assert "n1 ended itself because it could not renew its lease; starting it again in 0.5 s" in heard.lines


def test_a_killed_one_stays_down_until_it_is_started() -> None:
    async def scenario(process: Supervised, heard: Heard) -> None:
        await heard.until("here")
        assert process.kill() == "n1 was killed; it stays down until it is started"
        async with asyncio.timeout(LIMIT_S):
            while process.pid is not None:
                await asyncio.sleep(0)
        assert process.state == "down"
        assert process.start() == "n1 is starting"
        await heard.until("here", times=2)

    assert supervise(SLEEPS, scenario).lines == ["here", "here"]


def test_a_kill_and_a_start_in_one_moment_are_no_crash() -> None:
    async def scenario(process: Supervised, heard: Heard) -> None:
        await heard.until("here")
        process.kill()
        process.start()
        await heard.until("here", times=2)

    assert supervise(SLEEPS, scenario).lines == ["here", "here"]


def test_what_is_ended_at_once_is_not_announced_to_start_again() -> None:
    async def scenario(process: Supervised, heard: Heard) -> None:
        await heard.until("here")
        process.forget()
        process.end_at_once()
        async with asyncio.timeout(LIMIT_S):
            await process.ended()

    assert supervise(SLEEPS, scenario).lines == ["here"]


def test_a_hangup_that_nohup_has_us_ignore_stops_nothing() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    try:
        assert signals_to_stop() == [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        assert signals_to_stop() == [signal.SIGINT, signal.SIGTERM]
    finally:
        signal.signal(signal.SIGHUP, before)


def test_what_has_done_its_work_is_ended_and_obeys_nothing() -> None:
    async def run() -> None:
        launch = Launch(argv=(sys.executable, "-c", "pass"), env={}, cwd=Path.cwd())
        process = Supervised("demo", launch, Heard().say, restart=False)
        process.begin()
        async with asyncio.timeout(LIMIT_S):
            await process.ended()
        assert process.state == "ended"
        for command in ("kill", "freeze", "thaw", "start"):
            with pytest.raises(Refused, match="demo is ended"):
                getattr(process, command)()

    asyncio.run(run())


@pytest.mark.parametrize("run", [None, "7", 0, -1, True, 1.5])
def test_traffic_is_begun_by_the_number_of_a_run_and_by_nothing_else(run: object) -> None:
    begun: list[int] = []

    def begin(number: int) -> str:
        begun.append(number)
        return "traffic-1 is starting"

    assert obey({}, {"command": "traffic", "run": 7}, report_nothing, begin) == {
        "ok": True,
        "text": "traffic-1 is starting",
    }
    assert obey({}, {"command": "traffic", "run": run}, report_nothing, begin)["ok"] is False
    assert begun == [7]


def test_a_frozen_one_stands_still_until_it_is_thawed() -> None:
    async def scenario(process: Supervised, heard: Heard) -> None:
        await heard.until("here")
        process.freeze()
        assert process.state == "frozen"
        frozen = psutil.Process(process.pid)
        wait_for(lambda: frozen.status() == psutil.STATUS_STOPPED, what="the signal", seconds_max=LIMIT_S)
        process.thaw()
        assert process.state == "up"
        wait_for(lambda: frozen.status() != psutil.STATUS_STOPPED, what="the signal", seconds_max=LIMIT_S)

    supervise(SLEEPS, scenario)


@pytest.mark.parametrize(
    "code",
    [
        pytest.param(IGNORES_TERM, id="one that does not want to end is ended"),
        pytest.param(HAS_A_CHILD, id="what it started ends with it"),
    ],
)
def test_nothing_is_left_behind(code: str) -> None:
    async def scenario(process: Supervised, heard: Heard) -> None:
        await heard.until("here")

    supervise(code, scenario)


def test_one_that_was_frozen_by_hand_can_be_thawed_and_one_thawed_by_hand_is_not_frozen() -> None:
    async def scenario(process: Supervised, heard: Heard) -> None:
        await heard.until("here")
        assert process.pid is not None
        os.kill(process.pid, signal.SIGSTOP)
        wait_for(lambda: process.state == "frozen", what="the signal", seconds_max=LIMIT_S)
        process.thaw()
        wait_for(lambda: process.state == "up", what="the signal", seconds_max=LIMIT_S)
        process.freeze()
        wait_for(lambda: process.is_frozen and not process._is_freeze_asked, what="the signal", seconds_max=LIMIT_S)
        os.kill(process.pid, signal.SIGCONT)
        wait_for(lambda: process.state == "up", what="the signal", seconds_max=LIMIT_S)

    supervise(SLEEPS, scenario)


def test_what_it_started_in_sessions_of_their_own_is_frozen_and_killed_with_it() -> None:
    """PostgreSQL starts each server of a session so."""

    async def scenario(process: Supervised, heard: Heard) -> None:
        await heard.until("here", times=2)
        assert process.pid is not None
        [child] = psutil.Process(process.pid).children()
        process.freeze()
        wait_for(lambda: child.status() == psutil.STATUS_STOPPED, what="the signal", seconds_max=LIMIT_S)
        process.kill()

    supervise(HAS_A_CHILD.replace("])", "], start_new_session=True)"), scenario)


def test_a_frozen_one_can_be_stopped() -> None:
    async def scenario(process: Supervised, heard: Heard) -> None:
        await heard.until("here")
        process.freeze()

    supervise(SLEEPS, scenario)


def ask(tmp_path: Path, command: str, name: str = "") -> dict[str, Any]:
    """Send one command through the control channel of a supervisor with one process."""
    answer: dict[str, Any] = {}

    async def scenario(process: Supervised, heard: Heard) -> None:
        await heard.until("here")
        async with ControlServer(tmp_path / "c.sock", {"n1": process}, report_nothing):
            assert (tmp_path / "c.sock").stat().st_mode & 0o777 == 0o600
            answer.update(await asyncio.to_thread(send, tmp_path / "c.sock", command, name))

    supervise(SLEEPS, scenario)
    return answer


def test_the_control_channel_reports_what_runs(tmp_path: Path) -> None:
    [process] = ask(tmp_path, "status")["processes"]
    assert (process["name"], process["state"]) == ("n1", "up")


def test_what_is_done_through_it_is_reported_with_who_did_it() -> None:
    told: list[tuple[str, str, dict[str, str]]] = []

    async def scenario(process: Supervised, heard: Heard) -> None:
        await heard.until("here")
        request = {"command": "freeze", "name": "n1", "who": "olga"}
        obey({"n1": process}, request, lambda kind, name, /, **facts: told.append((kind, name, facts)))

    supervise(SLEEPS, scenario)
    assert told == [("process frozen", "n1", {"who": "olga"})]


def test_the_control_channel_freezes(tmp_path: Path) -> None:
    assert ask(tmp_path, "freeze", "n1")["text"] == "n1 is frozen until it is thawed"


@pytest.mark.parametrize(
    ("command", "name", "message"),
    [
        pytest.param("kill", "n9", "no process 'n9' here: there are n1", id="an unknown process is refused"),
        pytest.param("thaw", "n1", "n1 is not frozen", id="only a frozen one can be thawed"),
        pytest.param("start", "n1", "n1 is up already", id="only one that is down can be started"),
        pytest.param("dance", "n1", "unknown command 'dance'", id="an unknown command is refused"),
    ],
)
def test_the_control_channel_refuses(tmp_path: Path, command: str, name: str, message: str) -> None:
    with pytest.raises(CommandRefused, match=message):
        ask(tmp_path, command, name)


def test_without_a_cluster_there_is_nothing_to_control(tmp_path: Path) -> None:
    with pytest.raises(NotRunning, match="the cluster is not running: start it with `manage.py up`"):
        send(tmp_path / "c.sock", "status")


@pytest.mark.parametrize("said", [b"", b'{"ok": tr'])
def test_a_cluster_that_ends_while_it_is_asked_is_not_running(tmp_path: Path, said: bytes) -> None:
    with socket.socket(socket.AF_UNIX) as dying:
        dying.bind(str(tmp_path / "c.sock"))
        dying.listen()

        def answer() -> None:
            channel, _ = dying.accept()
            with channel:
                channel.recv(4096)
                channel.sendall(said)

        thread = threading.Thread(target=answer)
        thread.start()
        with pytest.raises(NotRunning, match="ended before it answered"):
            send(tmp_path / "c.sock", "status")
        thread.join()
