"""What a person has done on the real cluster: on sandboxes of their own, asked for by themselves."""

import pytest
from django.db import transaction
from django.utils.timezone import now

from catalog.services import append_event
from catalog.story import CLUSTER
from changes import services
from changes.models import Change, Status, Step
from lab.live.feats import LOOKS, has_done
from lab.live.replays import ask, end
from lab.replays.feats import ALL, FEATS
from spark_tasks.models import AuditJob
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
    monkeypatch.setattr("lab.live.replays.current_app.send_task", lambda *_, **__: None)
    feat = FEATS["missing-entry"]
    assert feat.replay is not None
    for outcome in ({"agree": False, "cluster": ["C4"]}, {"agree": True, "cluster": ["C5"]}):
        end(ask("ann", feat.replay).pk, {"result": "compared", **outcome})
    assert feats_of("ann") == {"orphan"}
    end(ask("ann", feat.replay).pk, {"result": "compared", "agree": True, "cluster": ["C4"]})
    assert feats_of("ann") == {"orphan", "missing-entry"}
    assert feats_of("bo") == set()


def test_changes_count_on_sandboxes_of_ones_own() -> None:
    """An index climbs and is audited; another change waited, a third failed; elsewhere the same counts for nothing."""
    for table, who in ((ordinary(), "bo"), (box("ann"), "ann")):
        change = done(services.submit(f"CREATE INDEX by_{who} ON {table.name} (a)", who=who))
        assert feats_of(who) == set()
        AuditJob.objects.create(table_id=table.table_id, started_at=now(), ended_at=now(), violations_total=0)
        Step.objects.filter(change=change).update(waited_for=["n2"])
        change.refresh_from_db()
        Change.objects.create(
            table_id=change.table_id,
            table_ids=change.table_ids,
            table_name=change.table_name,
            statement="",
            plan=change.plan,
            who=who,
            status=Status.FAILED,
        )
    assert feats_of("ann") == {"full-ladder", "held-back", "rolled-back"}
    assert feats_of("bo") == set()
    happened("process killed", who="ann", process="n2")
    assert "killed" not in feats_of("ann")  # nothing has waited since
    Step.objects.update(started_at=now())
    assert "killed" in feats_of("ann")


def test_who_freezes_a_node_thaws_it() -> None:
    happened("process thawed", who="ann", process="n2")
    happened("process frozen", who="ann", process="n2")
    assert feats_of("ann") == set()
    happened("process thawed", who="bo", process="n2")
    assert feats_of("ann") == {"thawed"}
