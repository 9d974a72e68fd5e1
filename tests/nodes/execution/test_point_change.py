"""A compiled change of one row does what the general way does, and leaves to it whatever is no longer as it was."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from catalog.descriptor import Descriptor
from catalog.elements import Column, Index, IndexColumn, IndexId
from catalog.values.types import SqlType
from expressions.analysis.building import Parameters
from expressions.sqltypes import OF_SQL_TYPE
from expressions.typed import Context
from nodes.execution.held_rows import HeldRows
from nodes.execution.writing.dml import answer_of
from nodes.execution.writing.point_change import PointChange
from nodes.execution.writing.point_write import PointWrite, is_at_rest
from nodes.execution.writing.write_context import Writing
from nodes.sql.planner import make_plan
from nodes.sql.statements import parse
from nodes.wire.results import Row
from storage import encoding, pairs
from storage.mutations import in_order
from storage.pairs import StoredRow, column_key
from tests.nodes.conftest import Cluster
from tests.nodes.execution.test_point_write import ENV, INT, KEYS, TEXT, Written, unless_refused, versions
from tests.nodes.linked_tables import link
from tests.nodes.within import Within, within
from tests.rounds import drawn
from tests.storage.arrow.test_rows import NULLABLE, VALUES, table_of

GROWN = {SqlType.INTEGER: "{} + 1", SqlType.BIGINT: "100 / {}", SqlType.TEXT: "coalesce({}, '') || 'x'"}
"""Values made of the row's own."""


@dataclass
class Answer:
    """The pairs of a row as the store answers them."""

    found: Sequence[tuple[bytes, bytes]]

    @property
    def ntuples(self) -> int:
        return len(self.found)

    def get_value(self, row: int, column: int) -> bytes:
        return self.found[row][column]


def answering(version: Descriptor, row: StoredRow) -> Any:
    """A transaction in which the table has this row alone."""
    start = pairs.prefix(version, version.placement.id)
    found = [(column_key(start, row.key), b"")]
    found += [(column_key(start, row.key, column), value) for column, value in row.columns.items()]

    async def run(commands: Sequence[Any]) -> list[Answer]:
        return [Answer(found), *[Answer([]) for _ in commands[1:]]]

    return SimpleNamespace(trace=None, run=run)


def changes_of(draw: Any, version: Descriptor) -> tuple[str, list[Column]]:
    """A statement that changes one row, and the columns that its parameters are values of."""
    keys, others = list(version.key_columns), [c for c in version.public_columns if c.id not in version.primary_key]
    columns: list[Column] = []

    def given_as(column: Column) -> str:
        columns.append(column)
        return f"${len(columns)}"

    where = " AND ".join(f"{c.name} = {given_as(c)}" for c in keys)
    if others and draw(st.booleans()):
        where += f" AND {draw(st.sampled_from(others)).name} IS {draw(st.sampled_from(['', 'NOT ']))}NULL"
    returning = draw(st.sampled_from(["", " RETURNING *", f" RETURNING {keys[0].name}, 'x', NULL"]))
    some = [c for c in others if draw(st.booleans())] or others[:1]
    if not some or draw(st.booleans()):
        return f"DELETE FROM things WHERE {where}{returning}", columns
    assigned = [
        f"{c.name} = {GROWN[c.type].format(c.name) if c.type in GROWN and draw(st.booleans()) else given_as(c)}"
        for c in some
    ]
    return f"UPDATE things SET {', '.join(assigned)} WHERE {where}{returning}", columns


@st.composite
def indexed(draw: st.DrawFn) -> Descriptor:
    """A version at rest, with indexes of the columns that its statements assign; some of them are partial."""
    version = table_of(draw(st.lists(st.sampled_from(KEYS), min_size=1, max_size=3)), [draw(st.sampled_from(KEYS))])
    indexes = tuple(
        Index(IndexId(column.id), f"by_{column.name}", (IndexColumn(column.id, draw(st.booleans())),), where=where)
        for column in version.stored_columns
        for where in [draw(st.sampled_from([None, f'"#{column.id}" IS NOT NULL']))]
    )
    return replace(version, indexes=indexes)


async def generally(work: Writing, plan: Any) -> list[Row]:
    """The answer of RETURNING; the acts are those of `work`."""
    return list((await answer_of(work, plan)).rows)


@drawn(few=200, many=4000)
@given(version=st.one_of(indexed(), indexed(), versions()), data=st.data())
def test_compiled_and_general_do_the_same(version: Descriptor, data: st.DataObject) -> None:
    sql, columns = changes_of(data.draw, version)
    (statement,) = parse(sql)
    statement.plans.clear()  # all these tables are version 3
    plan = make_plan(statement, {"things": version}, Parameters([OF_SQL_TYPE[column.type] for column in columns]))
    compiled = PointChange.of(ENV, plan)
    if not version.fact(is_at_rest):
        assert compiled is None, "what a statement does while a schema changes is decided in one place"
    if compiled is None or PointWrite.of(ENV, plan) is not None:
        return
    for _ in range(3):
        key = [data.draw(VALUES[column.type]) for column in version.key_columns]
        stored = {
            c.id: encoding.encode_value(c.type, data.draw(NULLABLE[c.type]))
            for c in version.stored_columns
            if data.draw(st.integers(0, 9))
        }
        row = StoredRow(pairs.row_key(version, key), stored)
        given_values = [data.draw(NULLABLE[column.type]) for column in columns[len(key) :]]
        context = Context((*key, *given_values))
        work = Writing(ENV, answering(version, row), version, context, HeldRows(ENV.rows))
        asked = unless_refused(lambda work=work: asyncio.run(generally(work, plan)))
        done = unless_refused(lambda context=context, row=row: compiled.operations(row, context))
        if asked is None or done is None:
            assert asked is done
            continue
        ops, answer = done
        assert in_order(work.ops) == in_order(ops)
        assert asked == ([] if answer is None else [answer])


# -- at the store

READ, CHANGED = "BEGIN SELECT SELECT", "WITH COMMIT"


async def written(node: Within, table: str) -> list[Written]:
    """An INSERT, an UPDATE of an indexed column, one that counts, and a DELETE, all compiled."""
    texts = {
        f"INSERT INTO {table} (id, a, n) VALUES ($1, $2, 0)": (INT, INT),
        f"UPDATE {table} SET a = $2 WHERE id = $1": (INT, INT),
        f"UPDATE {table} SET n = n + 1 WHERE id = $1 AND n < 3": (INT,),
        f"DELETE FROM {table} WHERE id = $1": (INT,),
    }
    found = [await Written(node, text, oids).ready() for text, oids in texts.items()]
    for number in ("-1", "-2"):
        values = ([number, "0"], [number, "1"], [number], [number])
        done = [await write(*given) for write, given in zip(found, values, strict=True)]
        assert done == ["INSERT 0 1", "UPDATE 1", "UPDATE 1", "DELETE 1"]
    assert all(isinstance(write.statement.point.way, PointChange) for write in found[1:])  # type: ignore[union-attr]
    return found


def test_each_reads_its_row_and_changes_it_in_a_second_batch(cluster: Cluster) -> None:
    indexes = ("(a)", "(a, n) WHERE n > 0")
    table = cluster.table("id int primary key, a int, n int NOT NULL CHECK (n < 4)", indexes=indexes)

    async def work(node: Within) -> None:
        insert, update, count, delete = await written(node, table)
        assert [await insert(n, "1") for n in ("1", "2")] == ["INSERT 0 1"] * 2
        for write, values in ((update, ["1", None]), (update, ["1", "7"]), (count, ["1"])):
            assert await write(*values) == "UPDATE 1"
            read, changed = write.sent()
            assert (read, changed.removeprefix("DELETE ")) == (READ, CHANGED)
            assert cluster.violations(table) == []
        assert [await count("1") for _ in range(3)] == ["UPDATE 1", "UPDATE 1", "UPDATE 0"]
        assert [await update("9", "1"), await count("9"), await delete("9")] == ["UPDATE 0", "UPDATE 0", "DELETE 0"]
        assert [await update(None, "1"), await delete(None)] == ["UPDATE 0", "DELETE 0"]
        assert cluster.violations(table) == []

    within(cluster, work)
    with cluster.connect() as connection:
        assert connection.execute(f"SELECT * FROM {table} ORDER BY id").fetchall() == [(1, 7, 3), (2, 1, 0)]


def test_what_is_refused_says_why_and_leaves_nothing(cluster: Cluster) -> None:
    columns = "id int primary key, a int NOT NULL CHECK (a < 9), t varchar(3), n int"
    table = cluster.table(columns, indexes=("(a)",))
    with cluster.connect() as connection:
        connection.execute(f"INSERT INTO {table} VALUES (1, 1, 'x', 5), (2, 2, NULL, 0)")

    async def work(node: Within) -> None:
        update = await Written(node, f"UPDATE {table} SET a = $2, t = $3 WHERE id = $1", (INT, INT, TEXT)).ready()
        divide = await Written(node, f"UPDATE {table} SET a = 8 / n WHERE id = $1", (INT,)).ready()
        assert [await update("1", "2", "y") for _ in range(3)] == ["UPDATE 1"] * 3
        assert [await divide("1") for _ in range(3)] == ["UPDATE 1"] * 3
        assert update.is_compiled
        assert divide.is_compiled
        assert await divide("2") == "22012"
        for given_values, sqlstate in {
            ("1", None, None): "23502",
            ("1", "9", None): "23514",
            ("1", "1", "abcd"): "22001",
            ("one", "1", None): "22P02",
        }.items():
            assert await update(*given_values) == sqlstate, given_values
        assert await update("7", None, None) == "UPDATE 0"

    within(cluster, work)
    with cluster.connect() as connection:
        assert connection.execute(f"SELECT * FROM {table} ORDER BY id").fetchall() == [(1, 1, "y", 5), (2, 2, None, 0)]
    assert cluster.violations(table) == []


def test_a_row_that_is_large_is_changed_beside_the_event_loop(cluster: Cluster) -> None:
    table = cluster.table("id int primary key, a int, t text", indexes=("(a)",))
    with cluster.connect() as connection:
        connection.execute(f"INSERT INTO {table} VALUES (1, 1, repeat('x', 60000)), (2, 1, 'x')")

    async def work(node: Within) -> None:
        update = await Written(node, f"UPDATE {table} SET a = a + $2 WHERE id = $1", (INT, INT)).ready()
        assert [await update("2", "1") for _ in range(3)] == ["UPDATE 1"] * 3
        assert update.is_compiled
        assert await update("1", "1") == "UPDATE 1"
        assert [batch.split()[-1] for batch in update.sent()] == ["SELECT", "ROLLBACK", "SELECT", "COMMIT"]

    within(cluster, work)
    with cluster.connect() as connection:
        found = connection.execute(f"SELECT id, a, length(t) FROM {table} ORDER BY id").fetchall()
        assert found == [(1, 2, 60000), (2, 4, 1)]
    assert cluster.violations(table) == []


def test_a_version_below_the_fence_changes_nothing(cluster: Cluster) -> None:
    table = cluster.table("id int primary key, a int, n int NOT NULL CHECK (n < 4)", indexes=("(a)",))
    number = cluster.descriptor(table).table_id

    async def work(node: Within) -> None:
        insert, update, count, delete = await written(node, table)
        assert await insert("1", "1") == "INSERT 0 1"
        for storage in (1, 2):
            cluster.read(f"SELECT setval('storage_{storage}.fence_{number}', 99)")
        assert [await update("1", "2"), await count("1"), await delete("1")] == ["40001"] * 3

    within(cluster, work)


def test_what_other_rows_have_a_say_in_is_not_compiled(cluster: Cluster) -> None:
    table, other = cluster.table("id int primary key, a int UNIQUE, b int"), cluster.table("id int primary key, a int")
    link(cluster, other, "a", table, "id")
    with cluster.connect() as connection:
        connection.execute(f"INSERT INTO {table} VALUES (1, 1, 1), (2, 2, 2)")

    async def work(node: Within) -> None:
        for sql in (
            f"UPDATE {table} SET a = $2 WHERE id = $1",
            f"UPDATE {table} SET id = $2 WHERE id = $1",
            f"UPDATE {table} SET b = a + $2 WHERE id = $1 RETURNING b + 1",
            f"UPDATE {table} SET b = (SELECT $2::int) WHERE id = $1",
            f"UPDATE {other} SET a = $2 WHERE id = $1",
        ):
            write = await Written(node, sql, (INT, INT)).ready()
            for _ in range(3):
                assert await write("1", "1") in ("UPDATE 1", "UPDATE 0")
            assert not write.is_compiled, sql

    within(cluster, work)
    assert cluster.violations(table) == []
