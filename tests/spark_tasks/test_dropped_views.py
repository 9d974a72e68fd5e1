"""Pair views of a version go when it is over, and not before."""

from spark_tasks.reorganise.drop_views import drop_views_of_old_versions
from storage.pair_views import make_sql, pair_view
from tests.storage.stage import STORAGES, Stage


def make(stage: Stage) -> None:
    with stage.alone() as opened:
        for sql in make_sql(stage.now, STORAGES):
            opened.execute(sql)


def are_there(stage: Stage, version: int) -> bool:
    [(found,)] = stage.sql("SELECT to_regclass(%s) IS NOT NULL", [pair_view(stage.table_id, version, 1)])
    return bool(found)


def dropped(stage: Stage) -> list[int]:
    return [version for table_id, version in drop_views_of_old_versions() if table_id == stage.table_id]


def test_a_version_below_the_fence_loses_its_views(stage: Stage) -> None:
    make(stage)
    assert dropped(stage) == []
    stage.publish(stage.now.next_version(), fence=1)
    make(stage)
    assert dropped(stage) == [], "the storages accept version 1 still"
    stage.publish(stage.now.next_version())
    assert dropped(stage) == [1, 2]
    assert not are_there(stage, 1)
    assert not are_there(stage, 2)


def test_a_transaction_keeps_the_views_of_its_version(stage: Stage) -> None:
    """Without leases the fence goes ahead of transactions that are under way."""
    make(stage)
    with stage.transaction():
        stage.publish(stage.now.next_version())
        assert dropped(stage) == []
        assert are_there(stage, 1)
    assert dropped(stage) == [1]


def test_a_reader_of_a_view_is_not_waited_for(stage: Stage) -> None:
    make(stage)
    stage.publish(stage.now.next_version())
    with stage.connect() as opened:
        opened.execute(f"SELECT * FROM {pair_view(stage.table_id, 1, 1)}")
        assert dropped(stage) == []
    assert dropped(stage) == [1]
