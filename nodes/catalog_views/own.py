"""Views of our own, in schema schemalab: what the pages show of versions, as relations to ask. `elements` is made from
descriptors, the others are asked of the store when a query reads them: as things are now, not as of the transaction's
snapshot."""

from collections.abc import Iterator, Sequence

from catalog.descriptor import Descriptor
from catalog.text.descriptors import elements
from nodes.catalog_views.fixed import DATABASE, Row

ELEMENTS = "schemalab.elements"
ROWS_MAX = 1000
ASKED = {
    "schemalab.versions": f"""
SELECT t.name AS table_name, d.version, d.modified_at, d.version = t.version AS is_newest,
  (SELECT count(*) FROM leases_lease l WHERE l.table_id = t.id AND l.version = d.version
   AND l.expires_at > clock_timestamp()) AS leases
FROM catalog_descriptor d JOIN catalog_table t ON t.id = d.table_id WHERE t.state = 'live'
ORDER BY d.modified_at DESC LIMIT {ROWS_MAX}""",
    "schemalab.leases": f"""
SELECT t.name AS table_name, l.version, l.node, l.incarnation, l.acquired_at, l.expires_at
FROM leases_lease l JOIN catalog_table t ON t.id = l.table_id WHERE l.expires_at > clock_timestamp()
ORDER BY l.acquired_at DESC LIMIT {ROWS_MAX}""",
    "schemalab.changes": f"""
SELECT id, table_name, statement, status, direction, step, who, created_at, started_at, ended_at,
  error ->> 'message' AS error
FROM changes_change ORDER BY id DESC LIMIT {ROWS_MAX}""",
    "schemalab.nodes": f"""
SELECT n.name, n.state, n.incarnation, n.heartbeat_at,
  (SELECT count(*) FROM leases_lease l WHERE l.node = n.name AND l.incarnation = n.incarnation
   AND l.expires_at > clock_timestamp()) AS leases
FROM leases_node n ORDER BY n.name LIMIT {ROWS_MAX}""",
}
"""The query of the store for each."""
ASKED |= {
    "pg_locks": f"""
SELECT l.locktype, {DATABASE} AS database, NULL AS relation, NULL AS page, NULL AS tuple, NULL AS virtualxid,
  NULL AS transactionid, l.classid::bigint, l.objid::bigint, l.objsubid, NULL AS virtualtransaction, NULL AS pid,
  l.mode, l.granted, false AS fastpath, l.waitstart
FROM pg_locks l JOIN pg_database d ON d.oid = l.database
WHERE d.datname = current_database() AND l.locktype = 'advisory' AND l.objsubid = 1"""
}
"""The advisory locks of all nodes' sessions, those that wait among them: the store has them by one key, the product's
own by two. Who holds one the store does not know."""


def element_rows(tables: Sequence[Descriptor]) -> Iterator[Row]:
    by_id = {table.table_id: table for table in tables}
    for table in tables:
        of_table: Row = {"table_name": table.name, "version": table.version}
        yield {**of_table, "element": "table", "name": table.name, "state": table.state.value, "is_filling": False}
        for found in elements(table, by_id):
            yield {
                **of_table, "element": found["element"], "name": found["name"], "state": found["state"],
                "is_filling": bool(found["filling"]), "detail": found["detail"],
            }  # fmt: skip
