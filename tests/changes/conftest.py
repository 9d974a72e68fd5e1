"""A table and its nodes, for tests that need the real database."""

from collections.abc import Iterator

import pytest

from tests.changes.cluster import Cluster, make_cluster


@pytest.fixture(autouse=True)
def runs_in_the_drivers_thread() -> Iterator[None]:
    """Reorganisations are done where they are started: no worker process, the same code."""
    from celery import current_app

    current_app.conf.task_always_eager = True
    yield
    current_app.conf.task_always_eager = False


@pytest.fixture
def cluster(dsn: str) -> Iterator[Cluster]:
    made = make_cluster(dsn)
    yield made
    made.close()
