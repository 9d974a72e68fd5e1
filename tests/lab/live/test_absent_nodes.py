"""Nodes that a replay takes away come back, also when its worker dies; whoever may not kill nodes takes none away."""

import json
import time
from datetime import timedelta

import pytest
from django.utils.timezone import now

from changes import services
from lab.live import absent_nodes, replays, supervisor
from lab.live.carry_out import Attempt, Unable
from lab.live.sandbox import LIFE
from lab.live.supervisor import NotControlled, NotReached
from lab.models import Replay
from lab.replays import actions
from lab.replays.actions import Script
from lab.replays.trace import NotReplayable
from lab.sessions.session import Session
from leases.models import Lease, Node
from schemalab.apps import _control
from schemalab.supervisor import process_control
from schemalab.supervisor.control import NotRunning
from tests.lab.live.boxes import box, newest

pytestmark = pytest.mark.django_db(transaction=True)
KILLS = Session("leases", steps=("n1: crash", "step"))
HARMLESS = Session("one-jump", steps=("publish.2", "n2.acquire"))


@pytest.fixture(autouse=True)
def commands(monkeypatch: pytest.MonkeyPatch, settings) -> list[str]:
    """What the supervisor was asked for, by whom; no task is sent. Leases are as long as in the demo."""
    asked: list[str] = []
    monkeypatch.setattr(supervisor, "_controls", [lambda *words: asked.append(" ".join(words))])
    monkeypatch.setattr("schemalab.celery.app.send_task", lambda *_, **__: None)
    settings.LEASE_S = 30.0
    return asked


def under_way() -> Replay:
    return Replay.objects.create(owner="ann", link="", asked_at=now(), begun_at=now())


def test_what_was_taken_away_comes_back_the_last_first(commands: list[str]) -> None:
    replay = under_way()
    Node.objects.create(name="n1", incarnation=1, host="127.0.0.1", port=1, pid=1)
    absent_nodes.do(replay, "drain", "n1")
    absent_nodes.do(replay, "kill", "n1")
    absent_nodes.do(replay, "freeze", "n2")
    absent_nodes.do(replay, "thaw", "n2")
    assert Replay.objects.get().away == [["undrain", "n1"], ["start", "n1"]]
    absent_nodes.bring_back(replay)
    who = f"ann (replay {replay.pk})"
    assert commands == [f"{one} {who}" for one in ("kill n1", "freeze n2", "thaw n2", "start n1")]
    assert not Node.objects.get().is_drain_asked
    absent_nodes.bring_back(replay)
    assert len(commands) == 4


def test_what_a_dead_worker_took_away_comes_back(commands: list[str]) -> None:
    replay = under_way()
    absent_nodes.do(replay, "freeze", "n2")
    replays.end_lost()
    assert Replay.objects.get().ended_at is None
    Replay.objects.update(begun_at=now() - replays.LOST_AFTER)
    replays.end_lost()
    assert commands[-1].startswith("thaw n2 ")
    found = Replay.objects.get()
    assert (found.away, found.outcome) == ([], {"result": "unable", "why": "lost"})


def test_a_replay_that_waited_long_for_its_worker_is_not_lost(commands: list[str]) -> None:
    replay = under_way()
    Replay.objects.update(asked_at=now() - replays.BEGUN_WITHIN)
    replays.end_lost()
    assert Replay.objects.get(pk=replay.pk).ended_at is None


def test_what_the_supervisor_did_not_answer_is_tried_again(
    commands: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other nodes come back, and the timetable goes on for a replay that has ended."""
    replay = under_way()
    for node in ("n1", "n2"):
        absent_nodes.do(replay, "kill", node)

    def is_slow(command: str, name: str, who: str) -> None:
        commands.append(f"{command} {name}")
        if name == "n2":
            raise NotReached("timed out")

    with monkeypatch.context() as patched:
        patched.setattr(supervisor, "_controls", [is_slow])
        absent_nodes.bring_back(replay)
    assert commands[-2:] == ["start n2", "start n1"]
    assert Replay.objects.get().away == [["start", "n2"]]
    replays.end(replay.pk, {"result": "unable", "why": "supervisor"})
    replays.end_lost()
    assert commands[-1].startswith("start n2 ann")
    assert Replay.objects.get().away == []


@pytest.mark.parametrize(
    "answer", [TimeoutError("timed out"), ConnectionResetError(), json.JSONDecodeError("", "", 0), NotRunning("away")]
)
def test_no_answer_of_the_supervisor_is_no_refusal(monkeypatch: pytest.MonkeyPatch, answer: Exception) -> None:
    def silent(*_: object, **__: object) -> None:
        raise answer

    monkeypatch.setattr(process_control, "send", silent)
    with pytest.raises(NotReached, match="start n1"):
        _control("start", "n1", "ann")


def test_what_an_operator_took_away_stays_away(commands: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    replay = under_way()
    Node.objects.create(name="n1", incarnation=1, host="127.0.0.1", port=1, pid=1, is_drain_asked=True)
    with pytest.raises(NotControlled, match="n1 is drained already"):
        absent_nodes.do(replay, "drain", "n1")

    def refuses(command: str, name: str, who: str) -> None:
        raise NotControlled(f"{name} is down already")

    with monkeypatch.context() as patched:
        patched.setattr(supervisor, "_controls", [refuses])
        with pytest.raises(NotControlled):
            absent_nodes.do(replay, "kill", "n2")
    assert Replay.objects.get().away == []
    absent_nodes.bring_back(replay)
    assert commands == []
    assert Node.objects.get().is_drain_asked


def test_nodes_come_back_although_a_transaction_cannot_be_closed(commands: list[str]) -> None:
    replay = under_way()
    absent_nodes.do(replay, "kill", "n1")
    attempt = Attempt(replay, Script((), ()), box(), time.monotonic() + 60)

    class Broken:
        def close(self) -> None:
            raise OSError("broken")

    attempt.transactions[1] = Broken()  # type: ignore[assignment]
    with pytest.raises(OSError, match="broken"):
        attempt.close()
    assert commands[-1].startswith("start n1 ")


def test_a_supervisor_that_refuses_is_no_reason_to_leave_the_others_away(
    commands: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    replay = under_way()
    for node in ("n1", "n2"):
        absent_nodes.do(replay, "kill", node)

    def refuses(command: str, name: str, who: str) -> None:
        commands.append(f"{command} {name}")
        raise NotControlled(f"{name} is running already")

    monkeypatch.setattr(supervisor, "_controls", [refuses])
    absent_nodes.bring_back(replay)
    assert commands[-2:] == ["start n2", "start n1"]
    monkeypatch.setattr(supervisor, "_controls", [])
    with pytest.raises(NotControlled, match="have no supervisor"):
        absent_nodes.do(replay, "kill", "n1")


def test_the_lease_of_a_node_that_is_away_is_waited_for() -> None:
    """Those of others, and on other tables, are not."""
    table, soon = box().table_id, now() + timedelta(seconds=0.5)
    ends = {("n1", table): soon, ("n2", table): soon + LIFE, ("n1", table + 1): soon + LIFE}
    for (node, on), expires_at in ends.items():
        Lease.objects.create(table_id=on, version=1, node=node, incarnation=1, expires_at=expires_at)
    attempt = Attempt(under_way(), Script((), ()), newest(table), time.monotonic() + 60)
    attempt.nodes["one"] = Node(name="n1")
    attempt._do(actions.LeaseOver("one"))
    attempt.close()
    assert now() > soon


def test_a_change_that_somebody_cancels_is_no_verdict() -> None:
    """While it is waited for, and at its end."""
    base = box()
    attempt = Attempt(under_way(), Script((), ()), base, time.monotonic() + 60)
    attempt.nodes["one"] = Node(name="n1")
    attempt._do(actions.Submit(unique=False))
    assert attempt.change is not None
    services.cancel(attempt.change.pk, who="bo")
    for waits in (actions.Blocked("one", waits=True), actions.Finish()):
        with pytest.raises(Unable, match="ended: change .*cancelled"):
            attempt._do(waits)
    attempt.close()


def test_only_who_may_kill_nodes_asks_for_it() -> None:
    with pytest.raises(replays.MayNotHarm):
        replays.ask("ann", KILLS, may_harm=False)
    assert not Replay.objects.exists()


@pytest.mark.parametrize(("first", "second"), [(KILLS, HARMLESS), (HARMLESS, KILLS)], ids=["before", "after"])
def test_it_has_the_cluster_for_itself(first: Session, second: Session) -> None:
    replays.ask("ann", first, may_harm=True)
    with pytest.raises(replays.Busy, match="replays under way: 1; one that takes a node away needs the cluster"):
        replays.ask("bo", second, may_harm=True)


def test_leases_must_end_within_a_replay(settings) -> None:
    settings.LEASE_S = 300.0
    with pytest.raises(
        NotReplayable, match="leases of this cluster last 300 s: a replay waits for a lease 45 s at most"
    ):
        replays.ask("ann", KILLS, may_harm=True)
    assert replays.ask("ann", HARMLESS, may_harm=False).pk
