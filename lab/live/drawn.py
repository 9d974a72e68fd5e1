"""The picture of a replay, as it is kept: both stores as names of pairs, and the leases of its nodes in seconds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from catalog.descriptor import Descriptor, from_json
from catalog.elements import PRIMARY
from catalog.models import Descriptor as StoredDescriptor
from catalog.selectors import newest_descriptor
from lab.exercises.observations import pair_names
from lab.replays.actions import Script
from lab.sessions.replay import show
from lab.sessions.session import Session
from lab.sessions.setup import MODEL
from lab.sessions.setups import setup_named
from leases.models import Node
from leases.recorder.reading import read_facts
from storage.selectors import pairs_page, storage_numbers

ABSENT = "absent"


def stores(session: Session, table_id: int) -> dict[str, list[str]] | None:
    """The pairs of the model and of the sandbox. None for a session on a cluster of its own, whose trace may end before
    its change does."""
    if setup_named(session.setup).kind != MODEL:
        return None
    newest = newest_descriptor(table_id)
    assert newest is not None, table_id
    model = [name for name in pair_names(show(session, single_steps=True)) if not name.startswith("tombstone")]
    return {"model": sorted(model), "cluster": sorted(_pair_names(newest))}


def _pair_names(table: Descriptor) -> Iterator[str]:
    for storage in storage_numbers():
        rows, values = set[str](), dict[str, str]()
        for line in pairs_page(table, storage=storage, index=PRIMARY)[0]:
            row = line.row.partition("=")[2]
            if line.is_tombstone or line.is_unknown:
                continue
            if line.element == table.name:
                rows.add(row)
            else:
                values[row] = line.says
        yield from (f"row {row} (a={values[row]})" if row in values else f"row {row}" for row in rows)
        for index in table.indexes:
            for line in pairs_page(table, storage=storage, index=index.id)[0]:
                if not line.is_tombstone:
                    yield f"entry {line.says.partition('=')[2]}→r{line.row.partition('=')[2]}"


def lanes(
    table: Descriptor, script: Script, nodes: Mapping[str, Node], *, ahead: int, began: float, end: float
) -> dict[str, Any]:
    """Versions, leases and accidents from `began` to `end` on the database's clock; versions are the model's."""
    facts = read_facts([(table.table_id, table.name)], [], start=began)
    cast = {node.name: name for name, node in nodes.items()}
    bodies = StoredDescriptor.objects.filter(table_id=table.table_id, version__gte=table.version)
    states = {body.version: _state(from_json(body.body)) for body in bodies}
    walk = facts.walks[0]
    return {
        "end": round(end - began, 2),
        "waits": bool(script.ends),
        "nodes": sorted(cast.values()),
        "versions": [
            {"version": one.version - table.version + ahead, "at": round(max(one.published_at - began, 0.0), 2),
             "state": states.get(one.version, ABSENT)}
            for one in walk.versions if one.version >= table.version and one.published_at <= end
        ],
        "uses": [
            {"node": cast[use.node], "version": use.version - table.version + ahead,
             "from": round(max(use.began - began, 0.0), 2),
             "to": round(min(end if use.ended is None else use.ended, end) - began, 2)}
            for use in walk.uses if use.node in cast and use.version >= table.version and use.began < end
        ],
        "marks": [
            {"at": round(mark.at - began, 2), "kind": mark.kind, "node": cast[mark.node]}
            for mark in facts.marks if mark.node in cast and began <= mark.at <= end
        ],
    }  # fmt: skip


def _state(table: Descriptor) -> str:
    return table.indexes[0].state.value if table.indexes else ABSENT
