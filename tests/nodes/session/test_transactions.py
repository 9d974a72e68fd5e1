"""Transactions of a node (protocol.md, section 6): what may commit, what may not, and what the client is told."""

import signal
import threading
import time
from typing import Any

import psycopg
import pytest
from psycopg import errors

from tests.nodes.conftest import SHORT_LEASE_S, Cluster


def balances(cluster: Cluster) -> str:
    table = cluster.table("id int primary key, amount int not null")
    with cluster.connect() as connection:
        connection.execute(f"INSERT INTO {table} VALUES (1, 100), (2, 100)")
    return table


def begin(connection: "psycopg.Connection[Any]") -> "psycopg.Connection[Any]":
    connection.execute("BEGIN")
    return connection


# -- serializability


def test_write_skew_does_not_commit_on_both_sides(cluster: Cluster, n1: Any, n2: Any) -> None:
    """T1: each reads both rows and writes the other one; on different nodes."""
    table = balances(cluster)
    for connection in (begin(n1), begin(n2)):
        assert connection.execute(f"SELECT sum(amount) FROM {table}").fetchone() == (200,)
    n1.execute(f"UPDATE {table} SET amount = amount - 150 WHERE id = 1")
    outcomes = [outcome(n2, f"UPDATE {table} SET amount = amount - 150 WHERE id = 2")]
    outcomes += [outcome(n1, "COMMIT"), outcome(n2, "COMMIT")]
    assert "40001" in outcomes, outcomes
    n2.execute("ROLLBACK")
    (total,) = n1.execute(f"SELECT sum(amount) FROM {table}").fetchone()
    assert total == 50, "one of the two withdrawals happened"


def outcome(connection: "psycopg.Connection[Any]", sql: str) -> str | None:
    """The code a statement fails with, if it does."""
    try:
        connection.execute(sql)
    except psycopg.Error as error:
        return error.sqlstate
    return None


def test_a_phantom_is_noticed(cluster: Cluster, n1: Any, n2: Any) -> None:
    """T6: ranges are locked, rows that are not there yet included."""
    table = cluster.table("id int primary key, kind text")
    for connection, number in ((begin(n1), 1), (begin(n2), 2)):
        assert connection.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,)
        connection.execute(f"INSERT INTO {table} VALUES ({number}, 'only')")
    n1.execute("COMMIT")
    with pytest.raises(errors.SerializationFailure):
        n2.execute("COMMIT")


def test_two_tables_that_are_updated_from_each_other_are_so_one_after_the_other(
    cluster: Cluster, n1: Any, n2: Any
) -> None:
    """T6: what FROM reads counts as read. Both side by side would exchange the values."""
    one, other = (cluster.table("id int primary key, a int") for _ in range(2))
    n1.execute(f"INSERT INTO {one} VALUES (1, 1)")
    n1.execute(f"INSERT INTO {other} VALUES (1, 2)")
    begin(n1).execute(f"UPDATE {one} x SET a = y.a FROM {other} y WHERE y.id = x.id")
    codes = [outcome(begin(n2), f"UPDATE {other} x SET a = y.a FROM {one} y WHERE y.id = x.id")]
    codes += [outcome(connection, "COMMIT") for connection in (n1, n2)]
    assert "40001" in codes
    assert n1.execute(f"SELECT a FROM {one}").fetchone() == n1.execute(f"SELECT a FROM {other}").fetchone()


def test_rows_that_few_others_say_are_read_by_key(cluster: Cluster, n1: Any, n2: Any) -> None:
    """T6: two statements about rows far apart would both be refused a commit if they read the whole table."""
    table = cluster.table("id int primary key, n int unique, a int")
    n1.execute(f"INSERT INTO {table} SELECT g, g, 0 FROM generate_series(1, 20000) g")
    for sql in (
        "UPDATE {} t SET a = v.a FROM (VALUES ({}, 7)) v(id, a) WHERE t.id = v.id",
        "DELETE FROM {} t USING (VALUES ({})) v(n) WHERE t.n = v.n",
    ):
        begin(n1).execute(sql.format(table, 100))
        begin(n2).execute(sql.format(table, 19900))
        assert [outcome(connection, "COMMIT") for connection in (n1, n2)] == [None, None], sql


def test_two_updates_of_one_row_do_not_lose_one(cluster: Cluster, n1: Any, n2: Any) -> None:
    table = balances(cluster)
    begin(n1).execute(f"SELECT amount FROM {table} WHERE id = 1")
    begin(n2).execute(f"SELECT amount FROM {table} WHERE id = 1")
    n1.execute(f"UPDATE {table} SET amount = amount + 1 WHERE id = 1")
    n1.execute("COMMIT")
    with pytest.raises(errors.SerializationFailure):
        n2.execute(f"UPDATE {table} SET amount = amount + 1 WHERE id = 1")
    n2.execute("ROLLBACK")
    assert n2.execute(f"SELECT amount FROM {table} WHERE id = 1").fetchone() == (101,)


@pytest.mark.parametrize("sql", [
    pytest.param("UPDATE {} SET amount = amount + 1 WHERE id = 1", id="of one table"),
    pytest.param("UPDATE {0} a SET amount = b.amount + 1 FROM {0} b WHERE a.id = 1 AND b.id = 1", id="of a join"),
])  # fmt: skip
def test_single_statements_are_retried_by_the_node(cluster: Cluster, sql: str) -> None:
    """T7: many clients add to one row and none of them ever sees 40001."""
    table = balances(cluster)
    failures: list[Exception] = []

    def add(node: str) -> None:
        try:
            with cluster.connect(node) as connection:
                for _ in range(15):
                    connection.execute(sql.format(table))
        except psycopg.Error as error:
            failures.append(error)

    threads = [threading.Thread(target=add, args=(node,)) for node in ("n1", "n2")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    with cluster.connect() as connection:
        assert connection.execute(f"SELECT amount FROM {table} WHERE id = 1").fetchone() == (130,)


def test_a_transaction_reads_its_own_writes_and_others_do_not(cluster: Cluster, n1: Any, n2: Any) -> None:
    table = balances(cluster)
    begin(n1).execute(f"INSERT INTO {table} VALUES (3, 5)")
    assert n1.execute(f"SELECT count(*), sum(amount) FROM {table}").fetchone() == (3, 205)
    assert n2.execute(f"SELECT count(*), sum(amount) FROM {table}").fetchone() == (2, 200)
    n1.execute("COMMIT")
    assert n2.execute(f"SELECT count(*), sum(amount) FROM {table}").fetchone() == (3, 205)


# -- leases and deadlines


def hold(cluster: Cluster, table: str, node: str) -> "psycopg.Connection[Any]":
    connection = cluster.connect(node)
    connection.execute("BEGIN")
    connection.execute(f"UPDATE {table} SET amount = 0 WHERE id = 1")
    return connection


COMMITS_AFTER_S = {"frozen_early": None, "frozen_thawing": 0.0, "frozen_late": 0.3}
"""Nodes by name: a COMMIT is sent while a node is frozen, as it thaws, or when it has ended."""


def test_a_frozen_node_that_thaws_cannot_commit(cluster: Cluster) -> None:
    """T4, L10: its lease ran out, its session at the store is gone, and the node goes with code 75. There are three of
    them, so that they start, and their leases run out, side by side."""
    tables = {node: balances(cluster) for node in COMMITS_AFTER_S}
    for node in COMMITS_AFTER_S:
        cluster.begin_to_start(node, lease_s=2)
    for node in COMMITS_AFTER_S:
        cluster.wait_until_started(node)
    held = {node: hold(cluster, table, node) for node, table in tables.items()}
    for node in held:
        cluster.processes[node].send_signal(signal.SIGSTOP)
    wait_for_no_session(cluster, "schemalab node frozen_")
    for node, connection in held.items():
        process, after_s = cluster.processes[node], COMMITS_AFTER_S[node]
        if after_s is None:
            connection.pgconn.send_query(b"COMMIT")
        process.send_signal(signal.SIGCONT)
        if after_s is not None:
            time.sleep(after_s)
            connection.pgconn.send_query(b"COMMIT")
        answer = connection.pgconn.get_result()
        assert answer is not None
        code = answer.error_field(psycopg.pq.DiagnosticField.SQLSTATE)
        assert code == b"40001", f"{node}: {answer.error_message.decode()}"
        connection.close()
        assert process.wait(10) == 75
        del cluster.processes[node]
    with cluster.connect() as healthy:
        for table in tables.values():
            assert healthy.execute(f"SELECT amount FROM {table} WHERE id = 1").fetchone() == (100,)


def wait_for_no_session(cluster: Cluster, prefix: str) -> None:
    """Until no transaction of a session with such a name is left at the store."""
    question = (
        "SELECT count(*) FROM pg_stat_activity WHERE starts_with(application_name, %s) AND xact_start IS NOT NULL"
    )
    with cluster.store() as store:
        deadline = time.monotonic() + 20
        while store.execute(question, [prefix]).fetchone() != (0,):
            assert time.monotonic() < deadline, "the deadline did not end the transaction"
            time.sleep(0.05)


def test_a_revoked_lease_ends_the_transaction_and_says_so(cluster: Cluster, n1: Any) -> None:
    """L10: the node serves on."""
    table = balances(cluster)
    begin(n1).execute(f"UPDATE {table} SET amount = 0 WHERE id = 1")
    with cluster.store() as store:
        store.execute("SELECT lease_revoke((SELECT id FROM catalog_table WHERE name = %s), 'n1')", [table])
    with pytest.raises(errors.SerializationFailure, match="the transaction had to end"):
        n1.execute(f"SELECT amount FROM {table} WHERE id = 1")
    assert n1.info.transaction_status == psycopg.pq.TransactionStatus.INERROR
    n1.execute("ROLLBACK")
    assert n1.execute(f"SELECT amount FROM {table} WHERE id = 1").fetchone() == (100,)


def test_a_renewed_lease_moves_the_deadline(cluster: Cluster, short: str) -> None:
    """T4: a transaction outlives the lease it began under, because it does something now and then."""
    table = balances(cluster)
    with cluster.connect(short) as connection:
        connection.execute("BEGIN")
        began = time.monotonic()
        while time.monotonic() - began < 1.1 * SHORT_LEASE_S:
            connection.execute(f"UPDATE {table} SET amount = 7 WHERE id = 1")
            time.sleep(0.2 * SHORT_LEASE_S)
        connection.execute("COMMIT")
        assert connection.execute(f"SELECT amount FROM {table} WHERE id = 1").fetchone() == (7,)


def test_savepoints_enter_again(cluster: Cluster, n1: Any) -> None:
    """T5: lock and deadline are held again after ROLLBACK TO."""
    table = balances(cluster)
    begin(n1).execute("SAVEPOINT a")
    n1.execute(f"UPDATE {table} SET amount = 1 WHERE id = 1")
    n1.execute("ROLLBACK TO a")
    with cluster.store() as store:
        held = store.execute(
            "SELECT count(*) FROM pg_locks l JOIN catalog_table t ON t.id = l.classid::bigint"
            " WHERE l.locktype = 'advisory' AND t.name = %s AND l.mode = 'ShareLock'", [table],
        ).fetchone()  # fmt: skip
    assert held == (1,)
    n1.execute(f"UPDATE {table} SET amount = amount + 1 WHERE id = 1")
    n1.execute("COMMIT")
    assert n1.execute(f"SELECT amount FROM {table} WHERE id = 1").fetchone() == (101,)


# -- sessions that are lost


def test_a_session_lost_in_a_transaction_is_reported_and_undone(cluster: Cluster, n1: Any) -> None:
    table = balances(cluster)
    begin(n1).execute(f"UPDATE {table} SET amount = 0 WHERE id = 1")
    with cluster.store() as store:
        store.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE application_name LIKE 'schemalab node n1 %' AND state = 'idle in transaction'"
        )
    with pytest.raises(errors.SerializationFailure, match="ended from outside"):
        n1.execute("COMMIT")
    assert n1.execute(f"SELECT amount FROM {table} WHERE id = 1").fetchone() == (100,)


def test_a_client_that_leaves_takes_its_transaction_with_it(cluster: Cluster, n2: Any) -> None:
    table = balances(cluster)
    gone = cluster.connect("n1")
    gone.execute("BEGIN")
    gone.execute(f"UPDATE {table} SET amount = 0 WHERE id = 1")
    gone.close()
    n2.execute(f"UPDATE {table} SET amount = 7 WHERE id = 1")
    assert n2.execute(f"SELECT amount FROM {table} WHERE id = 1").fetchone() == (7,)


@pytest.mark.soak
def test_a_node_told_to_stop_goes_in_good_order(cluster: Cluster) -> None:
    cluster.start("leaving")
    connection = cluster.connect("leaving")
    assert cluster.stop("leaving") == 0
    with pytest.raises(psycopg.OperationalError, match="terminating connection due to administrator command"):
        connection.execute("SELECT 1")
    with cluster.store() as store:
        assert store.execute("SELECT state FROM leases_node WHERE name = 'leaving'").fetchone() == ("down",)
        assert store.execute("SELECT count(*) FROM leases_lease WHERE node = 'leaving'").fetchone() == (0,)


# -- tables made inside a transaction (T9)


def test_a_table_made_inside_is_unknown_to_others_until_commit(cluster: Cluster, n1: Any, n2: Any) -> None:
    begin(n1).execute("CREATE TABLE inside (id int primary key, note text)")
    n1.execute("INSERT INTO inside VALUES (1, 'mine')")
    assert n1.execute("SELECT note FROM inside").fetchone() == ("mine",)
    with pytest.raises(errors.UndefinedTable):
        n2.execute("SELECT * FROM inside")
    n2.execute("BEGIN")
    with pytest.raises(errors.DuplicateTable):
        n2.execute("CREATE TABLE inside (id int primary key)")
    n2.execute("ROLLBACK")
    n1.execute("COMMIT")
    assert n2.execute("SELECT note FROM inside").fetchone() == ("mine",)


def test_its_name_is_free_again_after_rollback(cluster: Cluster, n1: Any, n2: Any) -> None:
    begin(n1).execute("CREATE TABLE undone (id int primary key)")
    n1.execute("ROLLBACK")
    begin(n2).execute("CREATE TABLE undone (id bigint primary key)")
    n2.execute("COMMIT")
    assert n1.execute("SELECT count(*) FROM undone").fetchone() == (0,)


def test_other_ddl_in_a_transaction_is_refused_by_name(cluster: Cluster, n1: Any) -> None:
    table = balances(cluster)
    begin(n1)
    with pytest.raises(errors.FeatureNotSupported, match="DROP TABLE inside a transaction is not supported"):
        n1.execute(f"DROP TABLE {table}")
    n1.execute("ROLLBACK")


# -- limits


def test_a_statement_timeout_ends_a_statement_not_the_session(cluster: Cluster, n1: Any) -> None:
    n1.execute("SET statement_timeout = '200ms'")
    with pytest.raises(errors.QueryCanceled, match="statement timeout"):
        n1.execute("SELECT count(*) FROM generate_series(1, 100000) a, generate_series(1, 100000) b")
    n1.execute("RESET statement_timeout")
    assert n1.execute("SELECT 1").fetchone() == (1,)


def test_a_query_that_needs_too_much_memory_is_refused(cluster: Cluster, n1: Any) -> None:
    with pytest.raises(errors.OutOfMemory):
        n1.execute("SELECT length(string_agg(repeat('x', 1000000), '')) FROM generate_series(1, 900)")
    assert n1.execute("SELECT 1").fetchone() == (1,)
