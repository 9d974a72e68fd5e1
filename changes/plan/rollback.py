"""The rollback from any step before the point of no return (X4).

It closes the run, then publishes one version where dropped elements are public again and added ones delete-only
(constraints absent), with the old names and defaults; after a swap this one swaps back, and a second one hides the
added side. Then the pairs of added elements are deleted, and they are absent. Nothing is filled, since writers have
kept the old side complete. The last descriptor equals the first but for its version and used ids; so do those of
referenced tables (L11).
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from catalog.descriptor import Descriptor
from catalog.elements import IDENTITY, Column, ColumnId, Kind, State
from changes.plan.element_states import drain, partner_of, publish, referring_to, state_of, with_state
from changes.plan.model import RUNS, Element, MoveKind, Plan, Step, StepKind, why_no_return


def rollback_steps(plan: Plan, published: int) -> tuple[Step, ...]:
    if published == 0:
        return ()
    assert published <= plan.reversible_publishes, f"there is no rollback: {why_no_return(plan)}"
    return tuple(_walk(plan, published))


def _walk(plan: Plan, published: int) -> Iterator[Step]:
    versions = [step.published for step in plan.publishes[:published]]
    last = versions[-1]
    if _may_run(plan, published):
        yield Step(StepKind.CLOSE, last.version)
    here = _withdrawn(plan, versions)
    others = partners_after(plan, published)
    back = {other.table_id: _withdrawn_there(plan, other) for other in others}
    changed = tuple(back[o.table_id].next_version() for o in others if back[o.table_id] != o)
    if here != last:
        here = here.next_version()
        yield publish(last, here, moving(plan), changed)
    yield drain(here, changed)
    hidden = _hidden(here, _added(plan))
    if hidden != here:
        before, here = here, hidden.next_version()
        yield publish(before, here, moving(plan))
        yield drain(here)
    left = tuple(element for element in _added(plan) if state_of(here, element) is not State.ABSENT)
    if left:
        # remove what was added: its pairs, then itself
        yield Step(StepKind.DELETE, here.version, elements=deletion_order(left))
        absent = here
        for element in reversed(left):
            absent = with_state(absent, element, State.ABSENT)
        absent = absent.next_version()
        yield publish(here, absent, left)
        yield drain(absent)


def partners_after(plan: Plan, published: int) -> tuple[Descriptor, ...]:
    now = {partner.table_id: partner for partner in plan.partners}
    now |= {partner.table_id: partner for step in plan.publishes[:published] for partner in step.partners}
    return tuple(now.values())


def _may_run(plan: Plan, published: int) -> bool:
    at = plan.forward.index(plan.publishes[published - 1])
    following = plan.forward[at + 1 : plan.point_of_no_return]
    until = next((n for n, step in enumerate(following) if step.kind is StepKind.PUBLISH), len(following))
    return any(step.kind in RUNS for step in following[:until])


def _withdrawn(plan: Plan, versions: Sequence[Descriptor]) -> Descriptor:
    here = _hidden(versions[-1], _added(plan))
    for element in _added(plan):
        if element.kind.is_swapped and state_of(here, element) is State.PUBLIC:
            here = _swapped_back(here, element, versions)
    for element in plan.moving(MoveKind.DROP):
        if state_of(here, element) is not State.PUBLIC:
            here = with_state(here, element, State.PUBLIC)
    return as_named_before(here, plan.base)


def _withdrawn_there(plan: Plan, last: Descriptor) -> Descriptor:
    here = last
    for state, elements in ((State.ABSENT, _added(plan)), (State.PUBLIC, plan.moving(MoveKind.DROP))):
        for element in map(partner_of, referring_to(here, elements)):
            if state_of(here, element) is not State.ABSENT:
                here = with_state(here, element, state)
    return here


def _hidden(here: Descriptor, added: Sequence[Element]) -> Descriptor:
    for element in added:
        if state_of(here, element) is State.WRITE_ONLY:
            lower = State.ABSENT if element.kind is Kind.CONSTRAINT else State.DELETE_ONLY
            here = with_state(here, element, lower)
    return here


def _swapped_back(here: Descriptor, new: Element, versions: Sequence[Descriptor]) -> Descriptor:
    """Both sides of a swap as in the last version before it, filled."""
    hidden = (State.DELETE_ONLY, State.WRITE_ONLY)
    before = next((version for version in reversed(versions) if state_of(version, new) in hidden), None)
    if before is None:
        return here
    if new.kind is Kind.PLACEMENT:
        return replace(here, placements=tuple(replace(one, filling=False) for one in before.placements))
    twin = before.column(ColumnId(new.id))
    sides = {twin.id} if twin.derived is None else {twin.id, twin.derived.source}
    columns = {one.id: replace(one, filling=False) for one in before.columns if one.id in sides}
    return replace(here, columns=tuple(columns.get(one.id, one) for one in here.columns))


def as_named_before(here: Descriptor, base: Descriptor | None) -> Descriptor:
    """Names, types, defaults, identities, column order and coordination as in `base`. A wider type comes with the last
    version, so no stored value exceeds the old one."""
    if base is None:
        return here
    columns = {column.id: column for column in base.columns}
    order = [*columns, *(column.id for column in here.columns if column.id not in columns)]
    names = {index.id: index.name for index in base.indexes}
    old_names = {constraint.id: constraint.name for constraint in base.constraints}
    return replace(
        here,
        name=base.name,
        coordination=base.coordination,
        columns=tuple(
            _edited_back(c, columns[c.id]) if c.id in columns else c
            for c in sorted(here.columns, key=lambda column: order.index(column.id))
        ),
        indexes=tuple(replace(i, name=names.get(i.id, i.name)) for i in here.indexes),
        constraints=tuple(replace(c, name=old_names.get(c.id, c.name)) for c in here.constraints),
    )


def _edited_back(column: Column, base: Column) -> Column:
    fields = ("name", "type", "length", "default", "not_null_constraint", *IDENTITY)
    return replace(column, **{name: getattr(base, name) for name in fields})


def moving(plan: Plan) -> tuple[Element, ...]:
    return plan.moving(MoveKind.ADD, MoveKind.DROP)


def _added(plan: Plan) -> tuple[Element, ...]:
    return plan.moving(MoveKind.ADD)


def deletion_order(elements: tuple[Element, ...]) -> tuple[Element, ...]:
    """Index entries, then values, then rows; constraints store nothing."""
    kept = [element for element in elements if element.kind is not Kind.CONSTRAINT]
    return tuple(sorted(kept, key=lambda element: (element.kind is Kind.TABLE, not element.kind.is_index)))
