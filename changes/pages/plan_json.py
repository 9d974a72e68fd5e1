"""A plan and its steps as data for pages and commands."""

from __future__ import annotations

from typing import Any

from changes.pages import preview, writers
from changes.pages.estimates import NOTHING_SEEN, Observed
from changes.plan.model import RUNS, Move, Plan, Step, describe


def plan_json(plan: Plan, observed: Observed = NOTHING_SEEN) -> dict[str, Any]:
    return {
        "table": plan.table,
        "table_id": plan.table_id,
        "table_ids": list(plan.table_ids),
        "partners": preview.versions_json(plan.partners),
        "title": plan.title,
        "headline": plan.headline,
        "moves": [_move_json(move) for move in plan.moves],
        "names": names_in(plan),
        "dangers": list(plan.dangers),
        "costs": list(plan.costs),
        "turn": plan.point_of_no_return,
        "rows": plan.rows or 0,
        "versions": preview.versions(plan),
        "reorganisations": preview.reorganisations(plan, observed),
        "waits": preview.waits(plan),
        "no_return": preview.no_return(plan) if plan.point_of_no_return < len(plan.forward) else None,
        "rollback": preview.rollback(plan),
        "steps": [step_json(plan, number, step) for number, step in enumerate(plan.forward)],
    }


def expected_json(plan: Plan, observed: Observed) -> dict[str, Any]:
    return {"takes": preview.takes(plan, observed), "refusals": writers.refusals(plan)}


def names_in(plan: Plan) -> list[str]:
    """Names that users gave, as they stand in the plan's words."""
    tables = {plan.table, plan.result.name, *(partner.name for partner in plan.partners)}
    return sorted(tables | {move.element.name for move in plan.moves})


def _move_json(move: Move) -> dict[str, Any]:
    element = move.element
    shown = {"kind": element.kind.value, "name": element.name, "title": str(element)}
    return shown | {"direction": move.kind.value}


def step_json(plan: Plan, number: int, step: Step) -> dict[str, Any]:
    return {
        "number": number,
        "kind": step.kind.value,
        "table": plan.table,
        "version": step.version,
        "partners": preview.versions_json(step.partners),
        "transitions": [
            {
                "kind": transition.element.kind.value,
                "name": transition.element.name,
                "before": transition.before.value,
                "after": transition.after.value,
            }
            for transition in step.transitions
        ],
        "is_reorganisation": step.kind in RUNS,
        "text": describe(plan, step),
    }
