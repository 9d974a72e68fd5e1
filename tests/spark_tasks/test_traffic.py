"""Who works beside a run: the sessions of nodes that are within a young transaction."""

import datetime as dt
import time
from collections.abc import Iterator
from dataclasses import asdict

import psycopg
import pytest
from django.conf import settings
from django.db.models.functions import Now

from leases.beats import BEAT_S, Beats
from leases.models import Node
from leases.redis import beats
from spark_tasks.jobs.reorganisations import RUN_MARKS, YOUNG_S, run_heartbeat
from spark_tasks.models import ReorgPulse
from spark_tasks.runs.feedback import LEADS_ON_S, WORKS_FIRST, Felt, Verdict, Why
from tests.spark_tasks.runs import Runs, claim_run
from tests.storage.stage import Stage

pytestmark = pytest.mark.django_db(transaction=True)


def test_only_young_transactions_of_nodes_are_traffic(stage: Stage, runs: Runs) -> None:
    run_id = runs.start("verify")

    def transactions() -> int:
        with psycopg.connect(stage.dsn, autocommit=True) as looking:
            return looking.execute(RUN_MARKS, {"run": run_id, "young": YOUNG_S}).fetchone()[-1]

    with (
        psycopg.connect(stage.dsn, application_name="schemalab node n1 1") as node,
        psycopg.connect(stage.dsn, application_name="schemalab run 1") as worker,
    ):
        assert transactions() == 0, "idle sessions do not count"
        worker.execute("SELECT 1")
        node.execute("SELECT 1")
        assert transactions() == 1
        time.sleep(2 * YOUNG_S)
        assert transactions() == 0, "somebody who thinks in an open transaction takes no processor time"


def test_the_heartbeat_notifies_the_workers(stage: Stage, runs: Runs) -> None:
    claim = claim_run(runs.start("verify"))
    assert claim is not None
    with psycopg.connect(stage.dsn, application_name="schemalab node n1 1") as node, run_heartbeat(claim.run):
        deadline = time.monotonic() + 10
        while not ReorgPulse.objects.get(run_id=claim.run.pk).traffic:
            assert time.monotonic() < deadline, "nobody noticed the traffic"
            node.rollback()
            node.execute("SELECT 1")
            time.sleep(YOUNG_S / 4)


@pytest.fixture
def busy_node() -> Iterator[None]:
    """A node that ends 100 statements in a second, the slowest of 6 ms."""
    node = Node.objects.create(name="busy", host="127.0.0.1", port=1, pid=1)
    busy = Beats()
    for number in range(9):
        busy.beat(number * BEAT_S, statements=25 * number, slowest_ms=6, running=0)
    beats.reader(settings.REDIS_URL).set("schemalab:beats:busy", busy.to_text(), px=10_000)
    yield
    node.delete()


def has_felt(run_id: int, *, age_s: float) -> None:
    """The run's newest beat was so long ago, and said that it works 0.3 of its time."""
    found = Verdict(0.3, Why.WITHIN, Felt(100, 5), Felt(100, 6))
    heartbeat_at = Now() - dt.timedelta(seconds=age_s)
    ReorgPulse.objects.filter(run_id=run_id).update(felt=asdict(found), heartbeat_at=heartbeat_at)


def first_share(run_id: int) -> float:
    """The share of its time that a run works by the first beat of the attempt that begins now."""
    claim = claim_run(run_id)
    assert claim is not None
    claimed_at = ReorgPulse.objects.get(run_id=run_id).heartbeat_at
    with run_heartbeat(claim.run):
        deadline = time.monotonic() + 10
        while (pulse := ReorgPulse.objects.get(run_id=run_id)).heartbeat_at == claimed_at:
            assert time.monotonic() < deadline, "no beat"
            time.sleep(0.01)
    return pulse.works


@pytest.mark.parametrize(("age_s", "works"), [
    pytest.param(0, 0.3, id="a moment ago"),
    pytest.param(2 * LEADS_ON_S, WORKS_FIRST, id="long ago"),
])  # fmt: skip
def test_a_run_leads_on_with_what_the_fill_of_its_change_found(
    runs: Runs, busy_node: None, age_s: float, works: float
) -> None:
    """The claim of a run counts as its first beat, and is newer than the last one of the fill."""
    fill, verification = runs.start("fill"), runs.start("verify")
    has_felt(fill, age_s=age_s)
    assert first_share(verification) == works


def test_a_run_that_was_paused_long_ago_looks_anew(runs: Runs, busy_node: None) -> None:
    fill = runs.start("fill")
    has_felt(fill, age_s=3600)
    assert first_share(fill) == WORKS_FIRST
