"""The two sides of a foreign key are one element, in two descriptors (L11): the same state, name and columns in every
published version. With one side missing, a row could refer to nothing, or a referenced row could be deleted (C6). What
a foreign key needs stays public as long as it, and its table leaves public after it."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from catalog.descriptor import Descriptor
from catalog.elements import FOREIGN_KEY, PRIMARY, REFERENCED, Constraint, State, TableId
from catalog.text.message import STATES, Text, Values, named_element
from changes.plan.model import Plan, Step, StepKind
from changes.review.defect import Fault
from changes.review.neighbour_states import ONE_SIDED

SIDES = (FOREIGN_KEY, REFERENCED)
Known = Mapping[int, Descriptor]
Ends = tuple[Constraint | None, Constraint | None]
"""A foreign key as the referring table bears it, and as the referenced one does."""

Named = tuple[int, int, int, int]
"""Which foreign key: referring table, its id there, referenced table, its id there."""


def side_faults(base: Descriptor | None, partners: Sequence[Descriptor], steps: Sequence[Step]) -> Iterator[Fault]:
    """Faults where the two sides differ, in steps over `base` and the other tables."""
    before: dict[int, Descriptor] = {table.table_id: table for table in (*([base] if base else ()), *partners)}
    readable = {table.table_id for table in before.values() if table.state is State.PUBLIC}
    for at, step in enumerate(steps):
        if step.kind is not StepKind.PUBLISH:
            continue
        after = before | {table.table_id: table for table in (step.published, *step.partners)}
        yield from _parted(at, before, after)
        yield from _unsupported(at, before, after, readable)
        readable |= {table.table_id for table in after.values() if table.state is State.PUBLIC}
        before = after


def _parted(at: int, before: Known, after: Known) -> Iterator[Fault]:
    old = _ends(before)
    for named, (referring, referenced) in _ends(after).items():
        if (referring, referenced) == old.get(named, (None, None)):
            continue
        child, parent = after.get(named[0]), after.get(named[2])
        here, there = _state(referring), _state(referenced)
        if here is not there:
            danger = ONE_SIDED[here is not State.ABSENT, there is not State.ABSENT]
            values: Values = {
                "element": named_element("foreign key", _name(referring or referenced)),
                "before": STATES[here],
                "one": _table(child, named[0]),
                "after": STATES[there],
                "other": _table(parent, named[2]),
                "witness": danger.witness,
            }
            why = Text("{element} is {before} in {one} and {after} in {other}: {witness}", values)
            yield Fault(at, danger.clauses, why)
        elif referring is not None and referenced is not None and referring.mirrored(TableId(named[0])) != referenced:
            sides: Values = {"name": referring.name, "one": str(child), "other": str(parent)}
            why = Text(
                "foreign key {name} differs between {one} and {other}: rows are checked by one side, and the rows they"
                " refer to by the other",
                sides,
            )
            yield Fault(at, ("C6",), why)


def _ends(known: Known) -> dict[Named, Ends]:
    found: dict[Named, Ends] = {}
    for table in known.values():
        for one in (*table.foreign_keys, *table.referenced_by):
            mine, other = (int(table.table_id), int(one.id)), (int(one.references or 0), int(one.partner or 0))
            if one.rule == FOREIGN_KEY:
                found[mine + other] = one, found.get(mine + other, (None, None))[1]
            else:
                found[other + mine] = found.get(other + mine, (None, None))[0], one
    return found


def _state(side: Constraint | None) -> State:
    return State.ABSENT if side is None else side.state


def _name(side: Constraint | None) -> str:
    assert side is not None, "a foreign key has at least one side"
    return side.name


def _table(table: Descriptor | None, table_id: int) -> str:
    return f"table {table_id}, which is not in the plan," if table is None else str(table)


# --- what it depends on


def _unsupported(at: int, before: Known, after: Known, readable: Collection[int]) -> Iterator[Fault]:
    """Something that a foreign key needs leaves public while a version in use has it. A table that was not `readable`
    yet does not count: it is new and empty (L13)."""
    for table_id, table in after.items():
        old = before.get(table_id, table)
        if table_id in before and old == table:
            continue
        bound = {one.id: one for one in (*old.constraints, *table.constraints) if one.rule in SIDES}.values()
        yield from _lost_index(at, table, [one for one in bound if one.rule == REFERENCED])
        for one in bound if table.state is not State.PUBLIC and table_id in readable else ():
            left: Values = {"table": table.name, "state": STATES[table.state], "name": one.name}
            why = Text(
                "table {table} becomes {state} while foreign key {name} is not absent yet: no node can look into it to"
                " see whether a row is referred to",
                left,
            )
            yield Fault(at, ("C6",), why)


def _lost_index(at: int, table: Descriptor, referenced: Sequence[Constraint]) -> Iterator[Fault]:
    """The newest version and the one before must both have the index."""
    for one in referenced:
        index = next((i for i in table.indexes if i.id == one.index), None)
        if one.index == PRIMARY and set(one.columns) == set(table.primary_key):
            continue
        is_whole = index is not None and index.unique and index.where is None
        if index is None or not is_whole or set(index.column_ids) != set(one.columns):
            why = Text(
                "foreign key {name} refers to columns of {table} that no unique index covers: two rows may have the"
                " same value",
                {"name": one.name, "table": str(table)},
            )
            yield Fault(at, ("C6",), why)
        elif index.state is not State.PUBLIC:
            pair: Values = {"index": index.name, "state": STATES[index.state], "name": one.name}
            why = Text(
                "index {index} is {state} while foreign key {name} refers by it: a node cannot see whether a referenced"
                " row exists",
                pair,
            )
            yield Fault(at, ("C6",), why)


# --- every version of another table, and its drain


def partner_faults(plan: Plan) -> Iterator[Fault]:
    """Versions of other tables that do not follow each other, or do more than move the plan's foreign keys."""
    known = {table.table_id: table for table in plan.partners}
    own = {e.partner for e in (move.element for move in plan.moves) if e.partner is not None}
    for at, step in enumerate(plan.forward):
        for after in step.partners if step.kind is StepKind.PUBLISH else ():
            before = known.get(after.table_id)
            if before is None or after.table_id == plan.table_id:
                why = Text("it publishes {after}, and the plan does not move this table (L11)", {"after": str(after)})
                yield Fault(at, (), why)
                continue
            if after.version != before.version + 1:
                numbers: Values = {"after": str(after), "next": f"{before.name}@{before.version + 1}"}
                yield Fault(at, (), Text("it publishes {after}, and {next} is next (L7)", numbers))
            if _without(after, own, before) != _without(before, own, before):
                why = Text("{after} changes more than the foreign keys of the plan", {"after": str(after)})
                yield Fault(at, (), why)
            known[after.table_id] = after


def _without(table: Descriptor, own: set[tuple[int, int]], as_in: Descriptor) -> Descriptor:
    """The table without its sides of the plan's foreign keys, with the number and used ids of `as_in`."""
    left = tuple(one for one in table.constraints if (table.table_id, one.id) not in own)
    return replace(table, version=as_in.version, constraints=left, next_constraint_id=as_in.next_constraint_id)


def drain_faults(steps: Sequence[Step]) -> Iterator[Fault]:
    """Every version of another table is drained before the next step (L11)."""
    left: dict[int, Descriptor] = {}
    for at, step in enumerate(steps):
        if step.kind is StepKind.DRAIN:
            drained = {int(table.table_id): table.version for table in step.partners}
            left = {number: table for number, table in left.items() if drained.get(number, 0) < table.version}
        elif left and step.kind is not StepKind.CLOSE:
            names = " and ".join(map(str, left.values()))
            values: Values = {"word": step.kind.value, "tables": names}
            why = Text("`{word}` begins before {tables} is drained with its own version (L11)", values)
            yield Fault(at, (), why)
            left = {}
        if step.kind is StepKind.PUBLISH:
            left |= {table.table_id: table for table in step.partners}
    if left:
        names = " and ".join(map(str, left.values()))
        why = Text("{tables} is not drained when the change is done (L11, L12)", {"tables": names})
        yield Fault(len(steps) - 1, (), why)
