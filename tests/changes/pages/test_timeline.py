"""A plan's steps as points on a line, wherever the change is."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import pytest
from django.template.loader import render_to_string

from changes.pages.timeline import points, status_before_rollback, taken
from tests.changes.tables import plans

KINDS = ("publish", "drain", "publish", "drain", "fill", "verify", "close", "publish", "drain", "purge")
STATES = {0: ("absent", "delete-only"), 2: ("delete-only", "write-only"), 7: ("write-only", "public")}


def transition(before: str, after: str) -> dict[str, str]:
    return {"kind": "index", "name": "by_name", "before": before, "after": after}


def step(number: int, kind: str, version: int, *moved: dict[str, str], airports: int | None = None) -> dict[str, Any]:
    """A step of flights; `airports` is the version of that table that comes with it."""
    partners = [] if airports is None else [{"table": "airports", "version": airports}]
    shown = {"number": number, "kind": kind, "table": "flights", "version": version}
    return shown | {"transitions": list(moved), "partners": partners}


def steps(kinds: tuple[str, ...] = KINDS) -> list[dict[str, Any]]:
    listed, version = [], 1
    for number, kind in enumerate(kinds):
        version += kind == "publish"
        moved = [transition(*STATES[number])] if kind == "publish" else []
        listed.append(step(number, kind, version, *moved))
    return listed


def words(position: int, *, is_over: bool = False) -> str:
    found = points(steps(), position, is_over=is_over)
    return " ".join({"done": "", "current": ">", "todo": "."}[s["when"]] + (s["state"] or s["kind"]) for s in found)


@pytest.mark.parametrize(
    ("position", "is_over", "expected"),
    [
        pytest.param(
            -1,
            False,
            "absent .delete-only .wait .write-only .wait .reorganise .public .wait .tidy",
            id="a plan has everything before it",
        ),
        pytest.param(
            1,
            False,
            "absent delete-only >wait .write-only .wait .reorganise .public .wait .tidy",
            id="a wait is a point of its own",
        ),
        pytest.param(
            5,
            False,
            "absent delete-only wait write-only wait >reorganise .public .wait .tidy",
            id="fill, verify and close are one point",
        ),
        pytest.param(
            10, True, "absent delete-only wait write-only wait reorganise public wait tidy", id="the end of the steps"
        ),
    ],
)
def test_where_a_change_is(position: int, is_over: bool, expected: str) -> None:
    assert words(position, is_over=is_over) == expected


def test_a_point_of_several_runs_says_which_one_runs() -> None:
    reorganise = next(s for s in points(steps(), 4) if s["kind"] == "reorganise")
    assert [(work["kind"], work["when"]) for work in reorganise["works"]] == [
        ("fill", "current"),
        ("verify", "todo"),
        ("close", "todo"),
    ]


def test_a_rollback_begins_with_the_end_of_the_run() -> None:
    back = [step(0, "close", 3), step(1, "publish", 4, transition("write-only", "delete-only"))]
    assert [s["state"] or s["kind"] for s in points(back, 0)] == ["write-only", "close", "delete-only"]


def test_no_steps_have_no_points() -> None:
    assert points([], 0) == []


def steps_with(step_status: str) -> list[dict[str, Any]]:
    """The steps, each with its status: d(one), l(eft unfinished), n(ever taken)."""
    words = {"d": "done", "l": "left", "n": "never"}
    return [step | {"when": words[when]} for step, when in zip(steps(), step_status, strict=True)]


@pytest.mark.parametrize(
    ("step_status", "expected"),
    [
        pytest.param("nnnnnnnnnn", "", id="it never set out"),
        pytest.param("lnnnnnnnnn", "absent -delete-only", id="rolled back before its first version was published"),
        pytest.param("dddddlnnnn", "absent delete-only wait write-only wait -reorganise", id="verification failed"),
        pytest.param("dddnnnnnnn", "absent delete-only wait write-only", id="cancelled with a version just out"),
        pytest.param("dddddddddd", words(10, is_over=True), id="it has arrived"),
    ],
)
def test_of_steps_that_were_left_only_what_was_taken_is_shown(step_status: str, expected: str) -> None:
    shown = [{"done": "", "left": "-"}[s["when"]] + (s["state"] or s["kind"]) for s in taken(steps_with(step_status))]
    assert " ".join(shown) == expected


@pytest.mark.parametrize(
    ("begun", "published", "step_status"),
    [
        pytest.param([], 0, "nnnnnnnnnn", id="nothing was begun"),
        pytest.param([0], 0, "lnnnnnnnnn", id="a publish that was waited for in vain"),
        pytest.param([0, 1, 2], 2, "dddnnnnnnn", id="a publish that is out"),
        pytest.param(range(6), 2, "dddddlnnnn", id="work that failed"),
    ],
)
def test_a_change_turned_at_the_last_step_it_began(begun: Collection[int], published: int, step_status: str) -> None:
    plan = plans()["add an index"]
    assert tuple(step.kind.value for step in plan.forward) == KINDS
    assert (
        "".join(when[0] for when in status_before_rollback(plan.forward, begun, newest=plan.base_version + published))
        == step_status
    )


@pytest.mark.parametrize(
    ("others", "versions"),
    [
        pytest.param((8, 9), "flights 4 airports 7, flights 5 airports 8, flights 6 airports 9", id="both move"),
        pytest.param((None, 8), "flights 4 airports 7, flights 5 airports 7, flights 6 airports 8", id="one waits"),
        pytest.param((5, 6), ", , ", id="the same numbers all the way need no names"),
        pytest.param((None, None), ", , ", id="one table"),
    ],
)
def test_of_several_tables_each_version_is_reported_by_name(others: tuple[int | None, ...], versions: str) -> None:
    there = [
        step(0, "publish", 5, transition("absent", "write-only"), airports=others[0]),
        step(1, "drain", 5, airports=others[0]),
        step(2, "publish", 6, transition("write-only", "public"), airports=others[1]),
    ]
    told = [" ".join(f"{one['table']} {one['version']}" for one in s["tables"]) for s in points(there, 0) if s["state"]]
    assert ", ".join(told) == versions


# --- durations


AT = "2026-03-04T12:00:{:06.3f}+00:00"


def timed(ends: dict[int, float], *, waited_for: dict[int, list[str]]) -> list[dict[str, Any]]:
    """The steps, each begun when the one before it ended: seconds after noon."""
    shown, began = [], 0.0
    for one in steps():
        ended = ends.get(one["number"])
        times = {"started_at": None if began is None else AT.format(began), "ended_at": ended and AT.format(ended)}
        shown.append(one | times | {"waited_for": waited_for.get(one["number"], [])})
        began = ended
    return shown


def test_every_point_says_how_long_it_took_and_for_whom_it_waited() -> None:
    ends = {0: 0.5, 1: 2.5, 2: 2.75, 3: 3.0, 4: 5.0, 5: 8.0, 6: 8.0, 7: 8.5, 8: 9.5, 9: 10.0}
    line = points(timed(ends, waited_for={1: ["n3 on flights", "n2 on flights"]}), 10, is_over=True)
    assert [(one["state"] or one["kind"], one["took_s"], one["whom"]) for one in line] == [
        ("absent", None, ""),
        ("delete-only", 2.25, ""),
        ("wait", 2.0, "n3, n2 on flights"),
        ("write-only", 5.75, ""),
        ("wait", 0.25, ""),
        ("reorganise", 5.0, ""),
        ("public", None, ""),
        ("wait", 1.0, ""),
        ("tidy", 0.5, ""),
    ]
    reorganise = next(one for one in line if one["kind"] == "reorganise")
    assert [(work["kind"], work["took_s"]) for work in reorganise["works"]] == [
        ("fill", 2.0), ("verify", 3.0), ("close", 0.0),
    ]  # fmt: skip


def test_of_a_wait_the_nodes_bear_their_part_alone() -> None:
    """They had left after 0.4 of 2.5 s; what came after that was not theirs. What nobody would notice is not told."""
    ends = {0: 0.5, 1: 3.0, 2: 3.25, 3: 3.5}
    waited = [one | {"waited_s": 0.4} for one in timed(ends, waited_for={1: ["n3"]})]
    waits = [one for one in points(waited, 4) if one["kind"] == "wait"]
    assert [(one["whom"], one["nodes_s"], one["rest_s"]) for one in waits[:2]] == [("n3", 0.4, 2.1), ("", 0.0, None)]
    shown = render_to_string("parts/timeline.html", {"steps": waits})
    assert "400 ms for n3" in shown
    assert "then 2.1 s with no lease in the way" in shown
    shown = render_to_string("parts/timeline.html", {"steps": [waits[0] | {"took_s": 180.0, "rest_s": 158.0}]})
    assert "then 2 min 38 s with" in shown, "parts add up"


def test_the_point_where_it_is_counts_from_its_beginning() -> None:
    """In the browser: what the server sends stays the same meanwhile."""
    line = points(timed({0: 0.5, 1: 2.5, 2: 2.75, 3: 3.0, 4: 5.0}, waited_for={}), 5)
    now = next(one for one in line if one["when"] == "current")
    assert (now["kind"], now["since"], now["took_s"]) == ("reorganise", AT.format(3.0), None)
    assert [one["since"] for one in line if one["when"] != "current"] == [None] * (len(line) - 1)
    assert next(one for one in line if one["state"] == "write-only")["took_s"] is None, "it lasts"


def test_a_plan_has_no_durations() -> None:
    assert {(one["took_s"], one["since"], one["whom"]) for one in points(steps(), -1)} == {(None, None, "")}


def test_where_several_elements_move_one_after_the_other_each_state_has_its_name() -> None:
    """A type change: the new column's states, then the old one's."""
    new = {"kind": "column", "name": "year (as bigint)"}
    old = {"kind": "column", "name": "year (was integer)"}
    line = points(
        [
            step(0, "publish", 3, new | {"before": "absent", "after": "delete-only"}),
            step(
                1,
                "publish",
                4,
                new | {"before": "write-only", "after": "public"},
                old | {"before": "public", "after": "write-only"},
            ),
            step(2, "publish", 5, old | {"before": "write-only", "after": "delete-only"}),
        ],
        3,
    )
    assert [(point["state"], point["of"], len(point.get("moves", ()))) for point in line] == [
        ("absent", "year (as bigint)", 0),
        ("delete-only", "year (as bigint)", 0),
        ("public", "", 2),
        ("delete-only", "year (was integer)", 0),
    ]
    assert {point["of"] for point in points(steps(), 3) if point["kind"] == "state"} == {""}
