"""The stage of tests/storage, two tables and a foreign key, and one Spark session for all tests that need one."""

from collections.abc import Iterator

import pytest

from spark_tasks.models import ReorgRun
from tests.references import airports, trips
from tests.spark_tasks.runs import Runs
from tests.spark_tasks.two_tables import TwoTables, staff
from tests.storage.conftest import stage, transactional_db
from tests.storage.stage import Stage, new_stage, strike

__all__ = ["company", "spark", "stage", "tables", "transactional_db"]


@pytest.fixture(scope="package")
def spark() -> Iterator[None]:
    """A warm session; gone at the end."""
    from spark_tasks.spark import session

    session.warm_up()
    yield
    session.stop()


@pytest.fixture
def runs(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> Iterator[Runs]:
    """Runs of the stage's table, which a test does itself."""
    monkeypatch.setattr("spark_tasks.services.send_run", lambda run_id: None)
    yield Runs(stage, change_id=stage.table_id)
    ReorgRun.objects.filter(table_id=stage.table_id).delete()


@pytest.fixture
def tables(dsn: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[TwoTables]:
    """Empty trips and airports, without the foreign key."""
    monkeypatch.setattr("spark_tasks.services.send_run", lambda run_id: None)
    parent, child = new_stage(dsn, airports), new_stage(dsn, trips)
    yield TwoTables(child, parent)
    ReorgRun.objects.filter(table_id=child.table_id).delete()
    strike(parent)
    strike(child)


@pytest.fixture
def company(dsn: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    """An empty table of staff, whose bosses may be anybody as yet."""
    monkeypatch.setattr("spark_tasks.services.send_run", lambda run_id: None)
    made = new_stage(dsn, staff)
    yield made
    ReorgRun.objects.filter(table_id=made.table_id).delete()
    strike(made)
