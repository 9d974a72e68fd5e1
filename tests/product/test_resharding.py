"""A table is spread by another key, over another number of storages and back beside traffic: no error, no wrong answer,
and a clean audit each time."""

from collections.abc import Iterator

import psycopg
import pytest

from tests.harness.cluster import RunningCluster
from tests.product.traffic_beside import traffic_beside

ROWS, ROWS_PER_INSERT = 4_000, 2_000
DESTINATIONS = ("ATL", "LAX", "JFK", "SEA")
CHANGE_S_MAX = 300.0

pytestmark = pytest.mark.soak


@pytest.fixture
def parcels(cluster: RunningCluster) -> Iterator[str]:
    """The name of a table of some rows, which the traffic reads and writes."""
    name = "parcels"
    with psycopg.connect(cluster.nodes["n1"].dsn, autocommit=True) as node:
        node.execute(f"CREATE TABLE {name} (id bigint PRIMARY KEY, dest text, weight integer)")
        for first in range(1, ROWS + 1, ROWS_PER_INSERT):
            numbers = range(first, first + ROWS_PER_INSERT)
            rows = (f"({n}, '{DESTINATIONS[n % len(DESTINATIONS)]}', {n % 50})" for n in numbers)
            node.execute(f"INSERT INTO {name} VALUES {', '.join(rows)}")
    yield name
    with psycopg.connect(cluster.nodes["n1"].dsn, autocommit=True) as node:
        node.execute(f"DROP TABLE {name}")


def test_a_table_is_spread_another_way_and_back_beside_traffic(cluster: RunningCluster, parcels: str) -> None:
    with traffic_beside(cluster, parcels, ROWS), psycopg.connect(cluster.nodes["n2"].dsn, autocommit=True) as node:
        assert cluster.manage("storages", "add").stdout.startswith("storage_3 was added")
        for options in (
            "sharding_key = 'dest'",
            "storages = 3",
            "sharding_key = 'id', sharding_func = 'mpcrc32', storages = 2",
        ):
            _spread(cluster, parcels, options)
            once = f"SELECT count(*), count(DISTINCT id) FROM {parcels} WHERE id <= {ROWS}"
            assert node.execute(once).fetchone() == (ROWS, ROWS)
            of_one = f"SELECT count(*) FROM {parcels} WHERE dest = 'JFK' AND id <= {ROWS}"
            assert node.execute(of_one).fetchone() == (ROWS // len(DESTINATIONS),)
        removed = cluster.manage("storages", "remove")
        assert removed.stdout == "storage_3 was removed\n", removed.stderr


def _spread(cluster: RunningCluster, table: str, options: str) -> None:
    """Change how rows are spread, and audit."""
    statement = f"ALTER TABLE {table} SET ({options})"
    changed = cluster.manage("change", "submit", statement, "--wait", seconds_max=CHANGE_S_MAX)
    assert changed.returncode == 0, changed.stdout + changed.stderr
    audited = cluster.manage("audit", table, seconds_max=CHANGE_S_MAX)
    assert audited.stdout.startswith("consistent"), audited.stdout + audited.stderr
