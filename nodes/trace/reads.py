"""The way each scan reached its rows, the indexes that it may not use, and the elements it may not see."""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import replace
from typing import Any

from catalog.descriptor import Descriptor
from catalog.elements import Column, Constraint, Index, Placement, State, TableId
from catalog.states import rule
from expressions.analysis.scopes import Scan
from expressions.typed import Context
from nodes.sql.conditions.access_paths import access, point
from nodes.sql.plans import (
    DeletePlan,
    InsertPlan,
    MergePlan,
    Plan,
    QueryPlan,
    SelectPlan,
    SeveralPlan,
    TruncatePlan,
    UpdatePlan,
)
from nodes.sql.readable import InPlace

Json = dict[str, Any]
OF_KIND = {"insert": "insert", "update": "update", "delete": "delete", "merge": "update", "truncate": "delete"}
"""The column of the rule table (`catalog.states`) that a kind of statement goes by; others read."""


def scans_of(plan: Plan | InPlace) -> list[Scan]:
    match plan:
        case InPlace():
            return [use.scan for use in plan.uses]
        case SelectPlan():
            return [plan.scan]
        case QueryPlan():
            return list(plan.scans)
        case InsertPlan():
            return [] if plan.source is None else list(plan.source.scans)
        case UpdatePlan() | DeletePlan() | MergePlan():
            return list({id(scan): scan for scan in (plan.scan, *plan.scans)}.values())
        case SeveralPlan():
            return [scan for part in plan.plans for scan in scans_of(part)]
    return []


def written(plan: Plan | InPlace) -> frozenset[TableId]:
    match plan:
        case InsertPlan() | UpdatePlan() | DeletePlan() | MergePlan():
            return frozenset({plan.descriptor.table_id})
        case SeveralPlan():
            return frozenset().union(*map(written, plan.plans))
        case TruncatePlan():
            return frozenset(descriptor.table_id for descriptor in plan.descriptors)
    return frozenset()


def scans_json(plan: Plan | InPlace, context: Context, *, storages: int, buckets: int) -> list[Json]:
    found = []
    for scan in scans_of(plan):
        way = scan_json(scan, context, storages=storages, buckets=buckets)
        is_of_write = isinstance(plan, UpdatePlan | DeletePlan | MergePlan) and scan is plan.scan and plan.looked_up
        if is_of_write and way["by"] == "all rows":
            way["by"] = "keys, if few"
        found.append(way)
    return found


def scan_json(scan: Scan, context: Context, *, storages: int, buckets: int) -> Json:
    descriptor = scan.descriptor
    about = {"table": descriptor.name, "version": descriptor.version}
    if scan.pinned_key is not None:
        way = point(descriptor, scan.pinned_key, context)
        return about | {"by": "key", "index": None, "storages": list(way.storages), "not_used": []}
    way = access(descriptor, scan.conditions, context, storages=storages, buckets=buckets)
    by = "index" if way.index is not None else "key" if way.columns else "all rows"
    return about | {
        "by": by,
        "index": None if way.index is None else way.index.name,
        "storages": list(way.storages),
        "not_used": [
            {"name": index.name, "state": index.state.value, "filling": index.filling}
            for index in descriptor.indexes
            if index.state not in (State.PUBLIC, State.ABSENT) and _would_serve(index, scan, context, storages, buckets)
        ],
    }


def _would_serve(index: Index, scan: Scan, context: Context, storages: int, buckets: int) -> bool:
    there = tuple(replace(i, state=State.PUBLIC) if i.id == index.id else i for i in scan.descriptor.indexes)
    as_if = replace(scan.descriptor, indexes=there)
    way = access(as_if, scan.conditions, context, storages=storages, buckets=buckets)
    return way.index is not None and way.index.id == index.id


def hidden(descriptors: Iterable[Descriptor], kind: str, written: Container[TableId]) -> list[Json]:
    """The elements that are neither public nor absent, and what a statement of this kind does with each; it only reads
    a table that is not `written`."""
    found = []
    for descriptor in descriptors:
        by = OF_KIND.get(kind, "read") if descriptor.table_id in written else "read"
        elements: tuple[Column | Index | Constraint | Placement, ...]
        elements = *descriptor.columns, *descriptor.indexes, *descriptor.constraints, *descriptor.placements
        found += [
            {
                "table": descriptor.name,
                "version": descriptor.version,
                "element": type(element).__name__.lower(),
                "name": str(element.id) if isinstance(element, Placement) else element.name,
                "state": element.state.value,
                "filling": getattr(element, "filling", False),
                "does": str(getattr(rule(element.kind, element.state), by).value),
            }
            for element in elements
            if element.state not in (State.PUBLIC, State.ABSENT)
        ]
    return found
