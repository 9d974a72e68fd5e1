"""CREATE TABLE AS and SELECT INTO outside of a block: one transaction, seen by all nodes at once or by nobody."""

import asyncio
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import psycopg
import pytest
from psycopg import errors

from nodes.clients.portals import Portal, Prepared
from nodes.session.database_thread import StoreBusy
from nodes.session.schema.tables_of_queries import TablesOfQueries
from nodes.sql.statements import parse
from nodes.sql.tables_of_queries import table_of_query
from tests.nodes.conftest import Cluster
from tests.nodes.ddl import table_of_two_rows, told


def test_the_rows_are_there_with_the_table(cluster: Cluster, n1: Any, n2: Any) -> None:
    table = table_of_two_rows(cluster)
    made = f"{table}_made"
    assert n1.execute(f"CREATE TABLE {made} AS SELECT a, b FROM {table}").statusmessage == "SELECT 2"
    assert n2.execute(f"SELECT * FROM {made} ORDER BY a").fetchall() == [(10, "one"), (20, "two")]
    assert cluster.violations(made) == []
    again = f"CREATE TABLE IF NOT EXISTS {made} AS SELECT 1 / 0 AS a"
    assert told(n2, again) == [("NOTICE", "42P07", f'relation "{made}" already exists, skipping')]
    with pytest.raises(errors.DuplicateTable):
        n1.execute(f"SELECT a INTO {made} FROM {table}")


def test_parameters_and_options(cluster: Cluster, n1: Any) -> None:
    made = f"made{next(cluster.serial)}"
    query = (
        "SELECT i + %s, %s::varchar(4), 1.5::numeric(7, 2), i * 1.5, 'x'::char(2), current_timestamp(3),"
        " localtimestamp::timestamp(0), localtime(2) FROM generate_series(1, 3) i"
    )
    create = f"CREATE TABLE {made} (n, t) WITH (sharding_key = 'n') AS {query}"
    assert n1.execute(create, (5, "abc")).statusmessage == "SELECT 3"
    assert n1.execute(f"SELECT n, t FROM {made} WHERE n = 7").fetchall() == [(7, "abc")]
    assert cluster.descriptor(made).placement.sharding_key
    assert [c.type_name for c in cluster.descriptor(made).public_columns] == [
        "integer",
        "varchar(4)",
        "numeric(7,2)",
        "numeric",
        "char(2)",
        "timestamptz(3)",
        "timestamp(0)",
        "time(2)",
    ]
    assert cluster.violations(made) == []


@pytest.mark.parametrize(("query", "refusal"), [
    ("SELECT 10 / (i - 3) AS q FROM generate_series(1, 5) AS i", errors.DivisionByZero),
    ("SELECT nothing", errors.UndefinedColumn),
    ("SELECT ARRAY[ARRAY[1], ARRAY[2]] AS q", errors.FeatureNotSupported),
    pytest.param("SELECT i AS q FROM generate_series(1, 200001) AS i", errors.ProgramLimitExceeded,
        marks=pytest.mark.soak),
])  # fmt: skip
def test_what_fails_leaves_nothing_and_the_name_is_free(
    cluster: Cluster, n1: Any, n2: Any, query: str, refusal: type[psycopg.Error]
) -> None:
    made = f"made{next(cluster.serial)}"
    with pytest.raises(refusal):
        n1.execute(f"CREATE TABLE {made} AS {query}")
    assert n1.info.transaction_status == psycopg.pq.TransactionStatus.IDLE
    assert n2.execute(f"CREATE TABLE {made} AS SELECT 1 AS a").statusmessage == "SELECT 1"


def test_in_a_block_it_is_undone_with_it(cluster: Cluster, n1: Any, n2: Any) -> None:
    made = f"made{next(cluster.serial)}"
    with n1.transaction(force_rollback=True):
        n1.execute(f"SELECT 1 AS a INTO {made}")
        assert n1.execute(f"TABLE {made}").fetchall() == [(1,)]
    with pytest.raises(errors.UndefinedTable):
        n2.execute(f"TABLE {made}")
    n1.execute("SET default_transaction_read_only = on")
    with pytest.raises(errors.ReadOnlySqlTransaction, match="a schema change"):
        n1.execute(f"SELECT 1 AS a INTO {made}")


def test_among_other_statements_of_a_message_it_is_undone_with_them(cluster: Cluster, n1: Any) -> None:
    made = f"made{next(cluster.serial)}"
    with pytest.raises(errors.DivisionByZero):
        n1.execute(f"CREATE TABLE {made} AS SELECT 1 AS a; SELECT 1 / 0")
    with pytest.raises(errors.UndefinedTable):
        n1.execute(f"SELECT * FROM {made}")


def test_a_store_that_is_slow_is_named() -> None:
    """Nothing was stored, and the client may try again."""

    async def nothing(*_: object) -> tuple[()]:
        return ()

    async def busy(*_: object) -> None:
        raise StoreBusy

    tables_made = SimpleNamespace(change=busy)
    block: Any = SimpleNamespace(is_open=False, current=lambda: None, new_tables=tables_made, refusing=nullcontext)
    schema: Any = SimpleNamespace()
    [statement] = parse("CREATE TABLE t AS SELECT")
    made = table_of_query(statement)
    assert made is not None
    tables = TablesOfQueries(SimpleNamespace(columns_in_block=nothing), schema, block)  # type: ignore[arg-type]
    with pytest.raises(StoreBusy):
        asyncio.run(tables.make(Portal(Prepared("", statement)), made, alone=True))
