"""CREATE TABLE (LIKE ..) through a node: a table of its own with what is asked for, wherever it is made."""

from typing import Any

import pytest
from psycopg import errors

from tests.nodes.conftest import Cluster

pytestmark = pytest.mark.usefixtures("worker")
SHOP = """a int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, b varchar(9) NOT NULL DEFAULT 'x', c int[],
  CHECK (cardinality(c) < 3)"""
COLUMNS = """SELECT attname::text, format_type(atttypid, atttypmod), attnotnull, attidentity::text,
  col_description(attrelid, attnum) FROM pg_attribute WHERE attrelid = '{}'::regclass AND attnum > 0 ORDER BY attnum"""
INDEXES = "SELECT pg_get_indexdef(indexrelid) FROM pg_index WHERE indrelid = '{}'::regclass ORDER BY 1"
RULES = """SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = '{}'::regclass AND contype <> 'n'
  ORDER BY 1"""


def shown(connection: Any, name: str) -> list[tuple[Any, ...]]:
    return [row for query in (COLUMNS, INDEXES, RULES) for row in connection.execute(query.format(name))]


def expected(name: str) -> list[tuple[Any, ...]]:
    return [
        ("a", "integer", True, "a", None),
        ("b", "character varying(9)", True, "", None),
        ("c", "integer[]", False, "", "it's"),
        (f"CREATE INDEX {name}_b_idx ON public.{name} USING btree (b DESC) WHERE ((b)::text > 'm'::text)",),
        (f"CREATE UNIQUE INDEX {name}_pkey ON public.{name} USING btree (a)",),
        ("CHECK ((cardinality(c) < 3))",),
        ("PRIMARY KEY (a)",),
    ]


@pytest.fixture
def shop(cluster: Cluster, n1: Any) -> str:
    name = f"shop{next(cluster.serial)}"
    with n1.transaction():
        n1.execute(f"CREATE TABLE {name} ({SHOP})")
        n1.execute(f"CREATE INDEX ON {name} (b DESC) WHERE b > 'm'")
        n1.execute(f"COMMENT ON COLUMN {name}.c IS 'it''s'")
    return name


def test_a_table_like_another_is_made_by_itself_and_in_a_transaction(cluster: Cluster, n1: Any, shop: str) -> None:
    alone, within = f"{shop}_alone", f"{shop}_within"
    n1.execute(f"CREATE TABLE {alone} (LIKE {shop} INCLUDING ALL)")
    with n1.transaction():
        n1.execute(f"CREATE TABLE {within} (LIKE {shop} INCLUDING ALL)")
        n1.execute(f"INSERT INTO {within} (c) VALUES ('{{1}}')")
        again = f"{shop}_again"
        n1.execute(f"CREATE TABLE {again} (LIKE {within} INCLUDING ALL)")
    for name in (shop, alone, within, again):
        assert [[str(one).replace(name, "t") for one in row] for row in shown(n1, name)] == [
            [str(one).replace(name, "t") for one in row] for row in expected(name)
        ], name
    with pytest.raises(errors.CheckViolation):
        n1.execute(f"INSERT INTO {alone} (c) VALUES ('{{1,2,3}}')")
    n1.execute(f"INSERT INTO {alone} (b, c) VALUES ('z', '{{7}}')")
    assert n1.execute(f"SELECT b FROM {alone} WHERE b > 'm'").fetchall() == [("z",)]
    assert n1.execute(f"SELECT count(*) FROM {shop}").fetchone() == (0,)
    for name in (alone, within, again):
        assert cluster.violations(name) == []


def test_a_temporary_table_like_one_that_all_know(n1: Any, shop: str) -> None:
    n1.execute(f"CREATE TEMP TABLE {shop} (LIKE {shop} INCLUDING ALL)")
    n1.execute(f"INSERT INTO {shop} (c) VALUES ('{{1}}')")
    n1.execute(f"CREATE TEMP TABLE own (LIKE {shop})")
    assert n1.execute(f"SELECT count(*) FROM {shop}").fetchone() == (1,)
    n1.execute("DISCARD TEMP")
    assert n1.execute(f"SELECT count(*) FROM {shop}").fetchone() == (0,)


def test_nothing_is_added_to_a_table_that_is_there(n1: Any, shop: str) -> None:
    with n1.transaction():
        n1.execute(f"CREATE TABLE {shop}_other (b text)")
    notices: list[str] = []
    n1.add_notice_handler(lambda notice: notices.append(str(notice.message_primary)))
    n1.execute(f"CREATE TABLE IF NOT EXISTS {shop}_other (LIKE {shop} INCLUDING ALL)")
    assert f'relation "{shop}_other" already exists, skipping' in notices
    assert shown(n1, f"{shop}_other") == [("b", "text", False, "", None)]
    with pytest.raises(errors.DuplicateTable):
        n1.execute(f"CREATE TABLE {shop}_other (LIKE {shop} INCLUDING ALL)")
    with pytest.raises(errors.UndefinedTable) as caught:
        n1.execute("CREATE TABLE another (LIKE nobody)")
    assert caught.value.diag.statement_position == "28"
