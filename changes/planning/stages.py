"""Stages: one series of steps for several moves; what is due at a stage is one version (the table is in
docs/architecture/changes.md, the rules in protocol section 4).

Empty stages are left out; new names and defaults come with the first version. Nothing irreversible is published before
stage 3, when every addition has been verified. A moving foreign key gives the referenced table a new version, too,
published and drained together (L11). That of a new table is write-only in both while the table is delete-only, and
public with it: every row is checked.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from catalog.descriptor import Descriptor
from catalog.elements import ColumnId, Constraint, Derivation, Kind, State, TableId
from changes.plan.element_states import AnyElement, drain, partner_of, referring_to, with_new, with_state
from changes.plan.model import Element, Move, MoveKind, Plan, Step, StepKind, Transition, point_of_no_return
from changes.plan.rollback import deletion_order

A, D, W, P = State.ABSENT, State.DELETE_ONLY, State.WRITE_ONLY, State.PUBLIC
HIDDEN, WRITTEN, SHOWN, WITHDRAWN = 1, 2, 3, 4
"""The stages by what happens to most elements there."""

Rungs = Mapping[int, State]
Edit = Callable[[Descriptor], Descriptor]


@dataclass(frozen=True, slots=True)
class Swap:
    """A change of type: at stage 3 the twin takes the column's place, which is derived from it then."""

    twin: Element
    old: Element
    hidden_name: str
    backwards: str
    default: str | None = None


@dataclass(frozen=True, slots=True)
class Draft:
    """The elements that a statement moves. `new` are added elements in their first state, `covered` added optional
    columns that something added needs written, `late` what leaves public after the constraints that need it. `edit`
    gives new names and defaults. `partners` are the referenced tables; `there` is an added foreign key's other side,
    `edit_there` edits the partners."""

    table_id: int
    table: str
    base: Descriptor | None
    moves: tuple[Move, ...]
    new: Mapping[Element, AnyElement | Descriptor] = field(default_factory=dict)
    covered: frozenset[Element] = frozenset()
    late: frozenset[Element] = frozenset()
    swaps: tuple[Swap, ...] = ()
    edit: Edit | None = None
    later_edits: tuple[Edit, ...] = ()
    """What each version after the last stage changes besides."""
    dangers: tuple[str, ...] = ()
    costs: tuple[str, ...] = ()
    partners: tuple[Descriptor, ...] = ()
    there: Mapping[Element, Constraint] = field(default_factory=dict)
    edit_there: Edit | None = None


def compose(draft: Draft) -> Plan:
    forward = tuple(_Steps(draft).steps())
    point = point_of_no_return(draft.moves, forward)
    assert point is not None, "some step is the last that can be taken back"
    return Plan(
        draft.table_id,
        draft.table,
        draft.moves,
        draft.base,
        forward,
        point,
        draft.dangers,
        draft.costs,
        partners=draft.partners,
    )


# --- when each element is where


def rungs_up(element: Element, *, is_covered: bool) -> Rungs:
    """The states of an added element by stage; one that is covered becomes write-only."""
    ladder = element.kind.facts.ladder
    stages = {HIDDEN: D, WRITTEN: W, SHOWN: P}
    return {stage: state for stage, state in stages.items() if state in ladder or (state is W and is_covered)}


def rungs_down(element: Element, *, is_late: bool, is_alone: bool, is_covered: bool = False) -> Rungs:
    """The states of a dropped element by stage; elements with pairs become absent together. `is_covered`: a late index
    may cover it, and is never ahead of it."""
    below_public = tuple(reversed(element.kind.facts.ladder[:-1]))
    states = below_public[:-1] if element.kind.has_pairs else below_public
    is_hidden_at_once = W not in states
    if is_late:
        first = WITHDRAWN + 2 if is_hidden_at_once and is_covered else WITHDRAWN + 1
    else:
        first = WITHDRAWN if is_hidden_at_once and not is_alone else SHOWN
    return dict(enumerate(states, first))


class _Steps:
    def __init__(self, draft: Draft) -> None:
        self.draft = draft
        self.added = _of(draft.moves, MoveKind.ADD)
        self.dropped = _of(draft.moves, MoveKind.DROP)
        self.filled = _fill_order(element for element in self.added if element.kind.is_filled)
        up = {element: rungs_up(element, is_covered=element in self.draft.covered) for element in self.added}
        if self.draft.base is None:  # no row can be written before the table is public: nothing is to be verified
            up |= {element: {HIDDEN: W, SHOWN: P} for element in self.added if element.kind is Kind.CONSTRAINT}
        is_alone = all(W not in element.kind.facts.ladder for element in self.dropped)
        late = self.draft.late
        is_covered = any(element.kind.is_index for element in late)
        down = {
            element: rungs_down(element, is_late=element in late, is_alone=is_alone, is_covered=is_covered)
            for element in self.dropped
        }
        self.ladders = up | down
        self.deleted_at = max((max(self.ladders[e]) for e in self._with_pairs()), default=0)
        for element in self._with_pairs():
            self.ladders[element] = {**self.ladders[element], self.deleted_at + 1: A}
        self.at = dict.fromkeys(self.added, A) | dict.fromkeys(self.dropped, P)
        self.others: dict[TableId, Descriptor] = {table.table_id: table for table in draft.partners}

    def _with_pairs(self) -> tuple[Element, ...]:
        return deletion_order(self.dropped)

    def steps(self) -> Iterator[Step]:
        here, edit, edit_there = self.draft.base, self.draft.edit, self.draft.edit_there
        last = max((max(ladder) for ladder in self.ladders.values()), default=HIDDEN)
        for stage in range(HIDDEN, last + 1):
            due = [(element, ladder[stage]) for element, ladder in self.ladders.items() if stage in ladder]
            if not due and (edit is None or self.ladders):
                continue
            here = self._version(here, stage, due, edit)
            partners = self._partners(due, edit_there)
            edit = edit_there = None
            yield Step(StepKind.PUBLISH, here.version, self._transitions(due), here, partners=partners)
            yield drain(here, partners)
            constraints = tuple(element for element in self.added if element.kind is Kind.CONSTRAINT)
            if stage == WRITTEN and self.filled:
                yield Step(StepKind.FILL, here.version, elements=self.filled)
            if stage == WRITTEN and (self.filled or constraints):
                yield Step(StepKind.VERIFY, here.version, elements=(*self.filled, *constraints))
                yield Step(StepKind.CLOSE, here.version)
            if stage == SHOWN and self.filled:
                yield Step(StepKind.PURGE, here.version, elements=self.filled)
            if stage == self.deleted_at:
                yield Step(StepKind.DELETE, here.version, elements=self._with_pairs())
        for later in self.draft.later_edits:
            assert here is not None, "what is edited is there"
            here = later(here).next_version()
            yield Step(StepKind.PUBLISH, here.version, descriptor=here)
            yield drain(here)

    def _version(
        self, before: Descriptor | None, stage: int, due: list[tuple[Element, State]], edit: Edit | None
    ) -> Descriptor:
        if before is None:
            table = next((new for new in self.draft.new.values() if isinstance(new, Descriptor)), None)
            assert table is not None, "a table that is new is described"
            before = replace(table, version=0)
        here = before if edit is None else edit(before)
        for element, state in sorted(due, key=_leaves_last):
            here = self._moved(here, element, state)
        for swap in self.draft.swaps if stage == SHOWN else ():
            here = swapped(here, swap)
        return replace(here, version=before.version + 1)

    def _moved(self, here: Descriptor, element: Element, state: State) -> Descriptor:
        is_filling = state is W and element in self.filled
        new = self.draft.new.get(element)
        if self.at[element] is A and new is not None and not isinstance(new, Descriptor):
            here = with_new(here, new)
            for one in referring_to(here, (element,)):
                here = with_new(here, self.draft.there[one])
        return with_state(here, element, state, filling=is_filling)

    def _partners(self, due: list[tuple[Element, State]], edit: Edit | None) -> tuple[Descriptor, ...]:
        changed = []
        for before in self.others.values():
            here = before if edit is None else edit(before)
            for element in referring_to(before, (element for element, _ in due)):
                if self.at[element] is A:
                    here = with_new(here, self.draft.there[element])
                here = with_state(here, partner_of(element), dict(due)[element])
            if here != before:
                changed.append(here.next_version())
        self.others |= {new.table_id: new for new in changed}
        return tuple(changed)

    def _transitions(self, due: list[tuple[Element, State]]) -> tuple[Transition, ...]:
        found = tuple(Transition(element, self.at[element], state) for element, state in due)
        self.at |= dict(due)
        return found


def _leaves_last(due: tuple[Element, State]) -> bool:
    """A column is dropped after the indexes that cover it, in the same version."""
    element, state = due
    return state is A and element.kind.is_column


def _of(moves: tuple[Move, ...], direction: MoveKind) -> tuple[Element, ...]:
    return tuple(move.element for move in moves if move.kind is direction)


def _fill_order(elements: Iterator[Element]) -> tuple[Element, ...]:
    return tuple(sorted(elements, key=lambda element: element.kind.is_index))


def swapped(here: Descriptor, swap: Swap) -> Descriptor:
    """The twin takes place and name of the old column, which is derived from it now."""
    old, twin = here.column(ColumnId(swap.old.id)), here.column(ColumnId(swap.twin.id))
    forwards = twin.derived.expression if twin.derived else None
    new = replace(
        twin,
        name=old.name,
        not_null=old.not_null,
        not_null_constraint=old.not_null_constraint,
        added_with_default=True,
        derived=None,
        default=swap.default,
        comment=old.comment,
        place_of=old.number,
    )
    left = replace(
        old,
        name=swap.hidden_name,
        not_null=False,
        not_null_constraint=None,
        default=None,
        comment=None,
        added_with_default=False,
        derived=Derivation(ColumnId(swap.twin.id), swap.backwards, inverse=forwards),
    )
    # SELECT * keeps the order of columns it had
    others = [column for column in here.columns if column.id != new.id]
    return replace(here, columns=(*(new if column.id == left.id else column for column in others), left))
