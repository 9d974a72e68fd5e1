"""DDL as tools write it: what is taken with a notice, DROP of several, TRUNCATE among other statements."""

from collections.abc import Iterator

import psycopg
import pytest
from psycopg import errors

from tests.nodes.conftest import Cluster
from tests.nodes.ddl import told

AUTHORS = "CREATE TABLE {a} (id int, name text UNIQUE, CONSTRAINT {a}_pk PRIMARY KEY (id)) WITH (fillfactor=70)"
BOOKS = """
CREATE TABLE {b} (id int PRIMARY KEY,
  author int CONSTRAINT {b}_author REFERENCES {a} (id) DEFERRABLE INITIALLY DEFERRED)
"""


@pytest.fixture
def names(cluster: Cluster) -> dict[str, str]:
    number = next(cluster.serial)
    return {"a": f"authors{number}", "b": f"books{number}"}


@pytest.fixture
def connection(cluster: Cluster) -> "Iterator[psycopg.Connection]":
    with cluster.connect() as connection:
        connection.execute("BEGIN")
        yield connection
        connection.execute("ROLLBACK")


def notices(connection: "psycopg.Connection", statement: str) -> list[str]:
    return [text for _, _, text in told(connection, statement)]


def test_what_is_taken_and_means_something_else_here_is_told(connection, names) -> None:
    assert notices(connection, AUTHORS.format(**names)) == [
        'the name "{a}_pk" is not kept: a primary key is called <table>_pkey'.format(**names),
        "fillfactor changes nothing: a table here is not kept as PostgreSQL keeps one",
    ]
    deferred = "DEFERRABLE changes nothing: each statement is held against foreign keys when it ends, not at COMMIT"
    assert notices(connection, BOOKS.format(**names)) == [deferred]
    foreign_key = "ALTER TABLE ONLY {b} ADD CONSTRAINT {b}_k FOREIGN KEY (id) REFERENCES {a} DEFERRABLE"
    assert notices(connection, foreign_key.format(**names)) == [deferred]
    assert notices(connection, "CREATE INDEX {b}_like ON {a} (name varchar_pattern_ops)".format(**names)) == []
    for statement, begins in (
        ("COMMENT ON DATABASE schemalab IS 'people'", "a comment on a database is not kept"),
        ("COMMENT ON SCHEMA public IS 'people'", "a comment on a schema is not kept"),
        ("ALTER TABLE {a} OWNER TO somebody", "owners are not kept"),
        ("SET CONSTRAINTS ALL DEFERRED", "no constraint is deferred"),
    ):
        [text] = notices(connection, statement.format(**names))
        assert text.startswith(begins)
    assert notices(connection, "SET CONSTRAINTS {b}_author IMMEDIATE".format(**names)) == []
    with pytest.raises(errors.ForeignKeyViolation):
        connection.execute("INSERT INTO {b} VALUES (1, 1)".format(**names))


@pytest.mark.parametrize(
    "statement", ["COMMENT ON TABLE {a} IS 'people'", "ALTER TABLE {a} OWNER TO b", "DROP TABLE {a}, {b}"]
)
def test_what_is_not_there_is_not_taken(connection, names, statement) -> None:
    with pytest.raises(errors.UndefinedTable):
        connection.execute(statement.format(**names))


def test_rights_are_refused_by_name(connection, names) -> None:
    connection.execute(AUTHORS.format(**names))
    with pytest.raises(errors.FeatureNotSupported, match="GRANT or REVOKE"):
        connection.execute("GRANT SELECT ON {a} TO PUBLIC".format(**names))


def test_a_transaction_drops_several_of_its_tables(connection, names) -> None:
    for statement in (AUTHORS, BOOKS, "DROP TABLE {a}, {b}"):
        connection.execute(statement.format(**names))
    with pytest.raises(errors.UndefinedTable):
        connection.execute("SELECT * FROM {a}".format(**names))


def test_cascade_drops_what_refers(connection, names) -> None:
    for statement in (AUTHORS, BOOKS, "SAVEPOINT s"):
        connection.execute(statement.format(**names))
    with pytest.raises(errors.DependentObjectsStillExist):
        connection.execute("DROP TABLE {a}".format(**names))
    connection.execute("ROLLBACK TO s")
    found = notices(connection, "DROP TABLE IF EXISTS {a}, nowhere CASCADE".format(**names))
    assert found == [
        'table "nowhere" does not exist, skipping',
        "drop cascades to constraint {b}_author on table {b}".format(**names),
    ]
    connection.execute("INSERT INTO {b} VALUES (1, 1)".format(**names))


def test_truncate_among_other_statements_is_undone_with_them(cluster, names) -> None:
    """As PostgreSQL does: it sees what the transaction wrote, and refuses what is referred to from elsewhere."""
    with cluster.connect() as connection:
        for statement in ("BEGIN", AUTHORS, BOOKS, "INSERT INTO {a} VALUES (1, 'x')", "INSERT INTO {b} VALUES (1, 1)"):
            connection.execute(statement.format(**names))
        connection.execute("COMMIT")
        connection.execute("BEGIN")
        connection.execute("INSERT INTO {a} VALUES (2, 'y')".format(**names))
        with pytest.raises(errors.FeatureNotSupported, match="cannot truncate a table referenced"):
            connection.execute("TRUNCATE {a}".format(**names))
        connection.execute("ROLLBACK")
        connection.execute("BEGIN")
        connection.execute("INSERT INTO {a} VALUES (2, 'y')".format(**names))
        connection.execute("TRUNCATE {a}, {b}".format(**names))
        assert connection.execute("SELECT * FROM {a}".format(**names)).fetchall() == []
        connection.execute("ROLLBACK")
        assert connection.execute("SELECT id FROM {a}".format(**names)).fetchall() == [(1,)]
        connection.execute("BEGIN")
        connection.execute("TRUNCATE {a}, {b}".format(**names))
        connection.execute("INSERT INTO {a} VALUES (1, 'x')".format(**names))
        connection.execute("COMMIT")
    assert cluster.violations(names["a"]) == cluster.violations(names["b"]) == []


@pytest.mark.usefixtures("worker")
def test_tables_that_were_there_are_dropped_one_after_the_other(cluster, names) -> None:
    with cluster.connect() as connection:
        for statement in ("BEGIN", AUTHORS, BOOKS, "COMMIT", "DROP TABLE {a}, {b}"):
            connection.execute(statement.format(**names))
        with pytest.raises(errors.UndefinedTable):
            connection.execute("SELECT * FROM {b}".format(**names))


@pytest.mark.usefixtures("worker")
def test_a_comment_on_a_table_that_was_there_is_a_change(cluster, names) -> None:
    """Every node shows it; inside a transaction it is refused like any other change of such a table."""
    table = cluster.table("id int primary key, name text", name=names["a"])
    with cluster.connect() as n1, cluster.connect("n2") as n2:
        assert n1.execute(f"COMMENT ON COLUMN {table}.name IS 'whole'").statusmessage == "COMMENT"
        shown = f"SELECT col_description('{table}'::regclass, 2)"
        assert n2.execute(shown).fetchone() == ("whole",)
        with pytest.raises(errors.FeatureNotSupported, match="COMMENT inside a transaction"), n1.transaction():
            n1.execute(f"COMMENT ON TABLE {table} IS 'people'")
        n1.execute(f"COMMENT ON COLUMN {table}.name IS NULL")
        assert n2.execute(shown).fetchone() == (None,)
