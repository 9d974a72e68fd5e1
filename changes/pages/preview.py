"""The preview of a plan: states version by version, work, rollback, the point of no return."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from catalog.descriptor import Descriptor
from catalog.elements import State
from catalog.text.sentence import Sentence, listed
from changes.pages.estimates import NOTHING_SEEN, ROWS_PER_S, Observed, estimate, together
from changes.plan.element_states import is_filling, state_of
from changes.plan.model import (
    RUNS,
    Element,
    Plan,
    Step,
    StepKind,
    describe,
    edits_in,
    names_of,
    pairs_of,
    why_no_return,
)
from changes.plan.rollback import moving, rollback_steps

Json = dict[str, Any]
WAITS_ONCE, WAITS_TWICE, WAITS = (
    "It waits once until no node uses an older version: milliseconds while nodes answer, at most as long as a lease"
    " when one does not.",
    "It waits twice until no node uses an older version: milliseconds while nodes answer, at most as long as a lease"
    " when one does not.",
    "It waits {n} times until no node uses an older version: milliseconds while nodes answer, at most as long as a"
    " lease when one does not.",
)
WITHDRAWN = (
    "What was added is withdrawn again: {pairs} are deleted, and {name} is as it was.",
    "What was added is withdrawn again: {pairs} are deleted, and {name} are as they were.",
)
BACK = (
    "Nothing was lost yet: {final} again, and {name} is as it was.",
    "Nothing was lost yet: {final} again, and {name} are as they were.",
)
"""Of one table, and of several."""


def versions(plan: Plan) -> list[Json]:
    """The states of all moving elements in the current version and in each that will be published."""
    others = {partner.table_id: partner for partner in plan.partners}
    shown = [_version(plan, plan.base, None, others.values())]
    before = plan.base
    for step in plan.publishes:
        others |= {partner.table_id: partner for partner in step.partners}
        shown.append(_version(plan, step.published, before, others.values()) | {"edits": edits_in(plan, step)})
        before = step.published
    return shown


def _version(plan: Plan, version: Descriptor | None, before: Descriptor | None, partners: Iterable[Descriptor]) -> Json:
    return {
        "version": version.version if version else 0,
        "partners": versions_json(partners),
        "states": [_cell(element, version, before) for element in moving(plan)],
        "edits": [],
    }


def versions_json(partners: Iterable[Descriptor]) -> list[Json]:
    """Versions of the other tables of a plan or a step (L11)."""
    return [{"table": one.name, "table_id": one.table_id, "version": one.version} for one in partners]


def _cell(element: Element, version: Descriptor | None, before: Descriptor | None) -> Json:
    state = state_of(version, element) if version else State.ABSENT
    old = state_of(before, element) if before else State.ABSENT
    return {
        "element": str(element),
        "state": state.value,
        "filling": version is not None and is_filling(version, element),
        "is_moved": version is not None and state is not old,
    }


def reorganisations(plan: Plan, observed: Observed = NOTHING_SEEN) -> list[Json]:
    rows = plan.rows or 0
    return [
        {
            "number": number,
            "kind": step.kind.value,
            "text": describe(plan, step),
            "rows": rows,
            "estimate": asdict(estimate(step.kind, rows, observed)),
        }
        for number, step in enumerate(plan.forward)
        if step.kind in ROWS_PER_S
    ]


def takes(plan: Plan, observed: Observed = NOTHING_SEEN) -> Json | None:
    """The time of all reorganisations; None without any."""
    rows = plan.rows or 0
    found = together(estimate(step.kind, rows, observed) for step in plan.forward if step.kind in ROWS_PER_S)
    return None if found is None else asdict(found)


def waits(plan: Plan) -> str:
    count = sum(step.kind is StepKind.DRAIN for step in plan.forward)
    return Sentence({1: WAITS_ONCE, 2: WAITS_TWICE}.get(count, WAITS), n=count)


def no_return(plan: Plan) -> Json:
    """The step after which the change cannot roll back, and why (X6)."""
    step = plan.forward[plan.point_of_no_return]
    begun = "once it is published" if plan.last_reversible == plan.point_of_no_return else "once it has begun"
    return {"number": plan.point_of_no_return, "text": describe(plan, step), "why": why_no_return(plan), "when": begun}


def rollback(plan: Plan) -> Json:
    steps = rollback_steps(plan, plan.reversible_publishes)
    return {"summary": _summary(plan, steps), "steps": [describe(plan, step) for step in steps]}


def _summary(plan: Plan, steps: tuple[Step, ...]) -> str:
    if not steps:
        return Sentence("It takes one version and nothing is lost: there is no rollback, only another change.")
    names, many = names_of(plan), bool(plan.partners)
    if deleted := [pairs_of(step.elements) for step in steps if step.kind in RUNS]:
        return Sentence(WITHDRAWN[many], pairs=listed(deleted), name=names)
    moved = [transition for step in steps for transition in step.transitions]
    back = [Sentence("{element} is {state}", element=one.element, state=one.after.value) for one in moved]
    return Sentence(
        BACK[many] if back else "Nothing was lost yet: {name} is as it was.", final=listed(back), name=names
    )
