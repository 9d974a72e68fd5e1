"""A process that hangs or takes all memory is ended, said, and started again; a frozen one is left alone."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from nodes.alarm import pause_between
from schemalab.polling import wait_for
from schemalab.supervisor import children, watch
from schemalab.supervisor.children import RESERVED_MB, Launch
from schemalab.supervisor.heartbeat import VARIABLE
from schemalab.supervisor.process import Supervised
from schemalab.supervisor.questions import Question, ask_heartbeat, ask_node, ask_port
from schemalab.supervisor.watch import Watch, silence_s_max, weigh
from tests.harness.cluster import ROOT
from tests.schemalab.test_supervised import LIMIT_S, Heard

BEATS = "from schemalab.supervisor.heartbeat import beat; import time; print('here', flush=True)"
HANGS = f"{BEATS}; [(beat(), time.sleep(0.05)) for _ in range(9)]; print('hangs', flush=True); time.sleep(600)"
USELESS = (
    "from schemalab.supervisor import heartbeat; import time; print('here', flush=True); well = [True]\n"
    "heartbeat.conditions.append(lambda: bool(well))\n"
    "for _ in range(9): heartbeat.beat(); time.sleep(0.05)\n"
    "well.clear(); print('useless', flush=True)\n"
    "while True: heartbeat.beat(); time.sleep(0.05)"
)
LIVES = f"{BEATS}\nwhile True: beat(); time.sleep(0.05)"
GROWS = "print('here', flush=True); a = []\nimport time\nwhile True: a.append(bytearray(4 << 20)); time.sleep(0.05)"
GRASPS = f"try: bytearray({RESERVED_MB + 200} << 20)\nexcept MemoryError: print('refused', flush=True)"
TAKES_300_MB = "try: bytearray(300 << 20); print('taken', flush=True)\nexcept MemoryError: print('refused', flush=True)"
Scenario = Callable[[Supervised, Heard], Awaitable[None]]


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "LOOK_S", 0.1)
    monkeypatch.setattr(watch, "SILENCE_S_MIN", 3.0)
    monkeypatch.setattr(watch, "START_S_MAX", 60.0)


def watched(code: str, path: Path, scenario: Scenario, *, memory_mb: int | None = None) -> list[str]:
    """Run a scenario on a program that is watched; what was said."""

    async def run() -> list[str]:
        heard = Heard()
        env = {**os.environ, VARIABLE: str(path)}
        process = Supervised("n1", Launch(argv=(sys.executable, "-c", code), env=env, cwd=ROOT), heard.say)
        async with Watch(1.0) as looking:
            process.begin()
            looking.add(process, ask_heartbeat(path), memory_mb)
            try:
                await scenario(process, heard)
            finally:
                await process.stop(seconds_max=1.0)
        return heard.lines

    return asyncio.run(run())


@pytest.mark.parametrize(
    "code",
    [
        pytest.param(HANGS, id="it hangs"),
        pytest.param(USELESS, id="what it needs, as the JVM, hangs", marks=pytest.mark.soak),
    ],
)
def test_a_process_that_hangs_is_ended_and_started_again(tmp_path: Path, code: str) -> None:
    async def scenario(process: Supervised, heard: Heard) -> None:
        await heard.until("here", times=2)

    said = watched(code, tmp_path / "heartbeat", scenario)
    assert "n1 had not answered for 3 s and was ended; starting it again in 1 s" in said


@pytest.mark.soak
def test_a_frozen_process_does_not_hang_and_one_that_beats_neither(tmp_path: Path) -> None:
    async def scenario(process: Supervised, heard: Heard) -> None:
        await heard.until("here")
        await asyncio.sleep(4.0)
        assert process.pid is not None
        os.kill(process.pid, signal.SIGSTOP)
        await asyncio.sleep(4.0)
        assert process.state == "frozen"
        process.thaw()

    assert watched(LIVES, tmp_path / "heartbeat", scenario) == ["here"]


def test_a_process_that_takes_all_memory_is_ended_and_started_again(tmp_path: Path) -> None:
    async def scenario(process: Supervised, heard: Heard) -> None:
        await heard.until("here", times=2)

    said = watched(GROWS, tmp_path / "heartbeat", scenario, memory_mb=100)
    assert "n1 had more memory than its kind may have (100 MB) and was ended; starting it again in 1 s" in said


def test_a_look_that_fails_is_not_the_last_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    real, failed = watch.weigh, []

    def fails_once(pids: list[int | None]) -> dict[int, int]:
        if not failed:
            failed.append("a mistake of ours")
            raise ValueError(*failed)
        return real(pids)

    async def scenario(process: Supervised, heard: Heard) -> None:
        await heard.until("here", times=2)

    monkeypatch.setattr(watch, "weigh", fails_once)
    said = watched(GROWS, tmp_path / "heartbeat", scenario, memory_mb=100)
    assert "n1 had more memory than its kind may have (100 MB) and was ended; starting it again in 1 s" in said
    assert "a mistake of ours" in caplog.text


def test_processes_that_may_not_be_looked_at_weigh_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(self: psutil.Process) -> Any:
        raise psutil.AccessDenied(self.pid)

    monkeypatch.setattr(psutil.Process, "memory_info", forbidden)
    assert weigh([os.getpid()]) == {os.getpid(): 0}
    monkeypatch.setattr(psutil.Process, "ppid", forbidden)
    assert weigh([os.getpid()]) == {os.getpid(): 0}


def test_one_that_takes_it_at_once_is_refused_by_the_kernel(tmp_path: Path) -> None:
    launch = Launch(argv=(sys.executable, "-c", GRASPS), env={}, cwd=tmp_path, memory_mb=100)
    assert children.run_to_end(launch).stdout == "refused\n"


def test_a_bound_of_its_own_leaves_no_room_for_what_is_reserved(tmp_path: Path) -> None:
    one, other = (
        Launch(argv=(sys.executable, "-c", TAKES_300_MB), env={}, cwd=tmp_path, memory_mb=100, data_mb=most)
        for most in (None, 200)
    )
    assert [children.run_to_end(launch).stdout for launch in (one, other)] == ["taken\n", "refused\n"]


def test_nobody_is_killed_for_less_than_half_a_minute_of_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    assert [silence_s_max(2.0), silence_s_max(300.0)] == [30.0, 300.0]


async def answered(question: Callable[[int], Question], words: bytes | None) -> bool:
    """What the question finds about a server that says these words; None: one that says nothing."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if words is None:
            await reader.read(1 << 16)
            await reader.read()
        else:
            await reader.read(8)
            writer.write(words)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        return await question(server.sockets[0].getsockname()[1])()
    finally:
        server.close()


@pytest.mark.parametrize(
    ("words", "lives"),
    [
        pytest.param(b"N", True, id="an answer"),
        pytest.param(b"", True, id="a refusal"),
        pytest.param(None, False, id="silence"),
    ],
)
def test_a_node_is_asked_on_its_port(words: bytes | None, lives: bool) -> None:
    assert asyncio.run(answered(lambda port: ask_node("127.0.0.1", port), words)) is lives


def test_where_nobody_listens_nobody_answers() -> None:
    assert asyncio.run(ask_port("127.0.0.1", 1, b"?")()) is False


STANDS_STILL = """
import asyncio
from nodes.alarm import keep_alarm

async def main():
    task = asyncio.create_task(keep_alarm({seconds}))
    await asyncio.sleep(0.1)
    print("here", flush=True)
    {then}

asyncio.run(main())
"""
COMPUTES_IN_C = "9 ** 100_000_000"
RUNS_ON = "await asyncio.sleep(600)"


def node_with_alarm(then: str) -> "subprocess.Popen[str]":
    code = STANDS_STILL.format(seconds=0.5, then=then)
    return subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, text=True)


def test_a_node_ends_itself_while_c_code_holds_the_interpreter() -> None:
    with node_with_alarm(COMPUTES_IN_C) as node:
        assert node.wait(LIMIT_S) == -signal.SIGPROF


@pytest.mark.parametrize("processors", [1, 2, 16, 128])
def test_a_healthy_loop_sets_the_alarm_anew_in_time_while_every_processor_computes(processors: int) -> None:
    for seconds in (0.5, 5.0, 60.0):
        assert pause_between(seconds, processors=processors) * processors <= seconds / 4
    assert pause_between(60.0, processors=1) == 1.0


def test_the_alarm_of_a_node_does_not_run_while_it_is_frozen() -> None:
    with node_with_alarm(RUNS_ON) as node:
        assert node.stdout is not None
        assert node.stdout.readline() == "here\n"
        node.send_signal(signal.SIGSTOP)
        wait_for(lambda: children.is_stopped(node.pid), what="the signal", seconds_max=LIMIT_S)
        time.sleep(1.0)
        node.send_signal(signal.SIGCONT)
        with pytest.raises(subprocess.TimeoutExpired):
            node.wait(1.0)
        node.kill()
