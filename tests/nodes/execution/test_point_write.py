"""A compiled write sends what the general way sends, and leaves to it whatever is no longer as it was."""

import asyncio
from collections.abc import Callable, Mapping
from contextvars import copy_context
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalog.descriptor import Descriptor
from catalog.elements import (
    Column,
    ColumnId,
    Constraint,
    ConstraintId,
    Index,
    IndexColumn,
    IndexId,
    Placement,
    PlacementId,
    State,
)
from catalog.values.types import MOMENTS, UNSORTED, SqlType
from expressions.analysis.building import Parameters
from expressions.errors import SqlError
from expressions.sqltypes import OF_SQL_TYPE
from expressions.typed import Context, evaluate
from nodes.clients.portals import Portal
from nodes.execution import fairness
from nodes.execution.held_rows import HeldRows, NodeRows
from nodes.execution.pages import Table
from nodes.execution.row_codec import encoded, refuse_long
from nodes.execution.ways import access_of
from nodes.execution.writing.inserted_rows import new_rows
from nodes.execution.writing.point_write import PointWrite, is_at_rest
from nodes.execution.writing.write_context import Writing
from nodes.execution.writing.writer import ONE_BATCH_OPS, put_commands
from nodes.sql.planner import make_plan
from nodes.sql.plans import DeletePlan, InsertPlan
from nodes.sql.statements import parse
from nodes.store.pipeline import Command, binary
from storage import encoding
from storage.buckets import BUCKETS
from storage.mutations import delete_row, in_order, update_row
from storage.pairs import CannotDerive, StoredRow, column_key, stored_key
from storage.statements import put_if_there_sql, remove_if_there_sql, statements_for
from tests.nodes.conftest import Cluster
from tests.nodes.linked_tables import link
from tests.nodes.within import Within, within
from tests.rounds import drawn
from tests.storage.arrow.test_rows import NULLABLE, SORTED, VALUES, table_of

STORAGES = 3


@dataclass
class Env:
    """What a plan of one table asks of its node, without a store."""

    storages: int = STORAGES
    buckets: int = BUCKETS
    rows: NodeRows = field(default_factory=NodeRows)

    def table(self, descriptor: Descriptor) -> Table:
        return Table(descriptor, self.storages, self.buckets)


ENV: Any = Env()
TRACELESS: Any = SimpleNamespace(trace=None)
KEYS = [of for of in SORTED if of not in UNSORTED]
DEFAULTS = {SqlType.INTEGER: "7", SqlType.TEXT: "'x'", SqlType.TIMESTAMPTZ: "now()", SqlType.BOOLEAN: "true"}


@st.composite
def versions(draw: st.DrawFn) -> Descriptor:
    """A table with any columns, defaults and rules, at rest or with an element in any state."""
    key = draw(st.lists(st.sampled_from(KEYS), min_size=1, max_size=2))
    plain = table_of(draw(st.lists(st.sampled_from(SqlType), max_size=4)), key)
    columns = [_with_default(draw, column, is_key=column.id in plain.primary_key) for column in plain.columns]
    next_id = len(columns) + 1
    numbers = [c.id for c in columns if c.type in (SqlType.INTEGER, SqlType.BIGINT) and c.id not in plain.primary_key]
    checks = [
        Constraint(ConstraintId(1), "sane", "check", (c,), f'"#{c}" > 0') for c in numbers[: draw(st.integers(0, 1))]
    ]
    by = draw(st.sampled_from([(), plain.primary_key[:1], *((c,) for c in numbers)]))
    function, storages = draw(st.sampled_from(["strcrc32", "mpcrc32"])), draw(st.integers(0, 4))
    place = Placement(PlacementId(1), by, function, storages=storages)
    version = replace(plain, columns=tuple(columns), constraints=tuple(checks), placements=(place,))
    version = replace(version, next_column_id=ColumnId(next_id))
    return draw(st.sampled_from([version, *_moving(version)])) if draw(st.booleans()) else version


def _with_default(draw: st.DrawFn, column: Column, *, is_key: bool) -> Column:
    default = DEFAULTS.get(column.type) if draw(st.booleans()) else None
    length = draw(st.sampled_from((None, 0, 3))) if column.type in MOMENTS else None
    return replace(column, default=default, length=length, not_null=is_key or draw(st.booleans()))


def _moving(version: Descriptor) -> list[Descriptor]:
    """The version with one more element, in each of its states."""
    late = Column(version.next_column_id, "late", SqlType.INTEGER, default="1", added_with_default=True)
    one = encoding.encode(SqlType.INTEGER, 1)
    index = Index(IndexId(1), "by_key", (IndexColumn(version.primary_key[0]),))
    of_last = Index(IndexId(1), "by_last", (IndexColumn(version.columns[-1].id),), unique=True)
    rule = Constraint(ConstraintId(9), "there", "not null", (version.columns[-1].id,))
    states = (State.DELETE_ONLY, State.WRITE_ONLY)
    found = [
        replace(version, columns=(*version.columns, replace(late, state=state, fill_value=one, filling=is_filling)))
        for state, is_filling in ((State.DELETE_ONLY, False), (State.WRITE_ONLY, True), (State.WRITE_ONLY, False))
    ]
    found += [replace(version, indexes=(replace(index, state=state),)) for state in (*states, State.PUBLIC)]
    last = version.columns[-1]
    if last.type in KEYS:
        both = (IndexColumn(last.id, descending=True), IndexColumn(version.primary_key[0]))
        down = Index(IndexId(2), "of_last", both)
        some = replace(index, id=IndexId(3), name="some", where=f'"#{last.id}" IS NOT NULL')
        of_number = replace(index, id=IndexId(3), name="some", where=f'10 / "#{last.id}" < 3')
        parts = (some, of_number) if last.type is SqlType.INTEGER else (some,)
        found += [replace(version, indexes=(index, down, part)) for part in parts]
        found += [replace(version, indexes=(replace(of_last, state=state),)) for state in (*states, State.PUBLIC)]
    found.append(replace(version, constraints=(replace(rule, state=State.WRITE_ONLY),)))
    copy = Placement(PlacementId(2), state=State.PUBLIC)
    found += [replace(version, placements=(*version.placements, replace(copy, state=state))) for state in states]
    return found


def statements_of(draw: Any, version: Descriptor) -> tuple[str, list[Column]]:
    """A statement on one row, or an INSERT of some, and the columns that its parameters are values of."""
    keys, others = list(version.key_columns), [c for c in version.public_columns if c.id not in version.primary_key]
    by_key = " AND ".join(f"{c.name} = ${{}}" for c in keys)
    kind = draw(st.sampled_from(["insert", "update", "delete"] if others else ["insert", "delete"]))
    some = [c for c in others if draw(st.booleans())]
    if kind == "insert":
        named = draw(st.permutations([*keys, *some]))
        rows, columns = list[str](), list[Column]()
        for _ in range(draw(st.sampled_from([1, 1, 2, 5]))):
            places = ["DEFAULT" if c in some and draw(st.integers(0, 4)) == 0 else "${}" for c in named]
            columns += [c for c, place in zip(named, places, strict=True) if place != "DEFAULT"]
            rows.append(f"({', '.join(places)})")
        sql = f"INSERT INTO things ({', '.join(c.name for c in named)}) VALUES {', '.join(rows)}"
    elif kind == "update":
        assigned = some or others[:1]
        sql = f"UPDATE things SET {', '.join(f'{c.name} = ${{}}' for c in assigned)} WHERE {by_key}"
        columns = [*assigned, *keys]
    else:
        sql, columns = f"DELETE FROM things WHERE {by_key}", keys
    return sql.format(*range(1, len(columns) + 1)), columns


def general(plan: Any, context: Context) -> tuple[int | None, Command] | None:
    """What the general way sends, where that is one command, and its storage; raises what it refuses."""
    descriptor = plan.descriptor
    if isinstance(plan, InsertPlan):
        work = Writing(ENV, TRACELESS, descriptor, context, HeldRows(ENV.rows))
        for row in asyncio.run(new_rows(work, plan)):
            work.insert(work.encoded(row))
        statements = statements_for(in_order(work.ops), descriptor.table_id, STORAGES)
        if len(commands := put_commands(statements)) > 1:
            return None  # a row beside itself
        homes = {statement.storage for statement in statements}
        return homes.pop() if len(homes) == 1 else None, commands[0]
    points = access_of(ENV, plan.scan, context).points
    if not points:
        return None
    row, sql = StoredRow(points[0]), remove_if_there_sql
    if isinstance(plan, DeletePlan):
        ops = delete_row(descriptor, row)
    else:
        assigned = {column_id: evaluate(expr, {}, context) for column_id, expr in plan.assignments.items()}
        refuse_long(descriptor, assigned)
        if any(assigned.get(column.id, 0) is None for column, _ in plan.rules.required):
            return None
        ops, sql = update_row(descriptor, row, encoded(descriptor, assigned)), put_if_there_sql
    (statement,) = statements_for(ops, descriptor.table_id, STORAGES)
    existence, _ = stored_key(column_key(ENV.table(descriptor).start, points[0]))
    return statement.storage, Command(sql(statement.storage, descriptor.table_id), binary(existence, *statement.params))


@drawn(few=150, many=3000)
@given(version=versions(), data=st.data())
def test_compiled_and_general_send_the_same(version: Descriptor, data: st.DataObject) -> None:
    same_is_sent(data, version, *statements_of(data.draw, version), NULLABLE)


@drawn(few=60, many=1500)
@given(
    key=st.sampled_from(KEYS),
    types=st.lists(st.sampled_from(SORTED), max_size=3),
    count=st.integers(2, 6),
    storages=st.integers(0, 4),
    is_indexed=st.booleans(),
    data=st.data(),
)
def test_compiled_and_general_send_the_same_rows(
    key: SqlType, types: list[SqlType], count: int, storages: int, is_indexed: bool, data: st.DataObject
) -> None:
    """Several rows of a table at rest, seldom with a NULL, and seldom one beside itself."""
    plain = table_of(types, [key])
    by = tuple(Index(IndexId(c.id), f"by_{c.name}", (IndexColumn(c.id),)) for c in plain.columns if c.type in KEYS)
    version = replace(
        plain, indexes=by if is_indexed else (), placements=(Placement(PlacementId(1), storages=storages),)
    )
    rows = [[f"${row * len(plain.columns) + n}" for n in range(1, len(plain.columns) + 1)] for row in range(count)]
    names = ", ".join(column.name for column in plain.columns)
    places = ", ".join(f"({', '.join(row)})" for row in rows)
    sql = f"INSERT INTO things ({names}) VALUES {places}"
    same_is_sent(data, version, sql, list(plain.columns) * count, VALUES)


def test_one_row_is_compiled_however_wide_it_is_and_as_many_as_one_batch_has_room_for() -> None:
    wide = table_of([SqlType.INTEGER] * ONE_BATCH_OPS, [SqlType.INTEGER])
    names = ", ".join(column.name for column in wide.columns)
    row = ", ".join(str(column.id) for column in wide.columns)
    for version, rows, is_compiled in ((wide, 1, True), (wide, 2, False), (table_of([], [SqlType.INTEGER]), 2, True)):
        named, values = (names, row) if version is wide else (version.columns[0].name, "7")
        (statement,) = parse(f"INSERT INTO things ({named}) VALUES {', '.join([f'({values})'] * rows)}")
        statement.plans.clear()
        plan = make_plan(statement, {"things": version}, Parameters([]))
        assert (PointWrite.of(ENV, plan) is not None) is is_compiled


def same_is_sent(
    data: st.DataObject, version: Descriptor, sql: str, columns: list[Column], values: Mapping[SqlType, Any]
) -> None:
    """What is compiled of a statement sends for values of these columns what the general way sends for them."""
    (statement,) = parse(sql)
    statement.plans.clear()  # all these tables are version 3
    parameters = Parameters([OF_SQL_TYPE[column.type] for column in columns])
    plan = make_plan(statement, {"things": version}, parameters)
    compiled = PointWrite.of(ENV, plan)
    if not version.fact(is_at_rest):
        assert compiled is None, "what a statement does while a schema changes is decided in one place"
    if compiled is None:
        return
    for _ in range(3):
        context = Context(tuple(data.draw(values[column.type]) for column in columns))
        with patch.object(fairness, "SLICE_S", 60):  # however slow the machine is
            question = unless_refused(lambda context=context: compiled.ask(context))
        with patch.object(fairness, "SLICE_S", -1):  # others are to have their turn between any two rows
            slow = unless_refused(lambda context=context: compiled.ask(context))
        assert slow == (question if question and len(question.existences) == 1 else None)
        sent = None if question is None else (question.storage, question.command)
        assert sent == unless_refused(lambda context=context: general(plan, context))
        assert question is None or all(
            any(stored_key(key)[0] in p for p in question.command.params) for key in question.existences
        )


def unless_refused(work: Callable[[], Any]) -> Any:
    """What the work returns; None when it is refused, which is left to the general way. It counts in a context of its
    own."""
    try:
        return copy_context().run(work)
    except (SqlError, CannotDerive):
        return None


# -- at the store


@dataclass
class Written:
    """One statement, prepared with parameters of these types, and executed again and again."""

    node: Within
    sql: str
    oids: tuple[int, ...]

    async def ready(self) -> "Written":
        (self.statement,) = await self.node.session.parse(self.sql)
        self.prepared = await self.node.session.prepare(self.sql, self.statement, self.oids)
        return self

    @property
    def is_compiled(self) -> bool:
        known = self.statement.point
        return known is not None and known.way is not None

    async def __call__(self, *values: str | None) -> str:
        """The answer's tag, or the code it is refused with."""
        self.node.batches.clear()
        given = [None if value is None else value.encode() for value in values]
        try:
            return (await self.node.session.execute(Portal(self.prepared, given), alone=True)).tag
        except SqlError as error:
            await self.node.session.fail(error)
            return error.sqlstate

    def sent(self) -> list[str]:
        """The first words of the commands, batch by batch."""
        return [" ".join(command.sql.split()[0] for command in batch) for batch in self.node.batches]


INT, TEXT = 23, 25
ONE_BATCH = ["BEGIN SELECT WITH COMMIT"]


async def three(node: Within, table: str) -> list[Written]:
    """An INSERT, an UPDATE and a DELETE that are compiled."""
    insert = await Written(node, f"INSERT INTO {table} (id, a) VALUES ($1, $2)", (INT, INT)).ready()
    update = await Written(node, f"UPDATE {table} SET a = $2 WHERE id = $1", (INT, INT)).ready()
    delete = await Written(node, f"DELETE FROM {table} WHERE id = $1", (INT,)).ready()
    for number in ("-1", "-2"):
        assert [await insert(number, "0"), await update(number, "1"), await delete(number)] == DONE
    assert all(write.is_compiled for write in (insert, update, delete))
    return [insert, update, delete]


DONE = ["INSERT 0 1", "UPDATE 1", "DELETE 1"]


def test_each_is_one_batch_that_enters_the_row_s_storage(cluster: Cluster) -> None:
    table = cluster.table("id int primary key, a int, b text default 'b'")

    async def work(node: Within) -> None:
        insert, update, delete = await three(node, table)
        for write, values, tag in ((insert, ["1", "10"], 0), (update, ["1", None], 1)):
            assert (await write(*values), write.sent()) == (DONE[tag], ONE_BATCH)
            (batch,) = node.batches
            (storage,) = {n for n in (1, 2) if f"storage_{n}.kv_" in batch[2].sql}
            assert batch[1].sql == f"SELECT storage_{storage}.enter($1, $2, $3, $4, $5)"
        assert cluster.violations(table) == []
        assert (await delete("1"), delete.sent()) == ("DELETE 1", ONE_BATCH)
        assert [await update("1", "1"), await delete("1")] == ["UPDATE 0", "DELETE 0"]

    within(cluster, work)
    assert not any(cluster.pairs(table))


def test_what_is_refused_says_why_and_leaves_nothing(cluster: Cluster) -> None:
    table = cluster.table("id int primary key, a int NOT NULL CHECK (a > 0), b varchar(3)")

    async def work(node: Within) -> None:
        insert = await Written(node, f"INSERT INTO {table} VALUES ($1, $2, $3)", (INT, INT, TEXT)).ready()
        update = await Written(node, f"UPDATE {table} SET b = $2 WHERE id = $1", (INT, TEXT)).ready()
        for number in ("1", "2"):
            assert await insert(number, number, "abc") == "INSERT 0 1"
            assert await update(number, "x") == "UPDATE 1"
        assert insert.is_compiled
        assert update.is_compiled
        for values, sqlstate in {
            ("1", "1", None): "23505",
            (None, "1", None): "23502",
            ("3", None, None): "23502",
            ("3", "-1", None): "23514",
            ("3", "1", "abcd"): "22001",
            ("three", "1", None): "22P02",
            ("3000000000", "1", None): "22003",
        }.items():
            assert await insert(*values) == sqlstate, values
        assert await update("1", "abcd") == "22001"
        assert await update("9", "abcd") == "UPDATE 0"

    within(cluster, work)
    with cluster.connect() as connection:
        rows = connection.execute(f"SELECT * FROM {table} ORDER BY id").fetchall()
        assert rows == [(1, 1, "x"), (2, 2, "x")]
        connection.prepare_threshold = 0
        sql = f"INSERT INTO {table} (id, a) VALUES (%s, %s)"
        for number in (7, 8, 9):
            connection.execute(sql, (number, 9))
        with pytest.raises(psycopg.errors.UniqueViolation) as caught:
            connection.execute(sql, (9, 9))
        assert caught.value.diag.message_detail == "Key (id)=(9) already exists."
        assert caught.value.diag.constraint_name == f"{table}_pkey"
    assert cluster.violations(table) == []


def test_several_rows_are_one_batch_and_all_or_none(cluster: Cluster) -> None:
    """Over several storages; which row was there, or came twice, is named, and no other is put then."""
    table = cluster.table("id int primary key, a int CHECK (a > 0), b text default 'b'")
    rows = ", ".join(f"(${n}, ${n + 1})" for n in range(1, 12, 2))

    async def work(node: Within) -> None:
        insert = await Written(node, f"INSERT INTO {table} (id, a) VALUES {rows}", (INT,) * 12).ready()

        async def put(*numbers: int) -> str:
            return await insert(*(str(value) for number in numbers for value in (number, number % 10)))

        used = set[int]()
        for start in (10, 20, 30):
            assert await put(*range(start + 1, start + 7)) == "INSERT 0 6"
            used |= {n for n in (1, 2) if f"storage_{n}.kv_" in node.batches[0][-2].sql}
        assert (insert.is_compiled, insert.sent(), used) == (True, ONE_BATCH, {1, 2})
        assert await put(41, 42, 43, 14, 44, 45) == "23505"
        assert await put(51, 52, 53, 54, 55, 51) == "23505"
        assert await put(61, 62, 63, 64, 65, 70) == "23514"
        assert await put(71, 72, 73, 74, 75, 76) == "INSERT 0 6"
        assert insert.sent() == ONE_BATCH

    within(cluster, work)
    assert cluster.violations(table) == []
    with cluster.connect() as connection:
        connection.prepare_threshold = 0
        ids = connection.execute(f"SELECT id FROM {table} ORDER BY id").fetchall()
        assert [number for (number,) in ids] == [*range(11, 17), *range(21, 27), *range(31, 37), *range(71, 77)]
        sql = f"INSERT INTO {table} (id, a) VALUES (%s, 1), (%s, 2), (%s, 3)"
        for number in (81, 84, 87):
            connection.execute(sql, (number, number + 1, number + 2))
        with pytest.raises(psycopg.errors.UniqueViolation) as caught:
            connection.execute(sql, (91, 85, 92))
        assert caught.value.diag.message_detail == "Key (id)=(85) already exists."
        assert connection.execute(f"SELECT count(*) FROM {table} WHERE id > 90").fetchone() == (0,)


def test_a_key_without_characters_is_named_as_it_is(cluster: Cluster) -> None:
    """An empty text is no NULL."""
    table = cluster.table("id text primary key")
    with cluster.connect() as connection:
        connection.execute(f"INSERT INTO {table} VALUES ('')")
        with pytest.raises(psycopg.errors.UniqueViolation) as caught:
            connection.execute(f"INSERT INTO {table} VALUES ('')")
    assert caught.value.diag.message_detail == "Key (id)=() already exists."


def test_a_version_below_the_fence_writes_nothing(cluster: Cluster) -> None:
    table = cluster.table("id int primary key, a int")
    number = cluster.descriptor(table).table_id

    async def work(node: Within) -> None:
        insert, update, delete = await three(node, table)
        assert await insert("1", "1") == "INSERT 0 1"
        for storage in (1, 2):
            cluster.read(f"SELECT setval('storage_{storage}.fence_{number}', 99)")
        assert [await insert("2", "2"), await update("1", "2"), await delete("1")] == ["40001"] * 3

    within(cluster, work)
    assert sum(map(len, cluster.pairs(table))) == 2


def changed(now: Descriptor, **changes: Any) -> Descriptor:
    return now.next_version(
        next_column_id=ColumnId(9), next_index_id=IndexId(9), next_constraint_id=ConstraintId(9), **changes
    )


LATE = Column(ColumnId(5), "late", SqlType.INTEGER, default="7", added_with_default=True)
SEVEN = encoding.encode(SqlType.INTEGER, 7)
BY_A = Index(IndexId(3), "by_a", (IndexColumn(ColumnId(2)),))
SANE = Constraint(ConstraintId(3), "sane", "check", (ColumnId(2),), '"#2" < 100', state=State.WRITE_ONLY)


def indexed_by_a(now: Descriptor, **of_index: Any) -> Descriptor:
    """With an index whose name no other table has."""
    return changed(now, indexes=(replace(BY_A, name=f"{now.name}_by_a", **of_index),))


NEXT_VERSIONS = {
    "a column that is added": lambda now: changed(
        now, columns=(*now.columns, replace(LATE, state=State.WRITE_ONLY, fill_value=SEVEN, filling=True))
    ),
    "a column with a default": lambda now: changed(
        now, columns=(*now.columns, replace(LATE, added_with_default=False))
    ),
    "an index, delete-only": lambda now: indexed_by_a(now, state=State.DELETE_ONLY),
    "an index that is filled": lambda now: indexed_by_a(now, state=State.WRITE_ONLY, filling=True),
    "an index": lambda now: indexed_by_a(now),
    "a unique index": lambda now: indexed_by_a(now, unique=True),
    "a rule": lambda now: changed(now, constraints=(SANE,)),
    "a placement": lambda now: changed(
        now, placements=(*now.placements, Placement(PlacementId(2), (ColumnId(1),), "mpcrc32", State.WRITE_ONLY))
    ),
}


@pytest.mark.parametrize("change", NEXT_VERSIONS)
def test_a_change_in_between_is_seen(cluster: Cluster, change: str) -> None:
    """What was compiled is of the version before: the next one writes, removes and refuses as itself says."""
    table = cluster.table("id int primary key, a int, b text default 'b'")

    async def work(node: Within) -> None:
        insert, update, delete = await three(node, table)
        for number in range(1, 7):
            assert await insert(str(number), str(number)) == "INSERT 0 1"
        some = await Written(node, f"INSERT INTO {table} (id, a) VALUES ($1, $2), ($3, $4)", (INT,) * 4).ready()
        for number in (41, 51):
            assert await some(str(number), str(number), str(number + 1), str(number + 1)) == "INSERT 0 2"
        assert some.is_compiled
        for number in (41, 42, 51, 52):
            assert await delete(str(number)) == "DELETE 1"
        later = NEXT_VERSIONS[change](cluster.descriptor(table))
        cluster.publish(later)
        node.keeper.known[later.table_id] = later
        for number in range(3):  # the third time it is compiled, if it is compiled under this version
            assert await insert(str(11 + number), str(11 + number)) == "INSERT 0 1"
            assert await update(str(1 + number), str(21 + number)) == "UPDATE 1"
            assert await delete(str(4 + number)) == "DELETE 1"
            two = [str(value) for value in (61 + 2 * number, 62 + 2 * number) for _ in range(2)]
            assert await some(*two) == "INSERT 0 2"
        if change == "a unique index":
            assert [await insert("30", "21"), await update("2", "21")] == ["23505", "23505"]
            assert await some("80", "80", "81", "21") == "23505"
        if change == "a rule":
            assert [await insert("30", "100"), await update("2", "100")] == ["23514", "23514"]
            assert await some("80", "80", "81", "100") == "23514"

    within(cluster, work)
    assert cluster.violations(table) == []
    with cluster.connect() as connection:
        rows = connection.execute(f"SELECT id, a FROM {table} ORDER BY id").fetchall()
        of_two = [(n, n) for n in range(61, 67)]
        assert rows == [(1, 21), (2, 22), (3, 23), (11, 11), (12, 12), (13, 13), *of_two]


PARTIAL = Index(IndexId(4), "some", (IndexColumn(ColumnId(2), descending=True),), where='10 / "#2" < 3')


def test_an_insert_puts_its_entries_in_the_same_batch(cluster: Cluster) -> None:
    """Of plain indexes, and of a partial one for the rows that it accepts; what has no value is refused by name."""
    table = cluster.table("id int primary key, a int, b text default 'b'")

    def publish(node: Within, **changes: Any) -> None:
        later = changed(cluster.descriptor(table), **changes)
        cluster.publish(later)
        node.keeper.known[later.table_id] = later

    async def work(node: Within) -> None:
        publish(node, indexes=(BY_A, PARTIAL))
        insert = await Written(node, f"INSERT INTO {table} (id, a) VALUES ($1, $2)", (INT, INT)).ready()
        for number in ("3", "4", "5", None):
            assert await insert(f"{number or 6}", number) == "INSERT 0 1"
        assert (insert.is_compiled, insert.sent()) == (True, ONE_BATCH)
        assert await insert("7", "0") == "22012"
        assert await insert("3", "3") == "23505"
        assert sum(len(pairs) for pairs in cluster.pairs(table)) == 4 * 3 + 4 + 2
        assert cluster.violations(table) == []
        now = cluster.descriptor(table)
        publish(node, indexes=tuple(replace(i, state=State.WRITE_ONLY) for i in now.indexes))
        assert await insert("8", "8") == "INSERT 0 1"
        publish(node, indexes=tuple(replace(i, state=State.DELETE_ONLY) for i in now.indexes))
        assert await insert("9", "9") == "INSERT 0 1"
        assert not insert.is_compiled

    within(cluster, work)
    assert cluster.violations(table) == []
    assert sum(len(pairs) for pairs in cluster.pairs(table)) == 6 * 3 + 5 + 3


@pytest.mark.parametrize("state", [State.WRITE_ONLY, State.PUBLIC])
def test_a_foreign_key_in_between_is_enforced(cluster: Cluster, state: State) -> None:
    """Of what refers to other rows, and of rows that others refer to."""
    parent, child = cluster.table("id int primary key, a int"), cluster.table("id int primary key, a int")

    async def work(node: Within) -> None:
        _, _, delete = await three(node, parent)
        insert, update, _ = await three(node, child)
        await node.run(f"INSERT INTO {parent} VALUES (1, 1), (2, 2)")
        assert [await insert("1", "1"), await update("1", "2")] == ["INSERT 0 1", "UPDATE 1"]
        link(cluster, child, "a", parent, "id", name="to_parent", state=state)
        node.keeper.known.clear()
        for number in ("2", "3", "4"):
            assert [await insert(number, "9"), await update("1", "9"), await delete("2")] == ["23503"] * 3
            assert [await insert(number, "1"), await update(number, "2")] == ["INSERT 0 1", "UPDATE 1"]

    within(cluster, work)
    assert cluster.violations(child) == []


def test_another_table_of_that_name_is_written_instead(cluster: Cluster) -> None:
    table = cluster.table("id int primary key, a int")
    with cluster.connect() as connection:
        sql = f"UPDATE {table} SET a = 1 WHERE id = 1"
        assert [connection.execute(sql).rowcount for _ in range(3)] == [0, 0, 0]
        connection.execute(f"CREATE TEMP TABLE {table} (id int primary key, a int)")
        connection.execute(f"INSERT INTO {table} VALUES (1, 7)")
        assert connection.execute(sql).rowcount == 1
        connection.execute(f"DROP TABLE {table}")
        assert connection.execute(sql).rowcount == 0


def test_values_of_each_execution_are_its_own(cluster: Cluster) -> None:
    """A default that is the time, a setting that changes how a text is read, and what is done only once."""
    table = cluster.table("id int primary key, at timestamptz default now(), day date")
    with cluster.connect() as connection:
        connection.prepare_threshold = 0
        for number in range(4):
            connection.execute(f"INSERT INTO {table} (id, day) VALUES (%s, %s)", (number, "01/02/2020"))
        connection.execute("SET datestyle = 'ISO, DMY'")
        connection.execute(f"INSERT INTO {table} (id, day) VALUES (%s, %s)", (4, "01/02/2020"))
        rows = connection.execute(f"SELECT at, day::text FROM {table} ORDER BY id").fetchall()
    assert len({at for at, _ in rows}) == 5
    assert [day for _, day in rows] == ["2020-01-02"] * 4 + ["2020-02-01"]


def test_conflicting_writers_try_again_until_each_is_done(cluster: Cluster) -> None:
    table = cluster.table("id int primary key, a int")

    async def work(node: Within) -> None:
        insert, update, _ = await three(node, table)
        assert await insert("1", "0") == "INSERT 0 1"
        with cluster.connect() as other:
            for number in range(3):
                other.execute("BEGIN")
                other.execute(f"UPDATE {table} SET a = {number} WHERE id = 1")
                waiting = asyncio.ensure_future(update("1", "77"))
                async with asyncio.timeout(20):
                    while not cluster.read("SELECT 1 FROM pg_locks WHERE NOT granted"):
                        await asyncio.sleep(0.01)
                await asyncio.to_thread(other.execute, "COMMIT")
                assert await waiting == "UPDATE 1"
                assert update.sent() == [*ONE_BATCH, "ROLLBACK", *ONE_BATCH]

    within(cluster, work)
    with cluster.connect() as connection:
        assert connection.execute(f"SELECT a FROM {table}").fetchall() == [(77,)]
