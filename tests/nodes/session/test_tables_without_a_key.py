"""Tables without a primary key on several nodes: their row ids, a primary key that comes later, and what pages show."""

import threading
from typing import Any

import pytest
from psycopg import errors

from storage.browser.row import key_of
from storage.browser.segments import key_values
from storage.pairs import prefix, rows_of
from tests.nodes.conftest import Cluster
from tests.nodes.ddl import tag

WRITES = 40


def row_keys(cluster: Cluster, table: str) -> list[bytes]:
    now = cluster.descriptor(table)
    start = prefix(now, now.placement.id)
    found = []
    for storage in cluster.pairs(table):
        pairs = sorted((key, value) for key, value in storage.items() if key.startswith(start))
        found += [row.key for row in rows_of(now, now.placement, pairs)]
    return found


def test_nodes_number_rows_apart(cluster: Cluster, n1: Any, n2: Any) -> None:
    """Equal rows are rows by themselves, each with a number of its own, whichever node puts them."""
    table = cluster.table("a int, b text")
    for _ in range(3):
        for node in (n1, n2):
            node.execute(f"INSERT INTO {table} VALUES (1, 'x'), (1, 'x')")
    keys = row_keys(cluster, table)
    assert len(set(keys)) == len(keys) == 12
    assert n2.execute(f"DELETE FROM {table} WHERE a = 1").rowcount == 12
    assert cluster.violations(table) == []


def test_copy_numbers_rows_and_shows_no_number(cluster: Cluster, n1: Any) -> None:
    table = cluster.table("a int, b text")
    with n1.cursor().copy(f"COPY {table} FROM STDIN") as copy:
        copy.write("1\tx\n1\tx\n2\t\\N\n")
    with n1.cursor().copy(f"COPY {table} TO STDOUT") as copy:
        rows = b"".join(copy).decode().splitlines()
    assert sorted(rows) == ["1\tx", "1\tx", "2\t\\N"]
    assert len(set(row_keys(cluster, table))) == 3
    assert cluster.violations(table) == []


def test_a_person_reads_a_row_by_its_hidden_id(cluster: Cluster, n1: Any) -> None:
    table = cluster.table("a int, b text")
    n1.execute(f"INSERT INTO {table} VALUES (1, 'x')")
    [key] = row_keys(cluster, table)
    now = cluster.descriptor(table)
    [segment] = key_values(now, key)
    assert segment.says.startswith("hidden row id = ")
    assert key_of(now, [segment.says.rpartition(" ")[2]]) == key


def test_a_sharding_key_of_a_table_without_a_primary_key(cluster: Cluster, n1: Any, n2: Any) -> None:
    """What guards the row ids is no index for clients; a row moves with its sharding column."""
    table = cluster.table("a int, b text) WITH (sharding_key = 'a'")
    n1.execute(f"INSERT INTO {table} SELECT n, 'x' FROM generate_series(1, 20) AS n")
    assert n2.execute(f"UPDATE {table} SET a = a + 1").rowcount == 20
    assert n2.execute(f"SELECT b FROM {table} WHERE a = 21").fetchall() == [("x",)]
    assert n1.execute(f"SELECT count(*) FROM pg_index WHERE indrelid = '{table}'::regclass").fetchone() == (0,)
    assert cluster.violations(table) == []


@pytest.mark.usefixtures("worker")
def test_a_primary_key_comes_and_goes_beside_writers(cluster: Cluster, n1: Any, n2: Any) -> None:
    """Every row is in it, those put meanwhile as well; and it is what ON CONFLICT, foreign keys and GROUP BY mean."""
    table = cluster.table("a int, b text")
    n1.execute(f"INSERT INTO {table} SELECT n, 'x' FROM generate_series(1, 200) AS n")
    stop, done = threading.Event(), [0]

    def write() -> None:
        with cluster.connect("n2") as connection:
            while not stop.is_set() or done[0] < WRITES:
                done[0] += 1
                connection.execute(f"INSERT INTO {table} VALUES ({1000 + done[0]}, 'y')")
                connection.execute(f"UPDATE {table} SET a = -a WHERE a = {1000 + done[0]}")

    writer = threading.Thread(target=write)
    writer.start()
    try:
        assert tag(n1, f"ALTER TABLE {table} ADD PRIMARY KEY (a)") == "ALTER TABLE"
    finally:
        stop.set()
        writer.join(60)
    assert not writer.is_alive()
    assert cluster.violations(table) == []
    with pytest.raises(errors.UniqueViolation, match=f"{table}_pkey"):
        n2.execute(f"INSERT INTO {table} VALUES (7, 'again')")
    with pytest.raises(errors.NotNullViolation):
        n2.execute(f"INSERT INTO {table} VALUES (NULL, 'again')")
    upsert = f"INSERT INTO {table} VALUES (7, 'met') ON CONFLICT (a) DO UPDATE SET b = excluded.b RETURNING *"
    assert n2.execute(upsert).fetchall() == [(7, "met")]
    child = f"{table}_child"
    assert tag(n1, f"CREATE TABLE {child} (a int REFERENCES {table})") == "CREATE TABLE"
    n1.execute(f"INSERT INTO {child} VALUES (7)")
    with pytest.raises(errors.ForeignKeyViolation):
        n2.execute(f"DELETE FROM {table} WHERE a = 7")
    with pytest.raises(errors.DependentObjectsStillExist):
        n1.execute(f"ALTER TABLE {table} DROP CONSTRAINT {table}_pkey")
    n1.execute(f"DROP TABLE {child}")
    assert tag(n1, f"ALTER TABLE {table} DROP CONSTRAINT {table}_pkey, ALTER a DROP NOT NULL") == "ALTER TABLE"
    n2.execute(f"INSERT INTO {table} VALUES (7, 'again'), (NULL, 'too')")
    assert cluster.violations(table) == []


@pytest.mark.usefixtures("worker")
@pytest.mark.parametrize(
    ("row", "refusal"), [("(1, 'again')", errors.UniqueViolation), ("(NULL, 'x')", errors.NotNullViolation)]
)
def test_a_primary_key_that_rows_violate_rolls_back(
    cluster: Cluster, n1: Any, n2: Any, row: str, refusal: type[Exception]
) -> None:
    table = cluster.table("a int, b text")
    n1.execute(f"INSERT INTO {table} VALUES (1, 'x'), {row}")
    with pytest.raises(refusal, match="hidden row id"):
        n1.execute(f"ALTER TABLE {table} ADD PRIMARY KEY (a)")
    n2.execute(f"INSERT INTO {table} VALUES {row}")
    assert cluster.violations(table) == []
