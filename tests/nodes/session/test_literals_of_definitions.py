"""Literals of a definition are read once, by the settings of the session that submits it, as PostgreSQL reads them."""

from typing import Any

import psycopg
import pytest

from expressions import literals
from expressions.dates.zones import time_style
from expressions.sqltypes import TIMESTAMPTZ
from tests.nodes.conftest import Cluster

Connection = psycopg.Connection[Any]
BERLIN = "SET TimeZone = 'Europe/Berlin'"
UTC = "SET TimeZone = 'UTC'"


def one(connection: Connection, sql: str) -> str:
    row = connection.execute(sql).fetchone()
    assert row is not None
    return str(row[0])


@pytest.fixture
def berlin(cluster: Cluster, n1: Connection) -> Connection:
    n1.execute(BERLIN)
    return n1


@pytest.mark.parametrize(("column", "shown"), [
    pytest.param("at timestamptz DEFAULT '2020-01-01 00:00'", "2019-12-31 23:00:00+00", id="a default"),
    pytest.param("at timestamptz DEFAULT timestamptz '2020-07-01 00:00'", "2020-06-30 22:00:00+00", id="a typed one"),
    pytest.param("at timestamptz DEFAULT '2020-01-01 00:00+00'", "2020-01-01 00:00:00+00", id="one with a zone"),
    pytest.param("at timestamptz DEFAULT coalesce(NULL, '2020-01-01'::timestamptz)", "2019-12-31 23:00:00+00",
        id="an expression"),
    pytest.param("at timestamptz[] DEFAULT '{2020-01-01 00:00}'", '{"2019-12-31 23:00:00+00"}', id="an array"),
    pytest.param("at timestamp DEFAULT '2020-01-01 00:00'", "2020-01-01 00:00:00", id="a time without a zone"),
])  # fmt: skip
def test_a_default_is_a_time_in_the_zone_of_who_makes_the_table(
    cluster: Cluster, berlin: Connection, column: str, shown: str
) -> None:
    table = f"defaults{next(cluster.serial)}"
    with berlin.transaction():
        berlin.execute(f"CREATE TABLE {table} (id int PRIMARY KEY, {column})")
    berlin.execute(UTC)
    assert one(berlin, f"INSERT INTO {table} VALUES (1) RETURNING at::text") == shown


def test_a_date_of_numbers_is_read_in_the_order_of_who_makes_the_table(cluster: Cluster, n1: Connection) -> None:
    table = f"orders{next(cluster.serial)}"
    n1.execute("SET DateStyle = 'ISO, DMY'")
    with n1.transaction():
        n1.execute(f"CREATE TABLE {table} (id int PRIMARY KEY, at date DEFAULT '02/01/2020' CHECK (at < '01/02/2020'))")
    n1.execute("SET DateStyle = 'ISO, MDY'")
    assert one(n1, f"INSERT INTO {table} VALUES (1) RETURNING at::text") == "2020-01-02"
    n1.execute(f"INSERT INTO {table} VALUES (2, '2020-01-31')")
    with pytest.raises(psycopg.errors.CheckViolation):
        n1.execute(f"INSERT INTO {table} VALUES (3, '2020-02-01')")


@pytest.mark.parametrize("where", [
    pytest.param("in a transaction", id="of a table of the transaction"),
    pytest.param("as a temporary table", id="of a temporary table"),
])  # fmt: skip
def test_a_check_means_a_time_in_the_sessions_zone(cluster: Cluster, berlin: Connection, where: str) -> None:
    table, temporary = f"checked{next(cluster.serial)}", "TEMP" if where == "as a temporary table" else ""
    with berlin.transaction():
        berlin.execute(f"CREATE {temporary} TABLE {table} (id int PRIMARY KEY, at timestamptz, v text)")
        berlin.execute(f"ALTER TABLE {table} ADD CHECK (at >= '2020-01-01 00:00')")
    berlin.execute(UTC)
    berlin.execute(f"INSERT INTO {table} VALUES (1, '2019-12-31 23:00')")
    with pytest.raises(psycopg.errors.CheckViolation):
        berlin.execute(f"INSERT INTO {table} VALUES (2, '2019-12-31 22:59')")


def test_a_submitted_statement_is_stored_with_its_literals_in_utc(
    cluster: Cluster, berlin: Connection, worker: object
) -> None:
    """A change may be planned again later, by another process: its text means the same there."""
    table = cluster.table("id int PRIMARY KEY, at timestamptz, v text")
    berlin.execute(f"ALTER TABLE {table} ADD CHECK (at >= '2020-01-01')")
    berlin.execute(f"CREATE UNIQUE INDEX ON {table} (v) WHERE at < timestamptz '2020-07-01'")
    berlin.execute(f"ALTER TABLE {table} ADD COLUMN since timestamptz DEFAULT '2020-01-01 12:00'")
    with cluster.store() as store:
        found = store.execute("SELECT statement FROM changes_change WHERE table_name = %s ORDER BY id", [table])
        assert [statement for (statement,) in found] == [
            f"ALTER TABLE {table} ADD CHECK (at >= '2019-12-31 23:00:00+00')",
            f"CREATE UNIQUE INDEX ON {table} (v) WHERE at < timestamptz '2020-06-30 22:00:00+00'",
            f"ALTER TABLE {table} ADD COLUMN since timestamptz DEFAULT '2020-01-01 11:00:00+00'",
        ]


@pytest.mark.parametrize(("before", "after"), [("timestamp", "timestamptz"), ("timestamptz", "timestamp")])
def test_a_type_change_that_reads_the_zone_for_each_row_is_refused_in_another_zone(
    cluster: Cluster, berlin: Connection, worker: object, before: str, after: str
) -> None:
    table = cluster.table(f"id int PRIMARY KEY, at {before}")
    with pytest.raises(psycopg.errors.FeatureNotSupported, match="in time zone Europe/Berlin") as caught:
        berlin.execute(f"ALTER TABLE {table} ALTER at TYPE {after}")
    assert caught.value.diag.message_hint is not None
    assert caught.value.diag.message_hint.startswith("SET TimeZone = 'UTC' first")
    berlin.execute(UTC)
    berlin.execute(f"ALTER TABLE {table} ALTER at TYPE {after}")


@pytest.mark.parametrize(("sql", "rewritten"), [
    pytest.param("SELECT 'é', '2020-01-01'", "SELECT 'é', '2019-12-31 23:00:00+00'", id="behind letters"),
    pytest.param("SELECT 'é', $x$2020-01-01$x$", "SELECT 'é', '2019-12-31 23:00:00+00'", id="in dollars"),
    pytest.param("SELECT 'é', 'another text'", "SELECT 'é', 'another text'", id="another literal at its place"),
])  # fmt: skip
def test_a_literal_is_written_anew_in_its_place(sql: str, rewritten: str) -> None:
    with literals.reading(time_style("Europe/Berlin", "MDY")) as read:
        literals.in_utc(TIMESTAMPTZ, "2020-01-01", len("SELECT 'é', ".encode()))
    assert literals.rewritten(sql, read) == rewritten


@pytest.mark.parametrize("literal", ["2020-01-01 00:00+00", "2020-01-01 00:00"])
def test_in_what_postgres_alone_computes_a_literal_has_its_zone(
    cluster: Cluster, berlin: Connection, literal: str
) -> None:
    """Its place in the text is not known here, so it cannot be written anew."""
    rule = f"jsonb_path_exists(doc, '$.a') AND at > '{literal}'"
    sql = f"CREATE TABLE zones{next(cluster.serial)} (id int PRIMARY KEY, at timestamptz, doc jsonb, CHECK ({rule}))"
    with berlin.transaction(force_rollback=True):
        if "+" in literal:
            berlin.execute(sql)
            return
        with pytest.raises(psycopg.errors.FeatureNotSupported, match="reads otherwise than in UTC and ISO"):
            berlin.execute(sql)
