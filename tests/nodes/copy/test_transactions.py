"""COPY is done as a whole or not at all: in a block, whatever ends it, and under every rule of INSERT."""

import struct
import threading
import time
from collections.abc import Callable
from select import select
from typing import Any

import pytest
from psycopg import errors

from catalog.elements import State
from catalog.values.types import SqlType
from tests.nodes.conftest import SHORT_LEASE_S, Cluster
from tests.nodes.execution.test_states import pair, with_column
from tests.nodes.raw_client import SYNC, Raw, ask, bind, execute, fields, kinds, message, parse, query

ROWS = 3000
"""More than are written at a time."""
DONE = message(b"c")


def data(body: bytes) -> bytes:
    return message(b"d", body)


def lines(count: int, first: int = 1) -> bytes:
    return b"".join(b"%d\t%d\n" % (n, n % 7) for n in range(first, first + count))


def count(connection: Any, table: str) -> int:
    (found,) = connection.execute(f"SELECT count(*) FROM {table}").fetchone()
    return int(found)


def copied(connection: Any, table: str, *pieces: bytes, meanwhile: Callable[[], None] = lambda: None) -> None:
    with connection.cursor().copy(f"COPY {table} FROM STDIN") as copy:
        for piece in pieces:
            copy.write(piece)
        meanwhile()


def many_wide(first: int = 1) -> bytes:
    """More than the node takes from its session at the store before it writes."""
    return b"".join(b"%d\t%s\n" % (n, b"x" * 1000) for n in range(first, first + 6000))


@pytest.fixture
def table(cluster: Cluster) -> str:
    return cluster.table("id int PRIMARY KEY, n int")


def test_rows_come_back_as_they_went(cluster: Cluster, n1: Any, n2: Any, table: str) -> None:
    copied(n1, table, lines(ROWS))
    with n2.cursor().copy(f"COPY (SELECT * FROM {table} ORDER BY id) TO STDOUT") as copy:
        assert b"".join(bytes(piece) for piece in copy) == lines(ROWS)
    assert cluster.violations(table) == []


def test_a_mistake_behind_many_rows_leaves_none(cluster: Cluster, n1: Any, table: str) -> None:
    with pytest.raises(errors.InvalidTextRepresentation) as refusal:
        copied(n1, table, lines(ROWS), b"x\t1\n")
    assert refusal.value.diag.context == f'COPY {table}, line {ROWS + 1}, column id: "x"'
    assert count(n1, table) == 0
    with pytest.raises(errors.UniqueViolation) as refusal:
        copied(n1, table, lines(ROWS), b"7\t1\n")
    assert refusal.value.diag.context == f"COPY {table}, line {ROWS + 1}"
    assert count(n1, table) == 0


def test_a_block_keeps_what_its_savepoint_kept(cluster: Cluster, n1: Any, table: str) -> None:
    with n1.transaction():
        copied(n1, table, lines(ROWS))
        with pytest.raises(errors.UniqueViolation), n1.transaction():
            copied(n1, table, lines(ROWS, ROWS + 1), lines(1))
        copied(n1, table, lines(1, 10_000))
        assert count(n1, table) == ROWS + 1
    assert count(n1, table) == ROWS + 1
    with pytest.raises(errors.UniqueViolation), n1.transaction():
        copied(n1, table, lines(1, 20_000), lines(1))
    assert count(n1, table) == ROWS + 1
    assert cluster.violations(table) == []


def test_statements_of_one_message_are_one_transaction(raw: Raw, n1: Any, table: str) -> None:
    both = f"COPY {table} FROM STDIN; COPY {table} FROM STDIN; SELECT 1"
    found = ask(raw, query(both), data(b"1\t1\n"), DONE, data(b"2\t2\n"), DONE)
    assert kinds(found) == "GCGCTDCZ"
    found = ask(raw, query(both), data(b"3\t3\n"), DONE, data(b"1\t1\n"), DONE)
    assert kinds(found) == "GCGEZ"
    assert count(n1, table) == 2


def test_a_client_may_give_up(raw: Raw, n1: Any, table: str) -> None:
    found = ask(raw, query(f"COPY {table} FROM STDIN"), data(lines(ROWS)), message(b"f", b"no more\0"))
    assert kinds(found) == "GEZ"
    assert fields(found[1][1])["C"] == "57014"
    assert fields(found[1][1])["M"] == "COPY from stdin failed: no more"
    assert kinds(ask(raw, query(f"SELECT count(*) FROM {table} HAVING count(*) = 0"))) == "TDCZ"


def test_the_extended_protocol_copies_too(raw: Raw, n1: Any, table: str) -> None:
    into = (parse(f"COPY {table} FROM STDIN"), bind(), message(b"D", b"P\0"), execute(), SYNC)
    assert kinds(ask(raw, *into, data(b"1\t1\n"), message(b"H"), DONE, SYNC)) == "12nGCZ"
    out = (parse(f"COPY {table} TO STDOUT"), bind(), message(b"D", b"P\0"), execute(), SYNC)
    assert kinds(ask(raw, *out)) == "12nHdcCZ"
    found = ask(raw, *into, data(b"1\t1\n"), data(b"2\t2\n"), DONE, SYNC)
    assert kinds(found) == "12nGEZ"
    assert kinds(ask(raw, query(f"SELECT count(*) FROM {table} HAVING count(*) = 1"))) == "TDCZ"


def test_what_comes_after_an_error_is_read_and_forgotten(raw: Raw, table: str) -> None:
    """A client may find out late: a message of data may even be cut in two by the error."""
    size, sent, some = 8_000_000, 0, b"x\t1\n" * 20_000
    raw.send(query(f"COPY {table} FROM STDIN") + struct.pack("!ci", b"d", 4 + size))
    assert kinds([raw.message()]) == "G"
    while sent < size // 2 and not select([raw.sock], [], [], 0.05)[0]:
        raw.send(some)
        sent += len(some)
    assert kinds(raw.until_ready()) == "EZ"
    raw.send(b"y" * (size - sent))
    assert kinds(ask(raw, data(b"z"), DONE, query("SELECT 1"))) == "TDCZ"


def test_a_notice_amid_the_data_does_not_end_them(cluster: Cluster, n1: Any) -> None:
    table, told = cluster.table("id int PRIMARY KEY, v text"), list[str]()
    n1.add_notice_handler(lambda notice: told.append(notice.message_primary))
    sql = f"COPY {table} FROM STDIN WHERE to_tsvector('simple', v) IS NOT NULL"
    with n1.cursor().copy(sql) as copy:
        copy.write(b"0\t" + b"x" * 3000 + b"\n")
        for part in range(4):
            copy.write(b"".join(b"%d\t%s\n" % (n, b"x y" * 30) for n in range(1 + 1500 * part, 1501 + 1500 * part)))
            time.sleep(0.1)
    assert told == ["word is too long to be indexed"]
    assert count(n1, table) == 6001


def test_a_message_of_another_kind_ends_the_connection(raw: Raw, n1: Any, table: str) -> None:
    found = ask(raw, query(f"COPY {table} FROM STDIN"), data(b"1\t1\n"), query("SELECT 1"))
    assert kinds(found) == "GE"
    assert fields(found[1][1])["M"] == "unexpected message type 0x51 during COPY from stdin"
    assert count(n1, table) == 0


def test_a_client_that_goes_leaves_nothing(cluster: Cluster, n1: Any, table: str) -> None:
    with Raw(cluster.ports["n1"]) as gone:
        gone.startup()
        gone.send(query(f"COPY {table} FROM STDIN") + data(lines(ROWS)))
        assert gone.message() is not None
        held = f"SELECT count(*) FROM schemalab.leases WHERE table_name = '{table}'"
        assert n1.execute(held).fetchone() == (1,)
    n1.execute(f"INSERT INTO {table} VALUES (1, 1)")  # a row that the COPY had written
    assert count(n1, table) == 1


def test_a_cancel_ends_it(cluster: Cluster, n1: Any, table: str) -> None:
    def cancelled() -> None:
        with n1.cursor().copy(f"COPY {table} FROM STDIN") as copy:
            copy.write(lines(ROWS))
            n1.cancel_safe()

    with pytest.raises(errors.QueryCanceled, match="canceling statement due to user request"):
        cancelled()
    assert count(n1, table) == 0


def test_a_refusal_while_rows_still_come_is_told(cluster: Cluster, n1: Any) -> None:
    table = cluster.table("id int PRIMARY KEY, v text")
    n1.execute(f"INSERT INTO {table} VALUES (1, 'here')")
    for _ in range(2):
        with pytest.raises(errors.UniqueViolation) as refusal:
            copied(n1, table, many_wide())
        assert refusal.value.diag.context == f"COPY {table}, line 1"
        with n1.transaction(), pytest.raises(errors.UniqueViolation), n1.transaction():
            copied(n1, table, many_wide())
    assert count(n1, table) == 1


@pytest.mark.parametrize("by", ["statement timeout", "user request"])
def test_it_may_be_ended_while_rows_still_come(cluster: Cluster, n1: Any, n2: Any, by: str) -> None:
    table = cluster.table("id int PRIMARY KEY, v text")
    with n2.transaction(force_rollback=True):
        n2.execute(f"INSERT INTO {table} VALUES (1, 'its COPY waits for this one')")
        cancels = threading.Timer(1, n1.cancel_safe)
        if by == "user request":
            cancels.start()
        else:
            n1.execute("SET statement_timeout = '1s'")
        with pytest.raises(errors.QueryCanceled, match=f"canceling statement due to {by}"):
            copied(n1, table, many_wide())
        n1.execute("RESET statement_timeout")
    assert count(n1, table) == 0


def test_whoever_is_silent_is_disconnected(cluster: Cluster, n1: Any, table: str) -> None:
    with Raw(cluster.ports["n1"]) as silent:
        silent.startup(options="-c idle_in_transaction_session_timeout=300")
        found = ask(silent, query(f"COPY {table} FROM STDIN"), data(b"1\t1\n"))
    assert kinds(found) == "GE"
    assert fields(found[1][1])["C"] == "25P03"
    assert count(n1, table) == 0


def test_a_client_may_send_for_longer_than_a_lease(cluster: Cluster, short: str, n1: Any, table: str) -> None:
    with cluster.connect(short) as slow, slow.cursor().copy(f"COPY {table} FROM STDIN") as copy:
        copy.write(lines(ROWS))
        time.sleep(1.1 * SHORT_LEASE_S)
        copy.write(lines(ROWS, ROWS + 1))
    assert count(n1, table) == 2 * ROWS


def test_data_for_other_columns_is_not_tried_again(cluster: Cluster, short: str, n1: Any) -> None:
    """A column goes and another one comes while a client sends: its field is no value of that one."""
    table = cluster.table("id int PRIMARY KEY, a text, b text")
    kept = tuple(column for column in cluster.descriptor(table).columns if column.name != "a")

    def meanwhile() -> None:
        cluster.publish(cluster.descriptor(table).next_version(columns=kept))
        with_column(cluster, table, State.PUBLIC, of=SqlType.TEXT)

    with cluster.connect(short) as slow, pytest.raises(errors.SerializationFailure, match="the columns changed"):
        copied(slow, table, b"1\tan a\ta b\n", meanwhile=meanwhile)
    assert count(n1, table) == 0
    with cluster.connect(short) as again:
        copied(again, table, b"1\ta b\ta c\n")
    assert n1.execute(f"SELECT id, b, c FROM {table}").fetchall() == [(1, "a b", "a c")]


def test_one_that_is_tried_again_tells_its_notices_once(cluster: Cluster, short: str, n1: Any, table: str) -> None:
    told: list[str] = []

    def meanwhile() -> None:
        cluster.publish(cluster.descriptor(table).next_version())
        cluster.publish(cluster.descriptor(table).next_version())  # once the lease on the first one has ended

    with cluster.connect(short) as slow:
        slow.add_notice_handler(lambda notice: told.append(notice.message_primary))
        with slow.cursor().copy(f"COPY {table} FROM STDIN (ON_ERROR ignore, LOG_VERBOSITY verbose)") as copy:
            copy.write(b"1\t1\nx\t2\n")
            meanwhile()
    assert told == [
        'skipping row due to data type incompatibility at line 2 for column "id": "x"',
        "1 row was skipped due to data type incompatibility",
    ]
    assert count(n1, table) == 1


def test_a_small_one_is_tried_again(cluster: Cluster, n1: Any, n2: Any, table: str) -> None:
    """Two that meet are one after the other, as INSERTs are: the client does not hear of it."""
    failed: list[BaseException] = []

    def many(node: str, first: int) -> None:
        try:
            with cluster.connect(node) as connection:
                for number in range(20):
                    with connection.cursor() as cursor:
                        cursor.execute(f"DELETE FROM {table} WHERE id = 1")
                        with cursor.copy(f"COPY {table} FROM STDIN") as copy:
                            copy.write(lines(2, first + 2 * number))
        except BaseException as error:  # noqa: BLE001 - told below
            failed.append(error)

    threads = [threading.Thread(target=many, args=(node, first)) for node, first in (("n1", 1000), ("n2", 2000))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert count(n1, table) == 80


def test_people_who_only_read_may_copy_out(cluster: Cluster, n1: Any, table: str) -> None:
    n1.execute(f"INSERT INTO {table} VALUES (1, 1)")
    with n1.transaction():
        n1.execute("SET TRANSACTION READ ONLY")
        with n1.cursor().copy(f"COPY {table} TO STDOUT") as copy:
            assert [bytes(row) for row in copy] == [b"1\t1\n"]
        with pytest.raises(errors.ReadOnlySqlTransaction, match="cannot execute COPY FROM in a read-only"), \
                n1.transaction(), n1.cursor().copy(f"COPY {table} FROM STDIN"):  # fmt: skip
            pass


# -- the rules of INSERT


def test_rows_may_refer_to_rows_that_come_later(cluster: Cluster, n1: Any) -> None:
    table = cluster.table("id int PRIMARY KEY, boss int REFERENCES staff", name="staff")
    copied(n1, table, b"".join(b"%d\t%d\n" % (n, ROWS) for n in range(1, ROWS + 1)))
    assert count(n1, table) == ROWS
    with pytest.raises(errors.ForeignKeyViolation) as refusal:
        copied(n1, table, b"".join(b"%d\t%d\n" % (n, 77_777) for n in range(10_001, 12_000)))
    assert refusal.value.diag.message_detail == f'Key (boss)=(77777) is not present in table "{table}".'
    assert count(n1, table) == ROWS
    assert cluster.violations(table) == []


def test_rows_refer_to_another_table(cluster: Cluster, n1: Any) -> None:
    table, child = f"parent{next(cluster.serial)}", f"child{next(cluster.serial)}"
    with n1.transaction():
        n1.execute(f"CREATE TABLE {table} (id int PRIMARY KEY, n int)")
        n1.execute(f"CREATE TABLE {child} (id int PRIMARY KEY, of int REFERENCES {table})")
    copied(n1, table, lines(10))
    copied(n1, child, b"1\t1\n2\t\\N\n3\t10\n")
    with pytest.raises(errors.ForeignKeyViolation):
        copied(n1, child, b"4\t11\n")
    assert count(n1, child) == 3


def test_numbers_are_given_and_taken(cluster: Cluster, n1: Any) -> None:
    table = cluster.table("id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, w text DEFAULT 'none', u text UNIQUE")
    with n1.cursor().copy(f"COPY {table} (u) FROM STDIN") as copy:
        copy.write(b"a\nb\n")
    with n1.cursor().copy(f"COPY {table} (id, u) FROM STDIN") as copy:
        copy.write(b"1000000\tc\n")
    rows = n1.execute(f"SELECT id, w, u FROM {table} ORDER BY u").fetchall()
    assert [row[1:] for row in rows] == [("none", "a"), ("none", "b"), ("none", "c")]
    assert rows[0][0] < rows[1][0] < rows[2][0] == 1_000_000
    with n1.cursor().copy(f"COPY {table} (id, u) FROM STDIN (DEFAULT 'D')") as copy:
        copy.write(b"D\te\n2000000\tf\n")
    ((given,), (taken,)) = n1.execute(f"SELECT id FROM {table} WHERE u IN ('e', 'f') ORDER BY u").fetchall()
    assert rows[1][0] < given < taken == 2_000_000
    n1.execute(f"DELETE FROM {table} WHERE u IN ('e', 'f')")
    with pytest.raises(errors.UniqueViolation, match=f"{table}_u_key"), \
            n1.cursor().copy(f"COPY {table} (u) FROM STDIN") as copy:  # fmt: skip
        copy.write(b"d\nc\n")
    assert count(n1, table) == 3


def test_a_write_only_column_takes_its_default(cluster: Cluster, n1: Any) -> None:
    table = cluster.table("id int primary key, a int, b text")
    with_column(cluster, table, State.WRITE_ONLY, added_with_default=True, default="7")
    copied(n1, table, b"1\t10\tone\n")
    assert [pair(cluster, table, 1, column) for column in (2, 3, 4)] == [10, "one", 7]
    with pytest.raises(errors.UndefinedColumn, match="write-only"), \
            n1.cursor().copy(f"COPY {table} (id, c) FROM STDIN"):  # fmt: skip
        pass


OF_SESSION = (
    "current_user", "session_user", "user", "current_role", "current_catalog", "current_schema", "version()",
    "current_database()", "pg_backend_pid()", "current_setting('TimeZone')", "'x' || current_user",
    "current_schemas(true)",
)  # fmt: skip


def test_values_of_the_session_are_defaults_as_of_an_insert(cluster: Cluster, n1: Any) -> None:
    table = f"session{next(cluster.serial)}"
    columns = ", ".join(f"c{n} text DEFAULT {value}" for n, value in enumerate(OF_SESSION[:-1]))
    with n1.transaction():
        n1.execute(f"CREATE TABLE {table} (id int PRIMARY KEY, {columns})")
    with n1.cursor().copy(f"COPY {table} (id) FROM STDIN") as copy:
        copy.write(b"1\n")
    n1.execute(f"INSERT INTO {table} (id) VALUES (2)")
    copied_row, inserted = n1.execute(f"SELECT * FROM {table} ORDER BY id").fetchall()
    assert copied_row[1:] == inserted[1:]


@pytest.mark.parametrize("value", OF_SESSION)
def test_values_of_the_session_stand_in_a_condition(cluster: Cluster, n1: Any, table: str, value: str) -> None:
    (found,) = n1.execute(f"SELECT ({value})::text").fetchone()
    for number, other in enumerate((found, "other")):
        with n1.cursor().copy(f"COPY {table} FROM STDIN WHERE ({value})::text = '{other}'") as copy:
            copy.write(b"%d\t1\n" % number)
    assert n1.execute(f"SELECT id FROM {table}").fetchall() == [(0,)]


@pytest.mark.parametrize("kind", ["text", "varchar", "bytea", "jsonb", "text[]"])
def test_a_long_value_is_refused_with_its_line(cluster: Cluster, n1: Any, kind: str) -> None:
    table = cluster.table(f"id int PRIMARY KEY, v {kind}")
    begin, end = {"jsonb": (b'"', b'"'), "text[]": (b"{", b"}")}.get(kind, (b"", b""))
    with pytest.raises(errors.ProgramLimitExceeded) as refusal:
        copied(n1, table, b"1\t" + begin + end + b"\n" if kind != "jsonb" else b"1\t1\n",
               b"2\t" + begin, *[b"x" * 2**19] * 3, end + b"\n")  # fmt: skip
    assert refusal.value.diag.context == f"COPY {table}, line 2"
    assert count(n1, table) == 0


def test_a_long_value_that_is_wrong_is_not_quoted(cluster: Cluster, n1: Any, table: str) -> None:
    for column in (b"1\t", b""):
        with pytest.raises(errors.ProgramLimitExceeded, match="a value may have at most"):
            copied(n1, table, column, *[b"x" * 2**20] * 5, b"\n")


def test_a_line_without_an_end_is_refused(cluster: Cluster, n1: Any, table: str) -> None:
    with pytest.raises(errors.ProgramLimitExceeded, match="a line of COPY's data may have at most"):
        copied(n1, table, *[b"x" * 2**20] * 20)
    assert count(n1, table) == 0


def test_a_trace_tells_of_it(n1: Any, table: str) -> None:
    told: list[str] = []
    n1.add_notice_handler(lambda notice: told.append(notice.message_primary.partition(";")[0]))
    n1.execute("SET schemalab.trace = on")
    copied(n1, table, lines(3))
    assert told[-1] == f"insert: {table} v1"


def test_what_is_sent_for_a_table_that_is_not_there_is_dropped(raw: Raw, n1: Any, table: str) -> None:
    """psql reads a dump: what comes for one table may not become statements, and the next COPY counts."""
    assert kinds(ask(raw, query("COPY nowhere FROM STDIN"))) == "EZ", "other clients hear at once"
    ask(raw, query("SET application_name = 'psql'"))
    found = ask(raw, query("COPY nowhere FROM STDIN"), data(lines(ROWS)), DONE)
    assert kinds(found) == "GEZ"
    assert fields(found[1][1])["C"] == "42P01"
    found = ask(raw, query("COPY nowhere FROM STDIN (FORMAT binary)"), data(b"1"), message(b"f", b"no more\0"))
    assert (found[0][1][:1], fields(found[1][1])["C"]) == (b"\1", "42P01")
    assert kinds(ask(raw, query(f"COPY {table} FROM STDIN"), data(b"1\t1\n"), DONE)) == "GCZ"
    assert count(n1, table) == 1


def test_in_a_block_a_table_that_is_not_there_is_refused_at_once(raw: Raw) -> None:
    """The block may hold versions, which nobody waits for while data comes that is dropped."""
    ask(raw, query("SET application_name = 'psql'"))
    assert kinds(ask(raw, query("BEGIN"))) == "CZ"
    assert kinds(ask(raw, query("COPY nowhere FROM STDIN"))) == "EZ"
