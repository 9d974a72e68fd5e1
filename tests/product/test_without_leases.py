"""A table without leases is changed beside traffic on all nodes: no error, no wrong answer, and a clean audit each
time."""

from collections.abc import Iterator

import psycopg
import pytest

from tests.harness.cluster import RunningCluster
from tests.product.traffic_beside import traffic_beside

ROWS = 2_000
CHANGE_S_MAX = 300.0
CHANGES = (
    "ALTER TABLE letters ADD COLUMN stamps integer NOT NULL DEFAULT 2",
    "CREATE INDEX letters_dest ON letters (dest)",
    "ALTER TABLE letters SET (coordination = 'lease')",
    "ALTER TABLE letters SET (coordination = 'hash')",
    "ALTER TABLE letters DROP COLUMN stamps",
)

pytestmark = pytest.mark.soak


@pytest.fixture
def letters(cluster: RunningCluster) -> Iterator[str]:
    with psycopg.connect(cluster.nodes["n1"].dsn, autocommit=True) as node:
        columns = "id bigint PRIMARY KEY, dest text, weight integer"
        node.execute(f"CREATE TABLE letters ({columns}) WITH (coordination = 'hash')")
        rows = (f"({n}, 'D{n % 9}', {n % 50})" for n in range(1, ROWS + 1))
        node.execute(f"INSERT INTO letters VALUES {', '.join(rows)}")
    yield "letters"
    with psycopg.connect(cluster.nodes["n1"].dsn, autocommit=True) as node:
        node.execute("DROP TABLE letters")


def test_a_table_without_leases_is_changed_beside_traffic(cluster: RunningCluster, letters: str) -> None:
    with traffic_beside(cluster, letters, ROWS, "--columns", "dest,weight"):
        for statement in CHANGES:
            changed = cluster.manage("change", "submit", statement, "--wait", seconds_max=CHANGE_S_MAX)
            assert changed.returncode == 0, changed.stdout + changed.stderr
            audited = cluster.manage("audit", letters, seconds_max=CHANGE_S_MAX)
            assert audited.stdout.startswith("consistent"), audited.stdout + audited.stderr
        shown = cluster.manage("leases", letters).stdout
        assert "nobody leases letters" in shown
        assert "has no leases (coordination = 'hash')" in shown
