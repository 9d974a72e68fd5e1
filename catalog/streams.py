"""The catalog on live pages: the tables, and one table with its versions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from catalog import descriptor, selectors
from catalog.live import snapshot
from catalog.models import Descriptor, Table
from catalog.text.descriptors import comment_words, differences, elements

VERSIONS_SHOWN = 30


def _tables(_id: int) -> dict[str, Any]:
    tables = selectors.live_tables()
    views = _views({table.pk: table.name for table in tables})
    return {
        "tables": [_table_line(table) for table in tables],
        "views": views,
        "are_views_cut": len(views) == selectors.VIEWS_LISTED_MAX,
    }


def _views(tables: Mapping[int, str]) -> list[dict[str, Any]]:
    views = selectors.listed_views()
    names = {view["id"]: view["name"] for view in views}
    return [
        {
            "id": view["id"],
            "name": view["name"],
            "columns": view["columns"],
            "reads_tables": [{"id": one, "name": tables[one]} for one in view["table_ids"] if one in tables],
            "reads_views": [{"id": one, "name": names[one]} for one in view["view_ids"] if one in names],
        }
        for view in views
    ]


def _table_line(table: Table) -> dict[str, Any]:
    newest = selectors.newest_descriptor(table.pk)
    shown = [] if newest is None else elements(newest)
    return {
        "id": table.pk,
        "name": table.name,
        "sandbox_of": table.sandbox_of,
        "state": table.state,
        "table_state": newest.state.value if newest else "absent",
        "version": table.version,
        "columns": 0 if newest is None else sum(not column.is_hidden for column in newest.columns),
        "indexes": [e["name"] for e in shown if e["element"] in ("index", "unique index")],
        "moving": [e for e in shown if not e["is_public"]],
    }


def _schema(table_id: int) -> dict[str, Any]:
    rows = list(Descriptor.objects.filter(table_id=table_id).order_by("-version")[: VERSIONS_SHOWN + 1])
    bodies = [descriptor.from_json(row.body) for row in rows]
    others = selectors.tables_beside(bodies)
    versions = [
        {
            "version": row.version,
            "modified_at": row.modified_at.isoformat(),
            "schema_hash": row.schema_hash,
            "sharding_hash": row.sharding_hash,
            "differences": differences(older, newer, others),
        }
        for row, newer, older in zip(rows, bodies, [*bodies[1:], None], strict=True)
    ]
    return {
        "elements": elements(bodies[0], others) if bodies else [],
        "table_state": bodies[0].state.value if bodies else "absent",
        "name": bodies[0].name if bodies else "",
        "comment": comment_words(bodies[0].comment, bodies[0].key_comment) if bodies else "",
        "version": bodies[0].version if bodies else 0,
        "versions": versions[:VERSIONS_SHOWN],
        "more": len(rows) > VERSIONS_SHOWN,
        "table_id": table_id,
        "oldest_shown": versions[:VERSIONS_SHOWN][-1]["version"] if versions else 0,
    }


snapshot.register("cluster", "tables", "parts/tables.html", _tables)
snapshot.register("table", "schema", "parts/schema.html", _schema)
snapshot.register_stream("table", lambda table_id: Table.objects.filter(pk=table_id).exists())
