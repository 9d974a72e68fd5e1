"""Killing, freezing and starting a process by command, and the story of it. The page: `tests.web.test_faults`."""

import getpass
import json
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.utils.timezone import now
from pytest_django import DjangoDbBlocker

from catalog.models import StoryEvent
from catalog.story import sentence
from leases.models import Node
from schemalab.supervisor import process_control
from schemalab.supervisor.control import CommandRefused
from schemalab.supervisor.crash_events import append
from schemalab.supervisor.process_control import (
    AWAY,
    NOT_RUNNING,
    KnownProcesses,
    control_process,
    processes_for_a_page,
    why_none_for_a_page,
)

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("redis_url")]


@pytest.fixture
def supervisor(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str, str]]:
    """Commands that reached the supervisor, with who wants them; it runs n3 and a worker, and refuses to thaw."""
    heard: list[tuple[str, str, str]] = []
    runs = [{"name": "n3", "kind": "node", "state": "up", "pid": 1}, {"name": "worker", "kind": "worker"}]

    def send(_socket: object, command: str, name: str = "", *, who: str = "", **_: object) -> dict[str, object]:
        if command == "status":
            return {"ok": True, "processes": runs}
        if command == "thaw":
            raise CommandRefused(f"{name} is not frozen")
        heard.append((command, name, who))
        return {"ok": True, "text": f"{name}: {command}"}

    monkeypatch.setattr("schemalab.supervisor.process_control.send", send)
    return heard


class Told:
    """A supervisor and a clock that stand still until they are told otherwise."""

    def __init__(self) -> None:
        self.now, self.asked, self.answers = 1000.0, 0, True
        self.silence: threading.Event | None = None
        self.patience_is(10)

    def patience_is(self, seconds: float) -> None:
        self.known = KnownProcesses(lambda: self.now, patience_s=seconds)
        process_control.known = self.known

    def send(self, _socket: object, command: str, *_: object, **__: object) -> dict[str, Any]:
        self.asked += command == "status"
        number = self.asked
        if self.silence is not None and command == "status":
            self.silence.wait(30)
        if not self.answers:
            raise TimeoutError("timed out")
        return {"ok": True, "text": "", "processes": [{"name": f"as asked {number}"}]}

    def shown_after(self, seconds: float) -> list[str]:
        self.now += seconds
        return [process["name"] for process in processes_for_a_page()]


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Told:
    monkeypatch.setattr(process_control, "known", process_control.known)
    one = Told()
    monkeypatch.setattr(process_control, "send", one.send)
    return one


def until(found: Callable[[], Any]) -> Any:
    """What is found, as soon as it is something: a thread asks the supervisor."""
    deadline = time.monotonic() + 10
    while not (one := found()):
        assert time.monotonic() < deadline, "nothing was found within 10 s"
        time.sleep(0.005)
    return one


def test_pages_that_look_at_the_same_time_share_an_answer(told: Told) -> None:
    assert told.shown_after(0) == told.shown_after(0.4) == ["as asked 1"]
    assert told.shown_after(0.2) == ["as asked 2"]


def test_what_is_done_to_a_process_is_seen_at_once(told: Told) -> None:
    told.shown_after(0)
    control_process("kill", "n3", who="olga")
    assert told.shown_after(0) == ["as asked 2"]


def test_a_supervisor_that_does_not_answer_is_left_alone_for_a_while(told: Told) -> None:
    told.answers = False
    assert [told.shown_after(seconds) for seconds in (0, 1, 1, 1, 1.9)] == [[]] * 5
    assert (told.asked, why_none_for_a_page()) == (1, AWAY)
    told.answers = True
    told.now += 0.2
    assert until(lambda: told.shown_after(0)) == ["as asked 2"]
    assert why_none_for_a_page() == NOT_RUNNING, "it answers: it is not away"


def test_no_page_waits_for_a_supervisor_that_is_away(told: Told) -> None:
    told.answers = False
    told.shown_after(0)
    told.silence = threading.Event()
    try:
        assert [told.shown_after(6) for _ in range(20)] == [[]] * 20, "each would ask it again"
        until(lambda: told.asked == 2)
        assert told.asked == 2, "one question at a time"
    finally:
        told.silence.set()


def test_an_answer_from_before_a_command_is_too_old(told: Told) -> None:
    told.patience_is(0)
    told.shown_after(0)
    told.silence = silence = threading.Event()
    assert told.shown_after(1) == ["as asked 1"], "the answer that is known is shown while another one is awaited"
    until(lambda: told.asked == 2)
    told.silence = None
    control_process("kill", "n3", who="olga")
    silence.set()
    assert told.shown_after(0) == ["as asked 3"]


@pytest.mark.django_db(transaction=True)
def test_the_story_says_who() -> None:
    assert append("process killed", "n3", {"who": "olga"})
    event = StoryEvent.objects.get(stream="cluster")
    assert StoryEvent.objects.get(stream="processes").payload == event.payload, "operators' audit trail"
    assert sentence(event.kind, event.payload) == "olga killed process n3; it stays down until it is started."


def refused_command(*words: str) -> tuple[int, str]:
    with pytest.raises(CommandError) as refused:
        call_command(*words)
    return refused.value.returncode, str(refused.value)


@pytest.mark.parametrize("action", ["kill", "start"])
@pytest.mark.parametrize("name", [pytest.param("n9", id="unknown"), pytest.param("worker", id="no node")])
def test_the_command_takes_nodes_and_lists_nothing_else(
    supervisor: list[tuple[str, str, str]], action: str, name: str
) -> None:
    assert refused_command("node-control", action, name) == (2, f"there is no node {name}; known: n3")
    assert supervisor == []


def test_only_a_node_that_ever_was_is_drained() -> None:
    Node.objects.create(name="n3", incarnation=1, host="127.0.0.1", port=5433, pid=1, heartbeat_at=now(), state="up")
    assert refused_command("node-control", "drain", "n9") == (2, "there is no node n9; known: n3")


def test_what_the_supervisor_refuses_ends_the_command_with_1(supervisor: list[tuple[str, str, str]]) -> None:
    assert refused_command("node-control", "thaw", "n3") == (1, "n3 is not frozen")
    assert refused_command("processes", "thaw", "worker") == (1, "worker is not frozen")


@pytest.mark.parametrize("words", [("node-control", "kill", "n3"), ("processes", "kill", "worker")])
def test_the_commands_need_no_database(
    supervisor: list[tuple[str, str, str]], django_db_blocker: DjangoDbBlocker, words: tuple[str, ...]
) -> None:
    with django_db_blocker.block():
        call_command(*words)
    assert supervisor == [(*words[1:], getpass.getuser())]


def test_the_command_lists_every_process(
    supervisor: list[tuple[str, str, str]], capsys: pytest.CaptureFixture[str]
) -> None:
    call_command("processes", "--json")
    assert [process["name"] for process in json.loads(capsys.readouterr().out)] == ["n3", "worker"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        pytest.param(("kill", "n9"), "there is no process n9; known: n3, worker", id="an unknown process"),
        pytest.param(("kill",), "name the process to kill: processes kill NAME", id="no process"),
    ],
)
def test_a_process_is_named(supervisor: list[tuple[str, str, str]], words: tuple[str, ...], message: str) -> None:
    assert refused_command("processes", *words) == (2, message)
