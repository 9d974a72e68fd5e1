"""A plan as a ladder: every version as a tile, every work where it is done, every node where it stands."""

from __future__ import annotations

import pytest

from changes.pages.plan_json import plan_json
from changes.pages.plan_ladder import rungs
from tests.changes.tables import KINDS, every_plan

PLANS = every_plan()


def shown(name: str) -> list[str]:
    """Marks and tiles in one line: states by the first element that moves."""
    return [
        part
        for rung in rungs(plan_json(PLANS[name])["steps"])
        for part in (rung["mark"], rung["elements"][0]["state"] if rung["kind"] == "state" else rung["kind"])
        if part
    ]


def test_an_index_walks_up_its_states() -> None:
    assert shown("add an index") == [
        *("absent", "ok", "delete-only", "ok", "write-only"),
        *("wait", "fill", "none", "verify", "ok", "public"),
    ]


def test_what_is_stored_is_deleted_after_a_wait() -> None:
    assert shown("drop an index")[-4:] == ["wait", "delete", "ok", "absent"]


@pytest.mark.parametrize("name", KINDS)
def test_no_plan_has_two_versions_next_to_each_other_that_are_not_compatible(name: str) -> None:
    plan = plan_json(PLANS[name])
    line, kinds = rungs(plan["steps"]), [step["kind"] for step in plan["steps"]]
    marks = [rung["mark"] for rung in line if rung["mark"] not in ("", "wait", "none")]
    assert marks == (["ok"] * kinds.count("publish") if line else [])
    assert bool(line) is any(step["transitions"] for step in plan["steps"])


def test_an_unsafe_step_is_marked() -> None:
    step = {"kind": "publish", "table": "t", "version": 2, "partners": []}
    moved = {"kind": "index", "name": "by_a", "before": "absent", "after": "write-only"}
    assert [rung["mark"] for rung in rungs([step | {"transitions": [moved]}])] == ["", "bad"]


def test_every_element_that_moves_is_on_every_version() -> None:
    line = rungs(plan_json(PLANS["drop a column that an index covers"])["steps"])
    states = [{one["name"]: one["state"] for one in rung["elements"]} for rung in line if rung["kind"] == "state"]
    assert states[0] == {"name": "public", "one_name": "public"}
    assert {"name": "delete-only", "one_name": "delete-only"} in states
    assert states[-1] == {"name": "absent", "one_name": "absent"}


def test_nodes_stand_on_the_versions_that_they_lease() -> None:
    steps = plan_json(PLANS["add an index"])["steps"]
    first = steps[0]["version"]
    leases = [
        {"node": "n2", "table_id": 7, "version": first - 1},
        {"node": "n2", "table_id": 7, "version": first},
        {"node": "n1", "table_id": 7, "version": first},
        {"node": "n3", "table_id": 8, "version": first},
        {"node": "load-4-0", "table_id": 7, "version": first},
    ]
    assert [rung["nodes"] for rung in rungs(steps, table_id=7, leases=leases)][:3] == [["n2"], ["n1", "n2"], []]
