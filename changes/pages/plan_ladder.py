"""A plan as a ladder: its versions as steps up from the first, with the work that is done under them.

    absent ─✓─ delete-only ─✓─ write-only ─⧗─ fill ─⧗─ verify ─✓─ public
                   n3            n1 n2

A mark says that the versions before and after it are compatible, or that work waits until every node has followed.
While the change is open each node stands as a flag on the version that it leases.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from catalog.elements import Kind, State
from catalog.text.job_nodes import is_job
from changes.review.neighbour_states import danger

Json = dict[str, Any]
WORKS = ("fill", "verify", "delete")


def rungs(
    steps: Sequence[Mapping[str, Any]], *, table_id: int = 0, leases: Iterable[Mapping[str, Any]] = ()
) -> list[Json]:
    """The tiles from the first version to the last, each with the mark before it; none where no element moves.

    `steps` are those of `step_json`; `leases` those in force now, each with its node, table and version. Of several
    tables the nodes are shown by the version of the first, `table_id`.
    """
    publishes = [step for step in steps if step["transitions"]]
    if not publishes:
        return []
    nodes = _nodes(table_id, leases)
    elements = list(dict.fromkeys(one["name"] for step in publishes for one in step["transitions"]))
    states = _before(publishes)
    versions = {one["table"]: one["version"] - 1 for step in reversed(publishes) for one in (step, *step["partners"])}
    line = [_tile("", 0, states, elements, versions, nodes.get(publishes[0]["version"] - 1, []))]
    for step in steps:
        level = line[-1]["level"]
        if step["kind"] in WORKS:
            line.append({"kind": step["kind"], "mark": "wait", "level": level, "nodes": []})
        elif step["kind"] == "publish":
            states |= {one["name"]: one["after"] for one in step["transitions"]}
            versions |= {one["table"]: one["version"] for one in (step, *step["partners"])}
            mark = "ok" if all(map(_is_compatible, step["transitions"])) else "bad"
            line.append(_tile(mark, level + 1, states, elements, versions, nodes.get(step["version"], [])))
    return line


def _tile(
    mark: str,
    level: int,
    states: Mapping[str, str],
    elements: Sequence[str],
    versions: Mapping[str, int],
    nodes: Sequence[str],
) -> Json:
    """A version: by the state of its one element, or by that of each."""
    shown = [{"name": name, "state": states[name]} for name in elements]
    tables = [{"table": table, "version": version} for table, version in versions.items()]
    return {"kind": "state", "mark": mark, "level": level, "elements": shown, "tables": tables, "nodes": list(nodes)}


def _before(publishes: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """The state of each element before the first step."""
    return {one["name"]: one["before"] for step in reversed(publishes) for one in step["transitions"]}


def _is_compatible(moved: Mapping[str, Any]) -> bool:
    return danger(Kind(moved["kind"]), State(moved["before"]), State(moved["after"])) is None


def _nodes(table_id: int, leases: Iterable[Mapping[str, Any]]) -> dict[int, list[str]]:
    """The nodes that lease each version of a table, in their order."""
    found: dict[int, list[str]] = {}
    for lease in leases:
        if lease["table_id"] == table_id and not is_job(lease["node"]):
            found.setdefault(lease["version"], []).append(lease["node"])
    return {version: sorted(nodes) for version, nodes in found.items()}
