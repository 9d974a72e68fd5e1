"""Who works beside a run: the sessions of nodes that are within a young transaction."""

import time
from collections.abc import Iterator

import psycopg
import pytest

from spark_tasks.jobs.reorganisations import RUN_MARKS, YOUNG_S, run_heartbeat
from spark_tasks.models import ReorgPulse, ReorgRun
from tests.spark_tasks.runs import Runs, claim_run
from tests.storage.stage import Stage

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def runs(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> Iterator[Runs]:
    monkeypatch.setattr("spark_tasks.services.send_run", lambda run_id: None)
    yield Runs(stage, change_id=stage.table_id)
    ReorgRun.objects.filter(table_id=stage.table_id).delete()


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
