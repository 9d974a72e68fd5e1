"""What a person has done on the real cluster: on sandboxes of their own, asked for by themselves."""

import pytest
from django.db import transaction
from django.utils.timezone import now

from catalog.descriptor import Descriptor
from catalog.models import StoryEvent
from catalog.services import append_event
from catalog.story import CLUSTER, change_stream, sentence
from changes import services
from changes.models import Change, Status, Step
from lab.live.feats import LOOKS, has_done
from lab.live.holding import note_who_holds
from lab.live.replays import ask, end
from lab.replays.feats import ALL, FEATS
from leases.holders import Holder
from leases.selectors import LeaseOn
from spark_tasks.models import AuditJob, ReorgPulse
from tests.lab.live.boxes import box, done, ordinary

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.filterwarnings("ignore::celery.exceptions.AlwaysEagerIgnored"),
]


def feats_of(who: str) -> set[str]:
    return {feat.name for feat in ALL if has_done(who, feat)}


def happened(kind: str, **payload: str) -> None:
    with transaction.atomic():
        append_event(kind, "n2", payload, [CLUSTER])


def test_every_feat_is_a_replay_or_is_looked_for() -> None:
    assert {feat.name for feat in ALL if feat.replay is None} == set(LOOKS)


def test_a_replay_counts_when_the_verdicts_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("schemalab.celery.app.send_task", lambda *_, **__: None)
    feat = FEATS["missing-entry"]
    assert feat.replay is not None
    for outcome in ({"agree": False, "cluster": ["C4"]}, {"agree": True, "cluster": ["C5"]}):
        end(ask("ann", feat.replay, may_harm=False).pk, {"result": "compared", **outcome})
    assert feats_of("ann") == {"orphan"}
    end(ask("ann", feat.replay, may_harm=False).pk, {"result": "compared", "agree": True, "cluster": ["C4"]})
    assert feats_of("ann") == {"orphan", "missing-entry"}
    assert feats_of("bo") == set()
    fill = FEATS["correct-run"].replay
    assert fill is not None
    for cluster in ("rolled back", "public"):
        assert "correct-run" not in feats_of("ann")
        ends = {"model": "public", "cluster": cluster}
        end(ask("ann", fill, may_harm=False).pk, {"result": "compared", "agree": True, "cluster": [], "ends": ends})
    assert "correct-run" in feats_of("ann")


def index_on(table: str, who: str, unique: str = "") -> Change:
    change = done(services.submit(f"CREATE {unique} INDEX by_{who} ON {table} (a)", who=who))
    change.refresh_from_db()
    return change


def audited(table_id: int, rows: int = 1, **found: object) -> None:
    usual = {"started_at": now(), "ended_at": now(), "violations_total": 0} | found
    AuditJob.objects.create(table_id=table_id, rows=rows, **usual)


def waited(change: Change, *nodes: str) -> None:
    """The last step of the change waited for these nodes, and went on now."""
    step = Step.objects.filter(change=change).last()
    assert step is not None
    Step.objects.filter(pk=step.pk).update(waited_for=list(nodes), ended_at=now())


def test_an_index_counts_when_an_audit_after_it_found_rows_and_nothing_else() -> None:
    table = box("ann")
    audited(table.table_id)
    change = index_on(table.name, "ann")
    assert feats_of("ann") == set()
    for found in ({"rows": 0}, {"violations_total": 1}, {"error": "lost"}, {"ended_at": None}):
        audited(table.table_id, **{"rows": 1} | found)
    assert feats_of("ann") == set()
    audited(table.table_id)
    assert feats_of("ann") == {"full-ladder"}
    ReorgPulse.objects.filter(run__change_id=change.pk, run__kind="fill").update(rows_done=1)
    assert feats_of("ann") == {"full-ladder", "filled"}
    assert feats_of("bo") == set()


def test_elsewhere_the_same_counts_for_nothing() -> None:
    table = ordinary()
    change = index_on(table.name, "ann")
    audited(table.table_id)
    waited(change, "n2")
    happened("process killed", who="ann", process="n2")
    assert feats_of("ann") == set()


def test_a_rollback_counts_when_rows_have_the_same_value_in_a_unique_index() -> None:
    table = box("ann").name
    for error, unique, counts in (
        ({"message": "cut off"}, "UNIQUE", False),
        ({"message": "not null", "sqlstate": "23502"}, "UNIQUE", False),
        ({"message": "duplicate", "sqlstate": "23505"}, "", False),
        ({"message": "duplicate", "sqlstate": "23505"}, "UNIQUE", True),
    ):
        change = index_on(table, "ann", unique)
        done(services.submit("DROP INDEX by_ann", who="ann"))
        Change.objects.filter(pk=change.pk).update(status=Status.FAILED, error=error)
        assert feats_of("ann") == ({"rolled-back"} if counts else set())


# --- waits


def holding(monkeypatch: pytest.MonkeyPatch, table: Descriptor, *holders: tuple[str, str, int]) -> None:
    """On these nodes these people have transactions open, under these versions."""
    sessions = {
        (node, version): Holder(table.table_id, version, 7, who, "psql", "INSERT", is_running=False, for_s=9.0)
        for who, node, version in holders
    }
    leases = [
        LeaseOn(1, table.table_id, table.name, version, 3, node, 1, now(), 9.0, now(), (holder,))
        for (node, version), holder in sessions.items()
    ]
    monkeypatch.setattr("lab.live.holding.held_leases", lambda _: leases)


def test_whoever_holds_a_change_back_is_noted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not who uses the newest version; not while nothing waits; on sandboxes only."""
    for table, who in ((ordinary(), "bo"), (box("ann"), "ann")):
        change = index_on(table.name, who)
        holding(monkeypatch, table, ("cem", "n1", 2), (who, "n2", 3))
        assert note_who_holds() == 0
        Change.objects.filter(pk=change.pk).update(status=Status.WAITING)
    assert [note_who_holds(), note_who_holds()] == [1, 0]
    told = StoryEvent.objects.get(stream=change_stream(change.pk), kind="sandbox held back")
    assert sentence(told.kind, told.payload) == f"cem holds {table.name} v2 on n1 by an open transaction."
    assert [feats_of(who) for who in ("ann", "bo", "cem")] == [set(), set(), set()]
    holding(monkeypatch, table, ("ann", "n1", 2))
    assert note_who_holds() == 1
    assert feats_of("ann") == {"held-back"}


def test_a_kill_counts_when_ones_own_change_went_on_without_that_node() -> None:
    change = index_on(box("ann").name, "ann")
    happened("process killed", who="bo", process="n2")
    waited(change, "n2 on t", "n1")
    assert feats_of("ann") == set()  # somebody else did it
    happened("process killed", who="ann", process="n3")
    waited(change, "n1")
    assert feats_of("ann") == set()  # it waited for another node
    happened("process restarted", who="bo", process="n3")
    waited(change, "n3")
    assert feats_of("ann") == set()  # the node was back before
    happened("process killed", who="ann", process="n3")
    assert feats_of("ann") == set()  # it had gone on before
    waited(change, "n3 on t")
    assert feats_of("ann") == {"killed"}
    happened("process restarted", who="ann", process="n3")
    assert feats_of("ann") == {"killed"}


def test_who_freezes_a_node_lets_a_change_go_on_and_thaws_it() -> None:
    table = box("ann")
    change = index_on(table.name, "ann")
    happened("process frozen", who="ann", process="n2")
    happened("process thawed", who="ann", process="n2")
    audited(table.table_id)
    assert "thawed" not in feats_of("ann")  # nothing went on meanwhile
    happened("process frozen", who="ann", process="n2")
    waited(change, "n2")
    happened("process thawed", who="bo", process="n2")
    audited(table.table_id, rows=0)
    assert "thawed" not in feats_of("ann")  # somebody else thawed it
    happened("process frozen", who="ann", process="n2")
    waited(change, "n2")
    happened("process thawed", who="ann", process="n2")
    assert "thawed" not in feats_of("ann")  # nobody has looked since
    audited(table.table_id)
    assert "thawed" in feats_of("ann")
