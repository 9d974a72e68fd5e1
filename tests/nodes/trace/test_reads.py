"""What a trace says of reading: the way of a scan, the indexes it may not use, and what a statement cannot see."""

from __future__ import annotations

import itertools
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from catalog.descriptor import Descriptor
from catalog.elements import Column, ColumnId, Constraint, ConstraintId, Index, IndexColumn, IndexId, State, TableId
from catalog.values.types import SqlType
from expressions.analysis.building import Parameters
from expressions.sqltypes import INT4, INT8, NUMERIC, TEXT, Type
from expressions.typed import Context
from nodes.sql.planner import make_plan
from nodes.sql.statements import parse
from nodes.sql.writes.questions import Described
from nodes.trace import reads
from nodes.wire.messages import Field

NOW = Context((), datetime(2026, 1, 1, tzinfo=UTC), None)
IDS = itertools.count(100)
BY_DEST = Index(IndexId(1), "by_dest", (IndexColumn(ColumnId(2)),))
FLIGHTS = Descriptor(
    table_id=TableId(7),
    name="flights",
    version=14,
    columns=(
        Column(ColumnId(1), "id", SqlType.BIGINT, not_null=True),
        Column(ColumnId(2), "dest", SqlType.TEXT),
        Column(ColumnId(3), "gate", SqlType.TEXT, State.DELETE_ONLY),
    ),
    primary_key=(ColumnId(1),),
)


def with_index(state: State, **more: object) -> Descriptor:
    return replace(FLIGHTS, indexes=(replace(BY_DEST, state=state, **more),))  # type: ignore[arg-type]


def scans(sql: str, descriptor: Descriptor, *described: Type) -> list[reads.Json]:
    """The scans of a statement whose question has columns of these types."""
    [statement] = parse(sql)
    answers = [Described((), [Field("c", of.oid) for of in described])] * 2
    descriptor = replace(descriptor, table_id=TableId(next(IDS)))  # plans are kept by table and version
    plan = make_plan(statement, {"flights": descriptor}, Parameters(), answers=answers)
    return [reads.scan_json(scan, NOW, storages=2, buckets=16) for scan in reads.scans_of(plan)]


@pytest.mark.parametrize(("where", "compared", "by"), [
    pytest.param("f.id = v.n", [INT4], "keys, if few", id="the key"),
    pytest.param("f.dest = v.n::text", [TEXT], "keys, if few", id="an index"),
    pytest.param("f.id = v.n::numeric", [NUMERIC], "all rows", id="of another type"),
    pytest.param("f.id < v.n", [], "all rows", id="not equal"),
    pytest.param("f.id = v.n AND f.id = 7", [INT4, INT4], "key", id="the key is known anyway"),
    pytest.param("f.id = v.n + (random() * 3)::int", [], "all rows", id="another value for each pair of rows"),
])  # fmt: skip
def test_rows_that_other_tables_say_are_read_by_key(where: str, compared: list[Type], by: str) -> None:
    [statement] = parse(f"DELETE FROM flights f USING (VALUES (1)) v(n) WHERE {where}")
    table = replace(with_index(State.PUBLIC), table_id=TableId(next(IDS)))
    answer = Described((), [Field("n", of.oid) for of in compared])
    plan = make_plan(statement, {"flights": table}, Parameters(), answers=[answer, answer])
    [scan] = reads.scans_json(plan, NOW, storages=2, buckets=16)
    assert scan["by"] == by


@pytest.mark.parametrize("state", [State.DELETE_ONLY, State.WRITE_ONLY])
def test_an_index_that_is_not_public_would_serve_and_may_not(state: State) -> None:
    [scan] = scans("SELECT id FROM flights WHERE dest = 'BOS'", with_index(state, filling=True))
    assert (scan["by"], scan["index"], scan["version"]) == ("all rows", None, 14)
    assert scan["not_used"] == [{"name": "by_dest", "state": state.value, "filling": True}]


@pytest.mark.parametrize(("sql", "by"), [
    pytest.param("SELECT id FROM flights WHERE id = 7 AND dest = 'BOS'", "key", id="the key is the better way"),
    pytest.param("SELECT id FROM flights", "all rows", id="no condition"),
    pytest.param("SELECT id FROM flights WHERE dest <> 'BOS'", "all rows", id="no condition that bounds"),
])  # fmt: skip
def test_an_index_that_would_not_serve_is_not_named(sql: str, by: str) -> None:
    [scan] = scans(sql, with_index(State.WRITE_ONLY))
    assert (scan["by"], scan["not_used"]) == (by, [])


def test_a_public_index_is_used() -> None:
    [scan] = scans("SELECT id FROM flights WHERE dest = 'BOS'", with_index(State.PUBLIC))
    assert (scan["by"], scan["index"], scan["not_used"]) == ("index", "by_dest", [])


@pytest.mark.parametrize(
    ("sql", "described"),
    [("UPDATE flights SET dest = 'X' WHERE dest = 'BOS'", [TEXT]), ("DELETE FROM flights WHERE dest = 'BOS'", [])],
)
def test_writes_look_for_their_rows_once(sql: str, described: list[Type]) -> None:
    [scan] = scans(sql, with_index(State.WRITE_ONLY), *described)
    assert scan["not_used"][0]["name"] == "by_dest"


def test_an_insert_reads_only_what_it_selects() -> None:
    assert scans("INSERT INTO flights (id) VALUES (1)", FLIGHTS) == []
    [scan] = scans("INSERT INTO flights (id) SELECT id + 1 FROM flights", FLIGHTS, INT8)
    assert scan["by"] == "all rows"


@pytest.mark.parametrize(("kind", "column", "index"), [
    ("select", "refused as unknown", "not used"),
    ("insert", "-", "put"),
    ("update", "-", "del old, put new when its source changes"),
    ("delete", "del", "del"),
])  # fmt: skip
def test_what_is_hidden_and_what_a_statement_does_with_it(kind: str, column: str, index: str) -> None:
    checked = Constraint(ConstraintId(1), "positive", "check", (), '"#1" > 0', state=State.WRITE_ONLY)
    descriptor = replace(with_index(State.WRITE_ONLY), constraints=(checked,))
    found = {one["name"]: one for one in reads.hidden([descriptor], kind, {descriptor.table_id})}
    assert found.keys() == {"gate", "by_dest", "positive"}
    assert (found["gate"]["does"], found["by_dest"]["does"]) == (column, index)
    assert found["positive"]["does"] == ("not relied on" if kind == "select" else "enforced")
    assert found["by_dest"] | {"element": "index", "state": "write-only", "version": 14} == found["by_dest"]


def test_nothing_is_hidden_at_rest() -> None:
    assert reads.hidden([replace(FLIGHTS, columns=FLIGHTS.columns[:2])], "select", ()) == []


def test_a_table_that_a_write_only_reads_is_as_in_a_query() -> None:
    source = replace(with_index(State.WRITE_ONLY), table_id=TableId(8), name="old_flights")
    found = {
        (one["table"], one["name"]): one["does"] for one in reads.hidden([FLIGHTS, source], "insert", {TableId(7)})
    }
    assert found == {
        ("flights", "gate"): "-",
        ("old_flights", "gate"): "refused as unknown",
        ("old_flights", "by_dest"): "not used",
    }


@pytest.mark.parametrize(
    ("sql", "tables"),
    [("SELECT 1 FROM flights", 0), ("INSERT INTO flights (id) VALUES (1)", 1), ("TRUNCATE flights", 1)],
)
def test_the_tables_that_are_written(sql: str, tables: int) -> None:
    [statement] = parse(sql)
    descriptor = replace(FLIGHTS, table_id=TableId(next(IDS)))
    assert len(reads.written(make_plan(statement, {"flights": descriptor}, Parameters()))) == tables
