"""The rollback from any step before the point of no return (X4), whatever the change moves.

    close the run, when one may be open
    b1    what was dropped is public again; what is added and may be written is delete-only
          (a constraint: absent); names and defaults are as they were; drain
    delete what the added elements have in the store
    b2    what was added is absent; drain

It ends with a descriptor equal to the first one but for its version and the ids used up, which are never used again;
so do the tables that foreign keys of the change reference, published and drained together with its own (L11).
"""

from collections.abc import Iterator
from dataclasses import replace

from catalog.descriptor import Descriptor
from catalog.elements import Kind, State
from changes.plan.element_states import drain, partner_of, publish, referring_to, state_of, with_state
from changes.plan.model import RUNS, Element, MoveKind, Plan, Step, StepKind, why_no_return


def rollback_steps(plan: Plan, published: int) -> tuple[Step, ...]:
    """The steps from where `published` forward versions are out, back to a table as before."""
    if published == 0:
        return ()
    reversible = sum(step.kind is StepKind.PUBLISH for step in plan.forward[: plan.point_of_no_return])
    assert published <= reversible, f"there is no rollback: {why_no_return(plan)}"
    return tuple(_walk(plan, published))


def _walk(plan: Plan, published: int) -> Iterator[Step]:
    last = plan.publishes[published - 1].published
    if _may_run(plan, published):
        yield Step(StepKind.CLOSE, last.version)
    here = _withdrawn(plan, last)
    others = partners_after(plan, published)
    back = {other.table_id: _withdrawn_there(plan, other) for other in others}
    changed = tuple(back[o.table_id].next_version() for o in others if back[o.table_id] != o)
    if here != last:
        here = here.next_version()
        yield publish(last, here, moving(plan), changed)
    yield drain(here, changed)
    left = tuple(element for element in _added(plan) if state_of(here, element) is not State.ABSENT)
    if left:
        yield from _deleted(here, left)


def _deleted(here: Descriptor, left: tuple[Element, ...]) -> Iterator[Step]:
    """Remove what was added: its pairs, then itself."""
    yield Step(StepKind.DELETE, here.version, elements=deletion_order(left))
    absent = here
    for element in reversed(left):
        absent = with_state(absent, element, State.ABSENT)
    absent = absent.next_version()
    yield publish(here, absent, left)
    yield drain(absent)


def partners_after(plan: Plan, published: int) -> tuple[Descriptor, ...]:
    """The plan's other tables when so many of its forward versions are out."""
    now = {partner.table_id: partner for partner in plan.partners}
    now |= {partner.table_id: partner for step in plan.publishes[:published] for partner in step.partners}
    return tuple(now.values())


def _may_run(plan: Plan, published: int) -> bool:
    """True when a reorganisation may be under way while this version is the newest."""
    at = plan.forward.index(plan.publishes[published - 1])
    following = plan.forward[at + 1 : plan.point_of_no_return]
    until = next((n for n, step in enumerate(following) if step.kind is StepKind.PUBLISH), len(following))
    return any(step.kind in RUNS for step in following[:until])


def _withdrawn(plan: Plan, last: Descriptor) -> Descriptor:
    """The first version of the rollback, its number still to come."""
    here = last
    for element in _added(plan):
        here = _hidden(here, element)
    for element in plan.moving(MoveKind.DROP):
        if state_of(here, element) is not State.PUBLIC:
            here = with_state(here, element, State.PUBLIC)
    return as_named_before(here, plan.base)


def _withdrawn_there(plan: Plan, last: Descriptor) -> Descriptor:
    """The same of a table that foreign keys reference: those added are absent, those dropped public."""
    here = last
    for state, elements in ((State.ABSENT, _added(plan)), (State.PUBLIC, plan.moving(MoveKind.DROP))):
        for element in map(partner_of, referring_to(here, elements)):
            if state_of(here, element) is not State.ABSENT:
                here = with_state(here, element, state)
    return here


def _hidden(here: Descriptor, element: Element) -> Descriptor:
    if state_of(here, element) is not State.WRITE_ONLY:
        return here
    lower = State.ABSENT if element.kind is Kind.CONSTRAINT else State.DELETE_ONLY
    return with_state(here, element, lower)


def as_named_before(here: Descriptor, base: Descriptor | None) -> Descriptor:
    """Names and defaults as `base` has them."""
    if base is None:
        return here
    columns = {column.id: column for column in base.columns}
    names = {index.id: index.name for index in base.indexes}
    old_names = {constraint.id: constraint.name for constraint in base.constraints}
    return replace(
        here,
        name=base.name,
        columns=tuple(
            replace(c, name=columns[c.id].name, default=columns[c.id].default) if c.id in columns else c
            for c in here.columns
        ),
        indexes=tuple(replace(i, name=names.get(i.id, i.name)) for i in here.indexes),
        constraints=tuple(replace(c, name=old_names.get(c.id, c.name)) for c in here.constraints),
    )


def moving(plan: Plan) -> tuple[Element, ...]:
    """The elements that go from state to state."""
    return plan.moving(MoveKind.ADD, MoveKind.DROP)


def _added(plan: Plan) -> tuple[Element, ...]:
    return plan.moving(MoveKind.ADD)


def deletion_order(elements: tuple[Element, ...]) -> tuple[Element, ...]:
    """Index entries, then columns' values, then rows; a constraint has nothing in the store."""
    kept = [element for element in elements if element.kind is not Kind.CONSTRAINT]
    return tuple(sorted(kept, key=lambda element: (element.kind is Kind.TABLE, not element.kind.is_index)))
