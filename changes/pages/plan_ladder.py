"""A plan as a ladder: its versions as steps up from the first, with the work under them, and a mark between two
(compatible, or work waits for all nodes). While the change is open, nodes stand on their leases."""

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
    """The tiles of the ladder; none where no element moves. `steps` as of `step_json`; nodes stand by `table_id`'s
    versions."""
    publishes = [step for step in steps if step["transitions"]]
    if not publishes:
        return []
    found: dict[int, list[str]] = {}
    for lease in leases:
        if lease["table_id"] == table_id and not is_job(lease["node"]):
            found.setdefault(lease["version"], []).append(lease["node"])
    nodes = {version: sorted(nodes) for version, nodes in found.items()}
    elements = list(dict.fromkeys(one["name"] for step in publishes for one in step["transitions"]))
    states = {one["name"]: one["before"] for step in reversed(publishes) for one in step["transitions"]}
    versions = {one["table"]: one["version"] - 1 for step in reversed(publishes) for one in (step, *step["partners"])}
    line = [_tile("", 0, states, elements, versions, nodes.get(publishes[0]["version"] - 1, []))]
    for step in steps:
        level = line[-1]["level"]
        if step["kind"] in WORKS:
            mark = "wait" if line[-1]["kind"] == "state" else "none"
            line.append({"kind": step["kind"], "mark": mark, "level": level, "nodes": []})
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
    shown = [{"name": name, "state": states[name]} for name in elements]
    tables = [{"table": table, "version": version} for table, version in versions.items()]
    return {"kind": "state", "mark": mark, "level": level, "elements": shown, "tables": tables, "nodes": list(nodes)}


def _is_compatible(moved: Mapping[str, Any]) -> bool:
    return danger(Kind(moved["kind"]), State(moved["before"]), State(moved["after"])) is None
