"""Schema changes inside a transaction: of the tables that it has made at once, of others refused, or by themselves."""

from collections.abc import Iterator

import psycopg
import pytest
from psycopg import errors

from tests.nodes.conftest import Cluster

SECTIONS = (
    "CREATE TABLE {a} (id int PRIMARY KEY, code text UNIQUE, n int)",
    "CREATE TABLE {b} (id int PRIMARY KEY, a int REFERENCES {a}, code text, CONSTRAINT {b}_low CHECK (id < 100))",
)


@pytest.fixture
def names(cluster: Cluster) -> Iterator[dict[str, str]]:
    number = next(cluster.serial)
    names = {"a": f"a{number}", "b": f"b{number}"}
    yield names
    with cluster.store() as store:
        store.execute("DROP TABLE IF EXISTS {b}, {a}".format(**names))


def run(connection: "psycopg.Connection", names: dict[str, str], *statements: str) -> None:
    for statement in statements:
        connection.execute(statement.format(**names))


def test_t9_a_migration_makes_its_tables_indexes_and_constraints_in_one_transaction(cluster, names) -> None:
    with cluster.connect() as connection, connection.transaction():
        run(
            connection, names, *SECTIONS,
            "CREATE INDEX {b}_code ON {b} (code)",
            "ALTER TABLE {b} ADD CONSTRAINT {b}_by_code FOREIGN KEY (code) REFERENCES {a} (code)",
            "ALTER TABLE {a} ADD COLUMN note text DEFAULT 'none' NOT NULL",
            "ALTER TABLE {a} ALTER n SET NOT NULL",
            "INSERT INTO {a} VALUES (1, 'x', 5)",
            "INSERT INTO {b} VALUES (10, 1, 'x')",
        )  # fmt: skip
    with cluster.connect("n2") as other:
        assert other.execute("SELECT * FROM {a}".format(**names)).fetchall() == [(1, "x", 5, "none")]
        with pytest.raises(errors.ForeignKeyViolation):
            run(other, names, "INSERT INTO {b} VALUES (11, 2, 'x')")
        with pytest.raises(errors.ForeignKeyViolation):
            run(other, names, "DELETE FROM {a}")
        with pytest.raises(errors.NotNullViolation):
            run(other, names, "INSERT INTO {a} (id) VALUES (7)")
        found = other.execute("SELECT id FROM {b} WHERE code = 'x'".format(**names)).fetchall()
        assert found == [(10,)]
    for name in names.values():
        assert cluster.violations(name) == []


REWRITES = [
    ("CREATE INDEX ON {a} (n)", None),
    ("CREATE UNIQUE INDEX ON {a} (n)", errors.UniqueViolation),
    ("CREATE UNIQUE INDEX ON {a} (id, n)", None),
    ("ALTER TABLE {a} ADD UNIQUE (n)", errors.UniqueViolation),
    ("ALTER TABLE {a} ADD CHECK (n > 0)", None),
    ("ALTER TABLE {a} ADD CHECK (n > 5)", errors.CheckViolation),
    ("ALTER TABLE {a} ALTER code SET NOT NULL", errors.NotNullViolation),
    ("ALTER TABLE {a} ADD FOREIGN KEY (n) REFERENCES {a}", errors.ForeignKeyViolation),
    ("ALTER TABLE {a} ADD m int NOT NULL DEFAULT 3", None),
    ("ALTER TABLE {a} ADD m int", None),
    ("ALTER TABLE {a} DROP COLUMN n", None),
    ("ALTER TABLE {a} DROP CONSTRAINT {a}_code_key", None),
    ("ALTER TABLE {a} ALTER n TYPE text", None),
    ("ALTER TABLE {a} ALTER n TYPE bigint", None),
    ("ALTER TABLE {a} ALTER n TYPE varchar(1)", None),
    ("ALTER TABLE {a} ALTER code TYPE varchar", None),
    ("ALTER TABLE {a} ADD k text; UPDATE {a} SET k = 'xy  '; ALTER TABLE {a} ALTER k TYPE varchar(2)", None),
    ("ALTER TABLE {a} ADD k text; UPDATE {a} SET k = 'xy  '; ALTER TABLE {a} ALTER k TYPE char(3)", None),
    ("ALTER TABLE {a} ADD k text; UPDATE {a} SET k = 'xyz'; ALTER TABLE {a} ALTER k TYPE char(2) USING k::char(2)",
        None),
    ("ALTER TABLE {a} ADD k text; UPDATE {a} SET k = 'xyz'; ALTER TABLE {a} ALTER k TYPE varchar(2)",
        errors.StringDataRightTruncation),
    ("ALTER TABLE {a} ADD m varchar(3) DEFAULT 'xyz', ADD k char(2) DEFAULT 'a'", None),
    ("ALTER TABLE {a} ADD k timestamp(3) DEFAULT '2024-01-01 00:00:00.1235', ADD m time(0) DEFAULT '9:00:00.5'", None),
    (
        "ALTER TABLE {a} ADD k timestamp; UPDATE {a} SET k = '1999-12-31 23:59:59.5'; ALTER TABLE {a} ALTER k TYPE"
        " timestamp(0)",
        None,
    ),
    (
        "ALTER TABLE {a} ADD k text; UPDATE {a} SET k = '2024-01-01 00:00:00.1235'; ALTER TABLE {a} ALTER k TYPE"
        " timestamp(3) USING k::timestamp(3)",
        None,
    ),
    (
        "ALTER TABLE {a} ADD k timestamptz(1); UPDATE {a} SET k = '2024-01-01 00:00:00.15Z'; ALTER TABLE {a} ALTER k"
        " TYPE timestamptz(0); ALTER TABLE {a} ALTER k TYPE timestamptz(3)",
        None,
    ),
    ("ALTER TABLE {a} RENAME n TO m", None),
    ("ALTER TABLE {a} RENAME TO {b}", None),
]  # fmt: skip


@pytest.mark.parametrize(("statement", "refusal"), REWRITES)
def test_t9_rows_that_are_there_are_as_postgresql_has_them(cluster, names, statement, refusal) -> None:
    """The same transaction against the real server: the same code, or the same rows."""
    rows = "INSERT INTO {a} VALUES (1, 'x', 5), (2, NULL, 5)"
    found = []
    for connect in (cluster.connect, cluster.store):
        with connect() as connection:
            read = "SELECT * FROM {b}" if "TO {b}" in statement else "SELECT * FROM {a}"
            try:
                with connection.transaction():
                    run(connection, names, SECTIONS[0], rows, statement)
                    inside = connection.execute(read.format(**names)).fetchall()
            except psycopg.Error as error:
                found.append(type(error))
            else:
                found.append(connection.execute(read.format(**names)).fetchall())
                assert found[-1] == inside
    assert found[0] == found[1]
    assert found[0] is refusal or refusal is None
    if refusal is None:
        assert cluster.violations(names["b"] if "TO {b}" in statement else names["a"]) == []


def test_t9_a_rollback_leaves_nothing(cluster, names) -> None:
    for _ in range(2):
        with cluster.connect() as connection:
            connection.execute("BEGIN")
            run(connection, names, *SECTIONS, "CREATE INDEX {b}_code ON {b} (code)", "DROP TABLE {b}")
            connection.execute("ROLLBACK")
    taken = cluster.read("SELECT count(*) FROM changes_reservation")
    assert taken == [(0,)]


def test_t9_a_return_to_a_savepoint_takes_back_tables_and_changes(cluster, names) -> None:
    with cluster.connect() as connection:
        connection.execute("BEGIN")
        run(
            connection, names, SECTIONS[0], "INSERT INTO {a} VALUES (1, 'x', 5)", "SAVEPOINT s", SECTIONS[1],
            "ALTER TABLE {a} ADD m int", "INSERT INTO {a} VALUES (2, 'y', 5, 5)", "ROLLBACK TO s",
        )  # fmt: skip
        assert connection.execute("SELECT * FROM {a}".format(**names)).fetchall() == [(1, "x", 5)]
        run(connection, names, "ALTER TABLE {a} ADD k text", "SAVEPOINT s", SECTIONS[1], "RELEASE s", "COMMIT")
        assert connection.execute("SELECT * FROM {a}".format(**names)).fetchall() == [(1, "x", 5, None)]
        run(connection, names, "INSERT INTO {b} VALUES (1, 1, 'z')")
    assert cluster.violations(names["a"]) == cluster.violations(names["b"]) == []


def test_t9_a_table_may_go_again(cluster, names) -> None:
    with cluster.connect() as connection:
        with connection.transaction():
            run(connection, names, *SECTIONS, "INSERT INTO {a} VALUES (1, 'x', 5)", "DROP TABLE {b}")
            with pytest.raises(errors.UndefinedTable), connection.transaction():
                run(connection, names, "SELECT * FROM {b}")
        run(connection, names, "DELETE FROM {a}")
        with pytest.raises(errors.UndefinedTable):
            run(connection, names, "SELECT * FROM {b}")


def test_t9_a_table_that_is_dropped_and_made_anew_is_the_new_one(cluster, names) -> None:
    with cluster.connect() as connection:
        with connection.transaction():
            run(connection, names, SECTIONS[0], "INSERT INTO {a} VALUES (1, 'x', 5)", "DROP TABLE {a}")
            run(connection, names, "CREATE TABLE {a} (id int PRIMARY KEY, code int UNIQUE)")
            assert connection.execute("SELECT * FROM {a}".format(**names)).fetchall() == []
            run(connection, names, "INSERT INTO {a} VALUES (2, 7)")
        with cluster.connect("n2") as other:
            assert other.execute("SELECT * FROM {a}".format(**names)).fetchall() == [(2, 7)]
    assert cluster.violations(names["a"]) == []
    assert cluster.read("SELECT count(*) FROM changes_reservation") == [(0,)]


def test_t9_a_name_given_twice_is_the_first_one_s_again_after_a_return_to_a_savepoint(cluster, names) -> None:
    anew = "CREATE TABLE {a} (code int PRIMARY KEY)"
    with cluster.connect() as connection, cluster.connect("n2") as other:
        run(connection, names, "BEGIN", SECTIONS[0], "INSERT INTO {a} VALUES (1, 'x', 5)", "SAVEPOINT s")
        for _ in range(2):
            run(connection, names, "DROP TABLE {a}", anew, "INSERT INTO {a} VALUES (7)")
            with pytest.raises(errors.DuplicateTable), other.transaction():
                run(other, names, anew)
            run(connection, names, "ROLLBACK TO s")
            assert connection.execute("SELECT * FROM {a}".format(**names)).fetchall() == [(1, "x", 5)]
        run(connection, names, "COMMIT")
        assert other.execute("SELECT * FROM {a}".format(**names)).fetchall() == [(1, "x", 5)]
    assert cluster.violations(names["a"]) == []


def test_t9_a_name_is_free_again_when_a_table_that_refers_could_not_be_made(cluster, names) -> None:
    """The statement ends, or is ended, between the reservation and the rows of the table that it refers to."""
    rows = "INSERT INTO {a} (id) SELECT g FROM generate_series(1, 6000) g"
    with cluster.connect() as connection:
        run(connection, names, "BEGIN", SECTIONS[0], rows, "SAVEPOINT s", "SET LOCAL statement_timeout = '150ms'")
        with pytest.raises(errors.QueryCanceled):
            run(connection, names, SECTIONS[1])
        run(connection, names, "ROLLBACK TO s", "DELETE FROM {a}", SECTIONS[1], "ROLLBACK")
    assert cluster.read("SELECT count(*) FROM changes_reservation") == [(0,)]


def test_t9_names_of_indexes_are_taken_at_once(cluster, names) -> None:
    with cluster.connect() as connection, cluster.connect("n2") as other:
        connection.execute("BEGIN")
        run(connection, names, SECTIONS[0], "CREATE INDEX {b} ON {a} (n)")
        other.execute("BEGIN")
        with pytest.raises(errors.DuplicateTable):
            run(other, names, SECTIONS[1].replace(" REFERENCES {a}", ""))
        connection.execute("ROLLBACK")


def test_t9_other_tables_are_not_changed_inside(cluster, names) -> None:
    with cluster.connect() as connection:
        run(connection, names, "BEGIN", SECTIONS[0], "COMMIT")
        for statement in (SECTIONS[1], "CREATE INDEX ON {a} (n)", "DROP TABLE {a}", "ALTER TABLE {a} RENAME TO {b}"):
            connection.execute("BEGIN")
            with pytest.raises(errors.FeatureNotSupported, match="for tables that it has not made") as refused:
                run(connection, names, statement)
            hint = refused.value.diag.message_hint or ""
            assert "SET schemalab.autocommit_before_ddl = on, which commits what stands before it" in hint
            assert hint.endswith("?options=-c%20schemalab.autocommit_before_ddl%3Don")
            connection.execute("ROLLBACK")


def test_the_catalog_shows_a_transaction_its_own_tables(cluster, names) -> None:
    query = "SELECT relname FROM pg_class WHERE relname IN ('{a}', '{a}_code_key')"
    with cluster.connect() as connection, cluster.connect() as other:
        run(connection, names, "BEGIN", SECTIONS[0])
        assert len(connection.execute(query.format(**names)).fetchall()) == 2
        assert other.execute(query.format(**names)).fetchall() == []
        connection.execute("ROLLBACK")


# --- what stands before a schema change of other tables is committed first, when the session wants that

ON = "SET schemalab.autocommit_before_ddl = on"


@pytest.mark.usefixtures("worker")
def test_a_migration_that_alters_runs_when_it_may_be_committed_in_between(cluster, names) -> None:
    with cluster.connect() as connection:
        run(connection, names, "BEGIN", SECTIONS[0], "COMMIT", ON)
        notices: list[str] = []
        connection.add_notice_handler(lambda diag: notices.append(diag.message_primary or ""))
        run(connection, names, "BEGIN", "INSERT INTO {a} VALUES (1, 'x', 5)", SECTIONS[1])
        assert connection.info.transaction_status is psycopg.pq.TransactionStatus.INTRANS
        assert notices[0].startswith("what the transaction has done is committed before CREATE TABLE (schemalab.auto")
        run(connection, names, "ALTER TABLE {a} ADD m int", "INSERT INTO {b} VALUES (1, 1, 'z')", "ROLLBACK")
        assert connection.execute("SELECT * FROM {a}".format(**names)).fetchall() == [(1, "x", 5, None)]
        assert connection.execute("SELECT * FROM {b}".format(**names)).fetchall() == []
    for name in names.values():
        assert cluster.violations(name) == []


@pytest.mark.usefixtures("worker")
def test_what_stands_before_a_schema_change_that_fails_stays_committed(cluster, names) -> None:
    with cluster.connect() as connection:
        run(connection, names, "BEGIN", SECTIONS[0], "COMMIT", ON, "BEGIN")
        run(connection, names, "INSERT INTO {a} VALUES (1, NULL, 5)")
        with pytest.raises(errors.NotNullViolation, match="failed and was rolled back"):
            run(connection, names, "ALTER TABLE {a} ALTER code SET NOT NULL")
        assert connection.info.transaction_status is psycopg.pq.TransactionStatus.INERROR
        run(connection, names, "ROLLBACK")
        assert connection.execute("SELECT id FROM {a}".format(**names)).fetchall() == [(1,)]


@pytest.mark.usefixtures("worker")
def test_an_advisory_lock_of_the_transaction_ends_with_the_commit_in_between_one_of_the_session_does_not(
    cluster, names
) -> None:
    with cluster.connect() as connection, cluster.connect("n2") as other:
        run(connection, names, "BEGIN", SECTIONS[0], "COMMIT", ON)
        run(connection, names, "SELECT pg_advisory_lock(742)", "BEGIN", "SELECT pg_advisory_xact_lock(741)")
        tried = [other.execute(f"SELECT pg_try_advisory_lock({key})").fetchone() for key in (741, 742)]
        assert tried == [(False,), (False,)]
        run(connection, names, "ALTER TABLE {a} ADD m int")
        tried = [other.execute(f"SELECT pg_try_advisory_lock({key})").fetchone() for key in (741, 742)]
        assert tried == [(True,), (False,)]
        run(connection, names, "COMMIT")


@pytest.mark.usefixtures("worker")
def test_a_block_keeps_its_modes_and_local_settings_when_it_is_committed_in_between(cluster, names) -> None:
    with cluster.connect() as connection:
        run(connection, names, "BEGIN", SECTIONS[0], "COMMIT", "SET default_transaction_read_only = on")
        run(connection, names, "BEGIN READ WRITE", ON.replace("SET", "SET LOCAL"), "SET LOCAL my.own = 'x'")
        run(connection, names, "ALTER TABLE {a} ADD m int", "ALTER TABLE {a} ADD o int")
        run(connection, names, "INSERT INTO {a} VALUES (1, 'x', 5, 6, 7)")
        assert connection.execute("SHOW my.own").fetchone() == ("x",)
        run(connection, names, "COMMIT")
        assert connection.execute("SHOW my.own").fetchone() == ("",)
        assert connection.execute("SHOW schemalab.autocommit_before_ddl").fetchone() == ("off",)
        assert connection.execute("SELECT * FROM {a}".format(**names)).fetchall() == [(1, "x", 5, 6, 7)]


def test_nothing_is_committed_behind_the_back_of_a_savepoint(cluster, names) -> None:
    with cluster.connect() as connection:
        run(connection, names, "BEGIN", SECTIONS[0], "COMMIT", ON, "BEGIN", "SAVEPOINT s")
        with pytest.raises(errors.FeatureNotSupported, match="a savepoint is open"):
            run(connection, names, "ALTER TABLE {a} ADD m int")
        connection.execute("ROLLBACK")
