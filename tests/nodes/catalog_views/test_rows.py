"""Rows of pg_catalog: every column has a value of its type, oids lead from one to the other, and only what is public is
there."""

from dataclasses import replace

import pytest

from catalog.descriptor import Descriptor
from catalog.elements import Column, ColumnId, Index, IndexColumn, IndexId, State, TableId
from catalog.values.types import SqlType
from expressions.errors import SqlError
from expressions.sqltypes import (
    BOOL,
    CHAR,
    FLOAT4,
    INT2,
    INT4,
    INT8,
    NAME,
    OID,
    REGPROC,
    REGTYPE,
    TEXT,
    VARCHAR,
)
from nodes.catalog_views.fixed import PEOPLE as OF_PEOPLE
from nodes.catalog_views.relations import RELATIONS, UNNAMED, columns_of, key_of
from nodes.catalog_views.rows import MADE, rows_of
from nodes.catalog_views.values import PUBLIC
from nodes.wire.oids import TABLES_MAX, column_oid, index_oid, table_oid

BY_NAME = IndexColumn(ColumnId(2))
PEOPLE = Descriptor(
    TableId(7), "people", 3,
    (
        Column(ColumnId(1), "id", SqlType.BIGINT, identity=True),
        Column(ColumnId(2), "name", SqlType.TEXT, not_null=True, default="'x'"),
        Column(ColumnId(4), "soon", SqlType.TEXT, State.WRITE_ONLY),
    ),
    (ColumnId(1),),
    indexes=(Index(IndexId(1), "by_name", (BY_NAME,)), Index(IndexId(2), "later", (BY_NAME,), state=State.WRITE_ONLY)),
)  # fmt: skip
PYTHON = {
    BOOL: bool,
    INT4: int,
    INT8: int,
    INT2: int,
    FLOAT4: float,
    VARCHAR: str,
    TEXT: str,
    REGPROC: int,
    REGTYPE: int,
    OID: int,
    NAME: str,
    CHAR: str,
}


@pytest.mark.parametrize("name", [*MADE, *OF_PEOPLE])
def test_each_row_has_every_column_with_a_value_of_its_type(name: str) -> None:
    for row in rows_of(name, [PEOPLE]):
        assert list(row) == [column.name for column in columns_of(name)]
        for column in columns_of(name):
            python = tuple if column.type.element else PYTHON.get(column.type)
            assert row[column.name] is None or type(row[column.name]) is python, column


def test_our_own_view_has_what_is_not_public() -> None:
    rows = rows_of("schemalab.elements", [PEOPLE])
    assert ("soon", "write-only") in [(row["name"], row["state"]) for row in rows]
    assert rows_of("schemalab.elements", [replace(PEOPLE, state=State.DELETE_ONLY)])[0]["state"] == "delete-only"


def test_relations_that_are_not_made_are_empty_and_there() -> None:
    assert "pg_policy" in RELATIONS
    assert rows_of("pg_policy", [PEOPLE]) == []
    assert not RELATIONS.keys() & UNNAMED.keys()


def test_oids_of_one_relation_are_all_different() -> None:
    for name in ("pg_class", "pg_constraint", "pg_type", "pg_attrdef"):
        oids = [row["oid"] for row in rows_of(name, [PEOPLE, replace(PEOPLE, table_id=TableId(8), name="others")])]
        assert len(set(oids)) == len(oids) > 0, name


def test_two_objects_with_one_oid_are_refused_by_name() -> None:
    """Each table has a range of oids; the ranges begin anew after half a million tables."""
    far = replace(PEOPLE, table_id=TableId(PEOPLE.table_id + TABLES_MAX), name="others")
    for name in ("pg_class", "pg_constraint", "pg_attrdef"):
        with pytest.raises(SqlError, match=f"two objects of {name} would have the oid") as caught:
            rows_of(name, [PEOPLE, far])
        assert caught.value.sqlstate == "54000"
    assert len(rows_of("information_schema.tables", [PEOPLE, far])) == 2


def test_who_asks_is_a_role() -> None:
    assert [row["rolname"] for row in rows_of("pg_roles", [], "ann")] == ["schemalab", "ann"]
    assert [row["usename"] for row in rows_of("pg_user", [], "schemalab")] == ["schemalab"]


def test_what_is_not_public_is_not_there() -> None:
    relations = ["people", "people_id_seq", "people_pkey", "by_name"]
    assert [row["relname"] for row in rows_of("pg_class", [PEOPLE]) if row["relnamespace"] == PUBLIC] == relations
    names = [row["attname"] for row in rows_of("pg_attribute", [PEOPLE]) if row["attrelid"] == table_oid(7)]
    assert names == ["id", "name"]
    assert [row["column_name"] for row in rows_of("information_schema.columns", [PEOPLE])] == names
    assert oids_of_users([replace(PEOPLE, state=State.DELETE_ONLY)]) == []


def oids_of_users(tables: list[Descriptor]) -> list[object]:
    return [row["oid"] for row in rows_of("pg_class", tables) if row["relnamespace"] == PUBLIC]


def test_oids_stay_over_versions_and_renames() -> None:
    later = replace(PEOPLE, version=9, name="persons")
    assert oids_of_users([later]) == oids_of_users([PEOPLE])
    assert oids_of_users([PEOPLE]) == [
        table_oid(7), column_oid(7, 1), index_oid(7, 0), index_oid(7, 1),
    ]  # fmt: skip
    assert table_oid(7) in {row["attrelid"] for row in rows_of("pg_attribute", [PEOPLE])}


def test_columns_say_what_they_are() -> None:
    facts = ("attnum", "atttypid", "attnotnull", "atthasdef", "attidentity")
    assert [tuple(row[fact] for fact in facts) for row in rows_of("pg_attribute", [PEOPLE])][:2] == [
        (1, 20, True, False, "d"), (2, 25, True, True, ""),
    ]  # fmt: skip


@pytest.mark.parametrize(("schema", "name", "is_there"), [
    ("", "pg_class", True), ("pg_catalog", "pg_class", True), ("public", "pg_class", False), ("", "flights", False),
    ("information_schema", "columns", True), ("", "columns", False), ("", "objects", False),
])  # fmt: skip
def test_names(schema: str, name: str, is_there: bool) -> None:
    assert (key_of(schema, name) is not None) == is_there
