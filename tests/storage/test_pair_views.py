"""Pair views: the reader role sees live pairs of public columns and public indexes, and nothing else of a table."""

from dataclasses import replace

import psycopg
import pytest

from catalog.elements import PRIMARY, Column, ColumnId, IndexId, State
from catalog.values.types import SqlType
from storage import pair_views
from storage.pair_views import make_sql, pair_view
from storage.postgres import drop_table
from storage.reader.role import READER
from storage.services import keep_pair_views
from tests.storage.stage import AGE, BY_NAME, STORAGES, Stage, user

SEEN = "SELECT c, v FROM {} ORDER BY k, c"


def make(stage: Stage) -> None:
    with stage.alone() as opened:
        for sql in make_sql(stage.now, STORAGES):
            opened.execute(sql)


def as_reader(stage: Stage, sql: str) -> list[tuple[object, ...]]:
    with psycopg.connect(stage.dsn) as opened:
        opened.execute(f"SET ROLE {READER}")
        return opened.execute(sql).fetchall()


def seen(stage: Stage, index: IndexId = PRIMARY) -> list[tuple[object, ...]]:
    numbers = range(1, STORAGES + 1)
    names = [pair_view(stage.table_id, stage.now.version, number, index) for number in numbers]
    return [pair for name in names for pair in as_reader(stage, SEEN.format(name))]


def test_the_reader_sees_public_columns_alone(stage: Stage) -> None:
    stage.insert([user(stage.now, 1, "ann", 7)])
    hidden = [replace(c, state=State.WRITE_ONLY) if c.id == AGE else c for c in stage.now.columns]
    stage.publish(stage.now.next_version(columns=tuple(hidden)))
    make(stage)
    assert [column for column, _ in seen(stage)] == [0, 2]


def test_the_reader_has_no_right_on_pairs(stage: Stage) -> None:
    make(stage)
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        as_reader(stage, f"SELECT * FROM storage_1.kv_{stage.table_id}")


def test_only_a_public_index_has_a_view_of_its_entries(stage: Stage) -> None:
    stage.publish(stage.now.next_version(indexes=(replace(BY_NAME, state=State.WRITE_ONLY),)))
    stage.insert([user(stage.now, 1, "ann")])
    assert not [sql for sql in make_sql(stage.now, STORAGES) if f"_i{BY_NAME.id}" in sql]
    stage.publish(stage.now.next_version(indexes=(replace(BY_NAME, state=State.PUBLIC),)))
    make(stage)
    assert seen(stage, BY_NAME.id) == [(0, b"")]
    assert [column for column, _ in seen(stage)] == [0, 2, 3], "and entries are no pairs of rows"


def test_a_tombstone_is_no_pair(stage: Stage) -> None:
    """W2: between a fill's end and the purge rows that were deleted meanwhile are tombstones."""
    stage.insert([user(stage.now, number, "ann") for number in range(1, 5)])
    make(stage)
    before = len(seen(stage))
    for number in range(1, STORAGES + 1):
        stage.sql(f"UPDATE storage_{number}.kv_{stage.table_id} SET v = NULL")
    assert (before, seen(stage)) == (12, [])


def test_views_go_with_their_table(stage: Stage) -> None:
    make(stage)
    with stage.alone() as opened, opened.transaction():
        drop_table(opened.cursor(), STORAGES, stage.table_id)
    assert stage.sql("SELECT to_regclass(%s)", [pair_view(stage.table_id, 1, 1)]) == [(None,)]


def test_versions_in_use_without_views_get_them(stage: Stage) -> None:
    """A cluster from before there were views: of the version below the fence nobody asks."""
    column = Column(ColumnId(9), "more", SqlType.TEXT)
    stage.publish(stage.now.next_version(columns=(*stage.now.columns, column)))
    keep_pair_views("default")
    made = [stage.sql("SELECT to_regclass(%s) IS NOT NULL", [pair_view(stage.table_id, v, 2)]) for v in (1, 2)]
    assert made == [[(False,)], [(True,)]]
    assert seen(stage) == []
    keep_pair_views("default")


def test_an_absent_table_has_no_views(stage: Stage) -> None:
    assert make_sql(replace(stage.now, state=State.ABSENT), STORAGES) == []
    assert pair_views.has_pair_views(stage.now)
