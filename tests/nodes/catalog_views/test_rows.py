"""Rows of pg_catalog: every column has a value of its type, oids lead from one to the other, and only what is public is
there."""

from dataclasses import replace

import pytest

from catalog.descriptor import Descriptor
from catalog.elements import Column, ColumnId, Index, IndexColumn, IndexId, State, TableId
from catalog.types import SqlType
from expressions.sqltypes import BOOL, FLOAT8, INT4, INT8, TEXT
from nodes.catalog_views.relations import RELATIONS, named
from nodes.catalog_views.rows import rows_of
from nodes.wire.oids import index_oid, table_oid

NAME = IndexColumn(ColumnId(2))
PEOPLE = Descriptor(
    TableId(7), "people", 3,
    (
        Column(ColumnId(1), "id", SqlType.BIGINT, identity=True),
        Column(ColumnId(2), "name", SqlType.TEXT, not_null=True, default="'x'"),
        Column(ColumnId(4), "soon", SqlType.TEXT, State.WRITE_ONLY),
    ),
    (ColumnId(1),),
    indexes=(Index(IndexId(1), "by_name", (NAME,)), Index(IndexId(2), "later", (NAME,), state=State.WRITE_ONLY)),
)  # fmt: skip
PYTHON = {BOOL: bool, INT4: int, INT8: int, FLOAT8: float, TEXT: str}


@pytest.mark.parametrize("name", RELATIONS)
def test_each_row_has_every_column_with_a_value_of_its_type(name: str) -> None:
    rows = rows_of(name, [PEOPLE])
    assert rows
    for row in rows:
        assert list(row) == [column.name for column in RELATIONS[name]]
        for column in RELATIONS[name]:
            assert row[column.name] is None or type(row[column.name]) is PYTHON[column.type], column


def test_what_is_not_public_is_not_there() -> None:
    assert [row["relname"] for row in rows_of("pg_class", [PEOPLE])] == ["people", "people_pkey", "by_name"]
    assert [row["attname"] for row in rows_of("pg_attribute", [PEOPLE])] == ["id", "name"]
    assert rows_of("pg_class", [replace(PEOPLE, state=State.DELETE_ONLY)]) == []


def test_oids_stay_over_versions_and_renames() -> None:
    later = replace(PEOPLE, version=9, name="persons")
    assert [row["oid"] for row in rows_of("pg_class", [later])] == [row["oid"] for row in rows_of("pg_class", [PEOPLE])]
    assert [row["oid"] for row in rows_of("pg_class", [PEOPLE])] == [
        table_oid(7), index_oid(7, 0), index_oid(7, 1),
    ]  # fmt: skip
    assert {row["attrelid"] for row in rows_of("pg_attribute", [PEOPLE])} == {table_oid(7)}


def test_columns_say_what_they_are() -> None:
    facts = ("attnum", "atttypid", "attnotnull", "atthasdef", "attidentity")
    assert [tuple(row[fact] for fact in facts) for row in rows_of("pg_attribute", [PEOPLE])] == [
        (1, 20, True, False, "d"), (2, 25, True, True, ""),
    ]  # fmt: skip


@pytest.mark.parametrize(("schema", "name", "is_there"), [
    ("", "pg_class", True), ("pg_catalog", "pg_class", True), ("public", "pg_class", False), ("", "flights", False),
])  # fmt: skip
def test_names(schema: str, name: str, is_there: bool) -> None:
    assert (named(schema, name) is not None) == is_there
