"""The Cluster page's version lanes. Tables on which all nodes agree have one line; of many nodes only laggards show."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from catalog.text.job_nodes import is_job
from leases.staircase.phases import drawn

LANES_MAX = 60
VERSIONS_AT_ONCE_MAX = 2  # L2
Json = dict[str, Any]


def lanes(snapshot: Mapping[str, Any]) -> Json:
    nodes = node_lines(snapshot["nodes"])
    there = {node["name"] for node in nodes}
    lines = [node for node in snapshot["nodes"] if node["name"] in there]
    tables = [_table(table, lines) for table in snapshot["tables"]]
    return {
        "nodes": nodes,
        "moving": [table for table in tables if table["is_moving"]],
        "settled": [table for table in tables if not table["is_moving"]],
        "alarm": any(table["alarm"] for table in tables),
        "in_use_most": max((len(table["in_use"]) for table in tables), default=0),
        "down": [node["name"] for node in nodes if node["is_down"]],
    }


def node_lines(nodes: Iterable[Mapping[str, Any]]) -> list[Json]:
    """Each node (`leases.selectors.node_json`) with its state and versions, without dead jobs."""
    shown = [_node(node) for node in nodes]
    return [node for node in shown if node["leases"] or not node["is_down"] or not is_job(node["name"])]


def _node(node: Mapping[str, Any]) -> Json:
    kept = ("name", "incarnation", "host", "port", "state", "leases_end_at")
    shown = {name: node[name] for name in kept}
    is_down = node["state"] == "down"
    return shown | {
        "is_down": is_down,
        "has_left": is_down and node["heartbeat_at"] is None,
        "leases": [
            {"table": lease["table"], "version": lease["version"], "expires_at": lease["expires_at"]}
            for lease in node["leases"]
        ],
    }


def _table(table: Mapping[str, Any], nodes: Sequence[Mapping[str, Any]]) -> Json:
    known = {version["version"]: version for version in table["versions"]}
    leased = [lease for node in nodes for lease in node["leases"] if lease["table_id"] == table["id"]]
    versions = [_version(number, known.get(number)) for number in sorted({*known, *table["in_use"]})]
    for version, of in zip(versions, drawn((v["phase"], v["moving"]) for v in versions), strict=True):
        version["of"] = of
    _name_what_moves(versions)
    is_moving = len(table["in_use"]) > 1 or any(not v["is_at_rest"] for v in versions[-1:])
    rows = [_row(node, versions, leased) for node in nodes] if is_moving else []
    newest = table["newest"]
    return {
        "id": table["id"],
        "name": table["name"],
        "state": table["state"],
        "newest": newest,
        "in_use": table["in_use"],
        "has_leases": table.get("has_leases", True),
        "alarm": len(table["in_use"]) > VERSIONS_AT_ONCE_MAX,
        "is_moving": is_moving,
        "versions": versions,
        "rows": [row for row in rows if len(rows) <= LANES_MAX or row["is_behind"]],
        "holders": sorted({lease["node"] for lease in leased if lease["version"] == newest}),
        "until": max((lease["expires_at"] for lease in leased), default=None),
    }


def _name_what_moves(versions: Sequence[Json]) -> None:
    moving = {(one["element"], one["name"]) for version in versions for one in version["moving"]}
    if len(moving) == 1:
        [(element, name)] = moving
        for version in versions:
            if version["is_at_rest"] and version["published_at"]:
                version["moving"] = [{"element": element, "name": name, "state": version["phase"], "filling": False}]


def _version(number: int, known: Mapping[str, Any] | None) -> Json:
    """A version older than the two newest is shown by number alone, as an alarm."""
    if known is None:
        past: Json = {"version": number, "moving": [], "phase": "public", "is_at_rest": True}
        return past | {"published_at": None, "count": None}
    return {
        "version": number,
        "moving": known["moving"],
        "phase": known["phase"],
        "is_at_rest": known["state"] == "public" and not known["moving"],
        "published_at": known["published_at"],
        "count": len(known["nodes"]),
    }


def _row(node: Mapping[str, Any], versions: Sequence[Json], leased: Sequence[Mapping[str, Any]]) -> Json:
    own = {lease["version"]: lease["expires_at"] for lease in leased if lease["node"] == node["name"]}
    held = {lease["version"]: lease.get("holders", ()) for lease in leased if lease["node"] == node["name"]}
    newest = versions[-1]["version"]
    cells = [
        {
            "version": v["version"],
            "phase": v["phase"],
            "of": v["of"],
            "expires_at": own.get(v["version"]),
            "holders": [
                {name: one[name] for name in ("session", "user", "application", "statement", "is_running")}
                for one in held.get(v["version"], ())
            ]
            if v["version"] < newest
            else [],
        }
        for v in versions
    ]
    return {
        "node": node["name"],
        "state": node["state"],
        "is_down": node["state"] == "down",
        "is_behind": any(version < versions[-1]["version"] for version in own),
        "cells": cells,
    }
