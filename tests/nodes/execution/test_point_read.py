"""A compiled read of one row answers as the general way does, and leaves to it whatever is no longer as it was."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalog.values.types import ARRAYS, SqlType
from expressions.sqltypes import OF_SQL_TYPE
from nodes.clients.portals import Portal, Prepared
from nodes.execution import point_read
from nodes.wire.columns import Columns, Output
from storage import encoding
from tests.catalog.test_types import VALUES
from tests.nodes.conftest import Cluster
from tests.nodes.within import Within, within
from tests.rounds import drawn

STRAIGHT = [(of, form) for form, ways in enumerate((point_read.TEXTS, point_read.BINARY)) for of in ways]


@pytest.mark.parametrize(("of", "form"), STRAIGHT, ids=lambda part: str(part))
@drawn(few=30, many=500)
@given(data=st.data())
def test_the_straight_way_says_what_the_one_over_values_says(of: Any, form: int, data: st.DataObject) -> None:
    assert OF_SQL_TYPE[of.sql_type] is of
    value = data.draw(VALUES[of.sql_type])
    (write,) = Columns([Output("c", of)]).writers((form,))
    stored = encoding.encode_value(of.sql_type, value)
    straight = (point_read.TEXTS, point_read.BINARY)[form][of]
    assert straight(stored) == write(encoding.decode(of.sql_type, stored)[0])


COLUMNS = {
    SqlType.BOOLEAN: "true", SqlType.SMALLINT: "-3", SqlType.INTEGER: "-70000", SqlType.BIGINT: "-5000000000",
    SqlType.REAL: "1.5", SqlType.DOUBLE: "-0.1", SqlType.NUMERIC: "1.50", SqlType.TEXT: "'ä \\\\ x'",
    SqlType.VARCHAR: "''", SqlType.CHAR: "'c'", SqlType.DATE: "'2020-02-29'", SqlType.TIMESTAMP: "'2020-02-29 1:02:03'",
    SqlType.TIMESTAMPTZ: "'2020-02-29 1:02:03+01'", SqlType.UUID: "'00000000-0000-0000-0000-00000000000a'",
    SqlType.BYTEA: r"'\x00ff'", SqlType.TIME: "'12:34:56'", SqlType.INTERVAL: "'1 mon 2 days'", SqlType.JSON: "'[1]'",
    SqlType.JSONB: "'{\"a\": 1}'",
}  # fmt: skip


PRECISE = {SqlType.TIMESTAMP: "timestamp(0)", SqlType.TIMESTAMPTZ: "timestamptz(3)", SqlType.TIME: "time(1)"}
"""The types of times under a precision, of which some have 0."""


async def both_ways(node: Within, sql: str, values: Sequence[bytes | None], form: int) -> list[Any]:
    """The rows of a query of one bigint as compiled, which it is from its third time on, and in a block."""
    (statement,) = await node.session.parse(sql)
    prepared = await node.session.prepare(sql, statement, [20])

    async def rows(*, alone: bool) -> Any:
        found = await node.session.execute(
            Portal(prepared, values, result_formats=(form,) if form else ()), alone=alone
        )
        return found.rows

    first, _ = await rows(alone=True), await rows(alone=True)
    compiled = await rows(alone=True)
    assert statement.point.way is not None  # type: ignore[attr-defined]
    in_block = await rows(alone=False)
    await node.session.end_implicit()
    assert first == in_block
    return [compiled, in_block]


def test_every_type_is_answered_alike(cluster: Cluster) -> None:
    assert COLUMNS.keys() == set(SqlType) - ARRAYS, "a new type: compare its answers, too"
    names = {SqlType.CHAR: "char(3)", SqlType.NUMERIC: "numeric(6, 3)", **PRECISE}
    listed = ", ".join(f"c{place} {names.get(of, of.value)}" for place, of in enumerate(COLUMNS))
    table = cluster.table(f"id bigint primary key, {listed}")

    async def work(node: Within) -> None:
        await node.run(f"INSERT INTO {table} VALUES (1, {', '.join(COLUMNS.values())})")
        await node.run(f"INSERT INTO {table} (id) VALUES (-2)")
        names = [f"c{place}" for place in range(len(COLUMNS))]
        for some in (names[:10], names[10:], ["id", "c0", "id"]):
            for form in (0, 1):
                for key, count in ((b"1", 1), (b"-2", 1), (b"3", 0), (None, 0)):
                    sql = f"SELECT {', '.join(some)} FROM {table} WHERE id = $1"
                    compiled, general = await both_ways(node, sql, [key], form)
                    assert compiled == general
                    assert len(compiled) == count

    within(cluster, work)


def test_arrays_which_may_be_large_are_left_to_the_general_way(cluster: Cluster) -> None:
    table = cluster.table("id bigint primary key, a int[], b int")

    async def work(node: Within) -> None:
        await node.run(f"INSERT INTO {table} VALUES (1, '{{1,NULL}}', 2)")
        for name, is_compiled in (("a", False), ("b", True)):
            sql = f"SELECT {name} FROM {table} WHERE id = 1"
            (statement,) = await node.session.parse(sql)
            for _ in range(3):
                await node.session.execute(Portal(Prepared(sql, statement)), alone=True)
            point = statement.point  # type: ignore[attr-defined]
            assert (point is not None and point.way is not None) == is_compiled

    within(cluster, work)


def test_it_is_one_batch_that_enters_the_row_s_storage(cluster: Cluster) -> None:
    table = cluster.table("id bigint primary key, a int")

    async def work(node: Within) -> None:
        await node.run(f"INSERT INTO {table} VALUES (1, 10)")
        for _ in range(3):
            await node.run(f"SELECT a FROM {table} WHERE id = 1")
        (batch,) = node.batches
        begin, door, get, commit = [command.sql for command in batch]
        assert (begin, commit) == ("BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY", "COMMIT")
        (storage,) = {n for n in (1, 2) if f"storage_{n}.kv_" in get}
        assert door == f"SELECT storage_{storage}.enter($1, $2, $3, $4, $5)"

    within(cluster, work)


def test_a_compiled_read_of_a_version_below_the_fence_is_refused(cluster: Cluster) -> None:
    table = cluster.table("id bigint primary key, a int")
    number = cluster.descriptor(table).table_id

    async def work(node: Within) -> None:
        for _ in range(3):
            assert await node.run(f"SELECT a FROM {table} WHERE id = 1") is None
        for storage in (1, 2):
            cluster.read(f"SELECT setval('storage_{storage}.fence_{number}', 99)")
        assert await node.run(f"SELECT a FROM {table} WHERE id = 1") == "40001"
        assert "below the fence" in node.refused

    within(cluster, work)


def test_another_version_is_planned_anew(cluster: Cluster) -> None:
    table = cluster.table("id bigint primary key, a int, b int")
    first = cluster.descriptor(table)
    later = replace(first, version=first.version + 1, columns=first.columns[:-1])

    async def work(node: Within) -> None:
        sql = f"SELECT b FROM {table} WHERE id = 1"
        (statement,) = await node.session.parse(sql)
        for _ in range(3):
            await node.session.execute(Portal(Prepared(sql, statement)), alone=True)
        node.keeper.known[first.table_id] = later
        with pytest.raises(Exception, match=f"version {later.version} of table"):  # which the store does not know
            await node.session.execute(Portal(Prepared(sql, statement)), alone=True)

    within(cluster, work)


def test_a_value_that_is_none_of_its_type_is_refused_as_ever(cluster: Cluster) -> None:
    table = cluster.table("id int primary key, a int")
    with cluster.connect() as connection:
        connection.prepare_threshold = 0
        for _ in range(3):
            connection.execute(f"SELECT a FROM {table} WHERE id = %s", ("1",))
        with pytest.raises(psycopg.errors.InvalidTextRepresentation):
            connection.execute(f"SELECT a FROM {table} WHERE id = %s", ("one",))


def test_a_temporary_table_of_that_name_is_read_instead(cluster: Cluster) -> None:
    table = cluster.table("id int primary key, a int")
    with cluster.connect() as connection:
        sql = f"SELECT a FROM {table} WHERE id = 1"
        assert [connection.execute(sql).fetchall() for _ in range(3)] == [[], [], []]
        connection.execute(f"CREATE TEMP TABLE {table} (id int primary key, a int)")
        connection.execute(f"INSERT INTO {table} VALUES (1, 7)")
        assert connection.execute(sql).fetchall() == [(7,)]
