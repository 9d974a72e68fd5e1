"""A table and its nodes, for tests that need the real database."""

from collections.abc import Iterator

import pytest

from spark_tasks.jobs.audits import AUDITS
from spark_tasks.jobs.reorganisations import RUNS
from tests.changes.cluster import Cluster, make_cluster


@pytest.fixture(autouse=True)
def runs_in_the_drivers_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reorganisations and audits are done where they are asked for: no worker process, the same code."""
    monkeypatch.setattr("spark_tasks.services.send_run", RUNS.run)
    monkeypatch.setattr("spark_tasks.services.send_audit", AUDITS.run)


@pytest.fixture
def cluster(dsn: str) -> Iterator[Cluster]:
    made = make_cluster(dsn)
    yield made
    made.close()
