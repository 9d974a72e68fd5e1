"""Names that a statement leaves to us are those that PostgreSQL gives, and no two objects share one."""

from dataclasses import replace

import pytest
from django.db import connection

from catalog.descriptor import Descriptor, from_json
from catalog.elements import Column, ColumnId, TableId
from catalog.object_names import object_name
from catalog.values.types import SqlType


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("table", "column"),
    [
        pytest.param("flights", "origin", id="short names are joined"),
        pytest.param("t" * 63, "c", id="a long table is cut"),
        pytest.param("t", "c" * 63, id="a long column is cut"),
        pytest.param("t" * 63, "c" * 63, id="two long names are cut alike"),
        pytest.param("t" * 29, "c" * 63, id="a table of half the room stays"),
        pytest.param("t" * 63, "c" * 29, id="a column of half the room stays"),
        pytest.param("ü" * 31, "ö" * 30, id="no character is cut in two"),
    ],
)
def test_the_names_are_postgresqls(table: str, column: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute("CREATE SCHEMA names; SET LOCAL search_path = names")
        cursor.execute(f'CREATE TABLE "{table}" ("{column}" serial PRIMARY KEY CHECK ("{column}" > 0))')
        cursor.execute(f'CREATE INDEX ON "{table}" ("{column}")')
        cursor.execute(f'ALTER TABLE "{table}" ADD UNIQUE ("{column}")')
        cursor.execute("SELECT relname FROM pg_class WHERE relnamespace = 'names'::regnamespace AND relkind <> 'r'")
        relations = {name for (name,) in cursor.fetchall()}
        cursor.execute("SELECT conname FROM pg_constraint WHERE contype IN ('c', 'n') AND conrelid > 16384")
        constraints = {name for (name,) in cursor.fetchall()}
    words = {"seq": column, "key": column, "idx": column, "pkey": ""}
    assert {object_name(table, of, word) for word, of in words.items()} == relations
    assert {object_name(table, column, word) for word in ("check", "not_null")} <= constraints


def table_of(*columns: Column, name: str = "a") -> Descriptor:
    return Descriptor(TableId(7), name, 1, columns, (ColumnId(1),))


def test_two_not_nulls_of_a_table_never_share_a_name() -> None:
    columns = [Column(ColumnId(n), "c" * 60 + str(n), SqlType.TEXT, not_null=True) for n in range(1, 4)]
    table = table_of(*columns, name="t" * 60)
    names = [table.not_null_name(column) for column in columns]
    assert len(set(names)) == 3
    assert max(len(name) for name in names) == 63


def test_a_key_and_its_sequences_keep_their_names_when_table_and_columns_get_others() -> None:
    table = table_of(Column(ColumnId(1), "id", SqlType.BIGINT, identity=True, not_null=True))
    assert table.implied_relations == {"a_pkey", "a_id_seq"}
    moved = table.renamed(name="b")
    again = moved.renamed(columns=(replace(moved.columns[0], name="number"),))
    assert (moved.implied_relations, again.implied_relations) == (table.implied_relations, table.implied_relations)
    assert from_json(again.to_json()) == again
    assert again.not_null_name(again.columns[0]) == "a_id_not_null"
    back = again.renamed(name="a", columns=table.columns)
    assert back == table


@pytest.mark.django_db
def test_a_not_null_keeps_its_name_when_table_and_columns_get_others_as_in_postgresql() -> None:
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE a (id int PRIMARY KEY, n text NOT NULL, m text)")
        for action in ("RENAME TO b", "RENAME n TO other", "RENAME m TO n", "ALTER n SET NOT NULL"):
            cursor.execute(f"ALTER TABLE {'a' if action.endswith(' b') else 'b'} {action}")
        cursor.execute("SELECT conname FROM pg_constraint WHERE contype = 'n' AND conrelid = 'b'::regclass ORDER BY 1")
        theirs = [name for (name,) in cursor.fetchall()]
    key = Column(ColumnId(1), "id", SqlType.BIGINT, not_null=True)
    table = table_of(key, Column(ColumnId(2), "n", SqlType.TEXT, not_null=True), Column(ColumnId(3), "m", SqlType.TEXT))

    def named(columns: dict[int, str], of: Descriptor) -> Descriptor:
        return of.renamed(columns=tuple(replace(c, name=columns.get(c.id, c.name)) for c in of.columns))

    def names(of: Descriptor) -> list[str]:
        return [of.not_null_name(column) for column in of.columns if column.not_null]

    moved = table.renamed(name="b")
    swapped = named({3: "n"}, named({2: "other"}, moved))
    assert names(swapped) == names(moved) == names(table) == ["a_id_not_null", "a_n_not_null"]
    both = replace(swapped, columns=tuple(replace(c, not_null=True) for c in swapped.columns))
    assert names(both) == theirs == ["a_id_not_null", "a_n_not_null", "b_n_not_null"]
    back = named({3: "m"}, both).renamed(name="a")
    assert names(back) == names(both), "a name that is kept is nobody else's"
    assert from_json(back.to_json()) == back
