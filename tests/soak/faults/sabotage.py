"""Faults made on purpose, behind everybody's back: a judge that finds none of them is worth nothing."""

import psycopg

from tests.harness.cluster import RunningCluster
from tests.soak.clients.items import ItemClient

NEWEST = """
SELECT t.id, d.body FROM catalog_table t JOIN catalog_descriptor d ON d.table_id = t.id
WHERE t.name = 'items' AND t.state = 'live' ORDER BY d.version DESC LIMIT 1
"""


def commit(kind: str, cluster: RunningCluster, items: list[ItemClient]) -> str:
    """row: its existence is removed; entry: one of a row that is not there; acknowledged: a write that never was."""
    if kind == "acknowledged":
        client = items[0]
        client.ledger.acknowledge({client.limit - 1: ("never written", 1, "red")})
        return f"row {client.limit - 1} was never written"
    with psycopg.connect(cluster.database_url, autocommit=True) as database:
        table_id, body = database.execute(NEWEST).fetchall()[0]
        table = f"storage_1.kv_{table_id}"
        if kind == "row":
            first = f"SELECT min(k) FROM {table} WHERE substr(k, 3, 2) = '\\x0000'"
            query = f"DELETE FROM {table} WHERE k = ({first}) AND c = 0"
        else:
            index = body["next_index_id"]
            query = f"INSERT INTO {table} VALUES ('\\x0001{index:04x}01'::bytea, 0, '')"
        database.execute(query)
    return query
