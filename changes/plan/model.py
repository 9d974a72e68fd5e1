"""A change as steps from version to version (protocol sections 4 and 8). The plan has every version in full, so what is
published is what was shown. Once `point_of_no_return` has begun (a publish: is published) the change can only go on
(X6); before it, `changes.plan.rollback` leads back."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from catalog.descriptor import Descriptor
from catalog.descriptor import from_json as descriptor_from_json
from catalog.elements import Column, Constraint, Coordination, Index, Kind, State
from catalog.kinds import Family
from catalog.text.message import Text, named_element
from catalog.text.sentence import Sentence, joined, listed, sentence_of
from catalog.text.sentence import from_json as sentence_from_json
from catalog.text.sentence import to_json as sentence_to_json
from catalog.values.types import WHOLE

Json = dict[str, Any]


class StepKind(Enum):
    PUBLISH = "publish"
    DRAIN = "drain"
    FILL = "fill"
    """Remove the tombstones of before the drain (R6), then put what the rows lack, range by range (R2)."""
    VERIFY = "verify"
    CLOSE = "close"
    """End the run for good, so that no chunk of it can still write (R7)."""
    DELETE = "delete"
    """Remove all pairs and tombstones of the elements, or all rows of the table (R8, R9)."""
    PURGE = "purge"
    """Remove the tombstones of the fill, once its last version is drained (R8)."""


RUNS = frozenset({StepKind.FILL, StepKind.VERIFY, StepKind.DELETE, StepKind.PURGE})
"""The steps that a reorganisation on Spark does."""
WRITING = RUNS - {StepKind.VERIFY}
"""Those that a throttle slows down: a verification only reads. All of them give way to traffic."""


class MoveKind(Enum):
    """The action of a change on an element. Only ADD and DROP move its state; others need one or two versions."""

    ADD = "add"
    DROP = "drop"
    RENAME = "rename"
    ALTER = "alter"
    COMMENT = "comment on"


VERBS = {
    "create": "create {element}",
    "add": "add {element}",
    "drop": "drop {element}",
    "rename": "rename {element}",
    "change the type of": "change the type of {element}",
    "alter": "alter {element}",
    "comment on": "comment on {element}",
}


@dataclass(frozen=True, slots=True)
class Element:
    """An element that a change moves. The id of a table is its table id. `column` is for a NOT NULL, which has no
    constraint once public. `partner` is for a foreign key: the referenced table and the id of its constraint there,
    which has the same state in every version (L11)."""

    kind: Kind
    id: int
    name: str
    column: int | None = None
    partner: tuple[int, int] | None = None

    @property
    def text(self) -> Text:
        what = "column" if self.kind.is_column else "foreign key" if self.partner is not None else self.kind.value
        return named_element(what, self.name)

    def __str__(self) -> str:
        return sentence_of(self.text)


@dataclass(frozen=True, slots=True)
class Move:
    element: Element
    kind: MoveKind


@dataclass(frozen=True, slots=True)
class Transition:
    element: Element
    before: State
    after: State

    def __str__(self) -> str:
        return Sentence(
            "{element} {before} -> {after}", element=self.element, before=self.before.value, after=self.after.value
        )


@dataclass(frozen=True, slots=True)
class Step:
    """One step. `version` is the one it publishes, drains or works under. A publish has `transitions` and a
    `descriptor`, a reorganisation its `elements` in order. `partners` are versions of the plan's other tables,
    published or drained together (L11)."""

    kind: StepKind
    version: int
    transitions: tuple[Transition, ...] = ()
    descriptor: Descriptor | None = None
    elements: tuple[Element, ...] = ()
    partners: tuple[Descriptor, ...] = ()

    @property
    def published(self) -> Descriptor:
        assert self.descriptor is not None, "a publish has a descriptor"
        return self.descriptor


@dataclass(frozen=True, slots=True)
class Plan:
    """A change and its steps. `base` (None: new) and `partners` are its table and the other ones before it (L11)."""

    table_id: int
    table: str
    moves: tuple[Move, ...]
    base: Descriptor | None
    forward: tuple[Step, ...]
    point_of_no_return: int
    dangers: tuple[str, ...] = ()
    """What may be lost, refused or rolled back."""
    costs: tuple[str, ...] = ()
    """What it takes from the cluster in any case."""
    rows: int | None = None
    """Rows the reorganisation will meet, as far as known; filled in by whoever can count them."""
    partners: tuple[Descriptor, ...] = ()

    @property
    def title(self) -> str:
        return listed([*dict.fromkeys(str(move.element) for move in self.moves if not _is_old_side(move))])

    @property
    def headline(self) -> str:
        words: dict[str, list[str]] = {}
        for move in self.moves:
            if not _is_old_side(move):
                kind, is_new = move.element.kind, move.kind is MoveKind.ADD
                is_twin = is_new and kind is Kind.DERIVED_COLUMN
                verb = "create" if is_new and kind is Kind.TABLE else "change the type of" if is_twin else None
                words.setdefault(verb or move.kind.value, []).append(str(move.element))
        return listed([Sentence(VERBS[verb], element=listed([*dict.fromkeys(found)])) for verb, found in words.items()])

    @property
    def table_ids(self) -> tuple[int, ...]:
        """All tables it moves, in lock order (L11)."""
        return tuple(sorted({self.table_id, *(partner.table_id for partner in self.partners)}))

    @property
    def base_version(self) -> int:
        return self.base.version if self.base else 0

    @property
    def publishes(self) -> tuple[Step, ...]:
        return tuple(step for step in self.forward if step.kind is StepKind.PUBLISH)

    @property
    def last_reversible(self) -> int:
        """The last step at which the change may still roll back (X6). A deletion that began cannot."""
        at = self.point_of_no_return
        return at if at < len(self.forward) and self.forward[at].kind is StepKind.PUBLISH else at - 1

    @property
    def reversible_publishes(self) -> int:
        return sum(step.kind is StepKind.PUBLISH for step in self.forward[: self.point_of_no_return])

    @property
    def result(self) -> Descriptor:
        return self.publishes[-1].published

    @property
    def results(self) -> tuple[Descriptor, ...]:
        """All tables as the change leaves them, its own first."""
        left = {partner.table_id: partner for partner in self.partners}
        left |= {new.table_id: new for step in self.publishes for new in step.partners}
        return (self.result, *left.values())

    @property
    def drops_table(self) -> bool:
        return any(move.element.kind is Kind.TABLE and move.kind is MoveKind.DROP for move in self.moves)

    def makes_needless(self, table_ids: Collection[int]) -> bool:
        return self.drops_table and set(table_ids) == {self.table_id}

    def moving(self, *directions: MoveKind) -> tuple[Element, ...]:
        return tuple(move.element for move in self.moves if move.kind in directions)

    def to_json(self) -> Json:
        return {
            "table_id": self.table_id,
            "table": self.table,
            "moves": [element_json(move.element) | {"direction": move.kind.value} for move in self.moves],
            "base": None if self.base is None else self.base.to_json(),
            "forward": [
                {
                    "kind": step.kind.value,
                    "version": step.version,
                    "transitions": [
                        {"element": element_json(t.element), "before": t.before.value, "after": t.after.value}
                        for t in step.transitions
                    ],
                    "descriptor": step.descriptor.to_json() if step.descriptor else None,
                    "elements": [element_json(element) for element in step.elements],
                    "partners": [partner.to_json() for partner in step.partners],
                }
                for step in self.forward
            ],
            "turn": self.point_of_no_return,
            "dangers": [*map(sentence_to_json, self.dangers)],
            "costs": [*map(sentence_to_json, self.costs)],
            "rows": self.rows,
            "partners": [partner.to_json() for partner in self.partners],
        }


def _is_old_side(move: Move) -> bool:
    """A swap drops the old type or placement, which users see as the same thing."""
    return move.kind is MoveKind.DROP and move.element.kind.is_swapped


def plan_from_json(body: Mapping[str, Any]) -> Plan:
    return Plan(
        table_id=body["table_id"],
        table=body["table"],
        moves=tuple(Move(element_from_json(move), MoveKind(move["direction"])) for move in body["moves"]),
        base=None if body["base"] is None else descriptor_from_json(body["base"]),
        forward=tuple(_step(step) for step in body["forward"]),
        point_of_no_return=body["turn"],
        dangers=tuple(map(sentence_from_json, body["dangers"])),
        costs=tuple(map(sentence_from_json, body.get("costs", ()))),
        rows=body["rows"],
        partners=_descriptors(body),
    )


def with_rows(plan: Plan, rows: int) -> Plan:
    return replace(plan, rows=rows)


# --- words


def describe(plan: Plan, step: Step) -> str:
    what = listed([*map(str, step.elements)])
    versions = [f"{plan.table}@{step.version}", *map(str, step.partners)]
    if step.kind is StepKind.PUBLISH:
        return Sentence("publish {versions}: {what}", versions=" and ".join(versions), what=differences(plan, step))
    return {
        StepKind.DRAIN: Sentence("wait until no version before {versions} is in use", versions=" or ".join(versions)),
        StepKind.FILL: Sentence("fill {elements}", elements=what),
        StepKind.VERIFY: Sentence("verify {elements}", elements=what),
        StepKind.CLOSE: Sentence("close the run"),
        StepKind.DELETE: Sentence("delete all {pairs}", pairs=pairs_of(step.elements)),
        StepKind.PURGE: Sentence("purge the tombstones of {elements}", elements=what),
    }[step.kind]


def differences(plan: Plan, step: Step) -> str:
    """The differences that a version makes: states, names, defaults and types."""
    moved = [str(transition) for transition in step.transitions]
    return listed([*moved, *edits_in(plan, step)]) or Sentence("nothing moves")


def edits_in(plan: Plan, step: Step) -> Sequence[str]:
    """Names, defaults and types that a version gives or takes back, in words."""
    is_back = step not in plan.publishes
    if _coordinated(plan):
        return [(BY_AGAIN if is_back else BY)[step.published.coordination]]
    if is_back:
        return edits(plan, back=True)
    at = plan.publishes.index(step)
    return _edits_between(plan, plan.publishes[at - 1].published if at else plan.base, step.published)


def edits(plan: Plan, *, back: bool = False) -> Sequence[str]:
    """Names, defaults and types that the change gives or takes back, in words."""
    if back and plan.base is not None:
        return (
            [Sentence("{element} is called so again", element=element) for element in plan.moving(MoveKind.RENAME)]
            + [
                Sentence("{element} has its old default again", element=element)
                for element in plan.moving(MoveKind.ALTER)
                if _default(plan.base, element) != _default(plan.result, element)
            ]
            + [
                Sentence(
                    "{element} has its old numbers again" if _has_numbers(plan.base, element) else NO_NUMBERS,
                    element=element,
                )
                for element in plan.moving(MoveKind.ALTER)
                if _has_numbers(plan.base, element) != _has_numbers(plan.result, element)
            ]
            + [
                Sentence("{element} has its old type again", element=element)
                for element in plan.moving(MoveKind.ALTER)
                if _type_name(plan.base, element) != _type_name(plan.result, element)
            ]
            + [
                Sentence("{element} has its old comment again", element=element)
                for element in plan.moving(MoveKind.COMMENT)
            ]
        )
    if _coordinated(plan):
        return [BY[plan.result.coordination]]
    return _edits_between(plan, plan.base, plan.result)


def _edits_between(plan: Plan, before: Descriptor | None, after: Descriptor) -> Sequence[str]:
    if before is None:
        return []
    renamed = (e for e in plan.moving(MoveKind.RENAME) if name_in(before, e) != name_in(after, e))
    found = [
        Sentence("{element} is renamed to {name}", element=element, name=name_in(after, element)) for element in renamed
    ]
    found += [Sentence("{element} has another comment", element=element) for element in plan.moving(MoveKind.COMMENT)]
    for element in plan.moving(MoveKind.ALTER):
        if element.kind.is_index:
            if _is_primary(after, element) and not _is_primary(before, element):
                found.append(Sentence("{element} keeps the primary key", element=element))
            continue
        if (default := _default(after, element)) != _default(before, element):
            words = "{element} has no default any more" if default is None else "{element} has the default {name}"
            found.append(Sentence(words, element=element, name=default))
        if (has_numbers := _has_numbers(after, element)) != _has_numbers(before, element):
            words = "{element} has numbers of its own" if has_numbers else NO_NUMBERS
            found.append(Sentence(words, element=element))
        if (of := _type_name(after, element)) != _type_name(before, element):
            found.append(Sentence("{element} is of type {name}", element=element, name=of))
        elif _is_bounded(before, element) and not _is_bounded(after, element):
            found.append(Sentence("{element} takes every {name}", element=element, name=of))
    return found


NO_NUMBERS = "{element} has no numbers any more"


def _is_primary(table: Descriptor, element: Element) -> bool:
    return any(index.id == element.id and index.primary for index in table.indexes)


def _default(table: Descriptor, element: Element) -> str | None:
    return next((column.default for column in table.columns if column.id == element.id), None)


def _has_numbers(table: Descriptor, element: Element) -> bool:
    return any(column.identity for column in table.columns if column.id == element.id)


def _is_bounded(table: Descriptor, element: Element) -> bool:
    return any(c.id == element.id and c.type in WHOLE and c.length is not None for c in table.columns)


def _type_name(table: Descriptor, element: Element) -> str | None:
    return next((column.type_name for column in table.columns if column.id == element.id), None)


BY = {
    Coordination.LEASE: Sentence("nodes are coordinated by leases"),
    Coordination.BOTH: Sentence("nodes are coordinated by leases and hashes"),
    Coordination.HASH: Sentence("nodes are coordinated by hashes, without leases"),
}
BY_AGAIN = {
    Coordination.LEASE: Sentence("nodes are coordinated by leases again"),
    Coordination.BOTH: Sentence("nodes are coordinated by leases and hashes again"),
    Coordination.HASH: Sentence("nodes are coordinated by hashes, without leases again"),
}


def _coordinated(plan: Plan) -> bool:
    return any(move.kind is MoveKind.ALTER and move.element.kind is Kind.TABLE for move in plan.moves)


def name_in(table: Descriptor, element: Element) -> str:
    if element.kind is Kind.TABLE:
        return table.name
    if element.kind is Kind.PLACEMENT:
        return element.name
    named: Sequence[Column | Index | Constraint] = table.columns
    if not element.kind.is_column:
        named = table.indexes if element.kind.is_index else table.constraints
    return next((one.name for one in named if one.id == element.id), element.name)


def names_of(plan: Plan) -> str:
    return " and ".join([plan.table, *(partner.name for partner in plan.partners)])


def why_no_return(plan: Plan) -> Sentence:
    """Why the change is irreversible, in words (X6)."""
    step = plan.forward[plan.point_of_no_return]
    if step.kind is StepKind.DELETE:
        return Sentence("the deletion of {pairs} has begun", pairs=pairs_of(step.elements))
    final = [t for t in step.transitions if is_final(plan.moves, t)] or list(step.transitions)
    now = {t: replace(t.element, name=name_in(step.published, t.element)) for t in final}
    final_states = [
        Sentence("{element} is {state}", element=element, state=t.after.value) for t, element in now.items()
    ] or edits(plan)
    return Sentence("{states} since {versions}", states=listed(final_states), versions=f"{plan.table}@{step.version}")


def is_final(moves: tuple[Move, ...], transition: Transition) -> bool:
    """True when publishing this transition is irreversible (X6). A swap is reversible while the old side is written."""
    element, after = transition.element, transition.after
    directions = {move.kind for move in moves if move.element == element}
    if MoveKind.ADD in directions:
        return after is State.PUBLIC and not element.kind.is_swapped
    hides = after is State.DELETE_ONLY and element.kind.is_filled
    return MoveKind.DROP in directions and (hides or after is State.ABSENT)


def is_point_of_no_return(moves: tuple[Move, ...], step: Step) -> bool:
    """True when the change can only go on after this step (X6); after a deletion has begun."""
    if step.kind is StepKind.DELETE:
        return True
    return step.kind is StepKind.PUBLISH and (_are_edits(moves) or any(is_final(moves, t) for t in step.transitions))


def point_of_no_return(moves: tuple[Move, ...], steps: Sequence[Step]) -> int | None:
    """The first irreversible step; of edits alone the last version."""
    found = [at for at, step in enumerate(steps) if is_point_of_no_return(moves, step)]
    if not found:
        return None
    return found[-1] if _are_edits(moves) else found[0]


def _are_edits(moves: tuple[Move, ...]) -> bool:
    return all(move.kind in (MoveKind.RENAME, MoveKind.ALTER, MoveKind.COMMENT) for move in moves)


def pairs_of(elements: tuple[Element, ...]) -> str:
    words = {Family.TABLE: "rows of {name}", Family.COLUMN: "values of {name}", Family.PLACEMENT: "pairs of {name}"}
    return joined([Sentence(words.get(one.kind.family, "entries of {name}"), name=one.name) for one in elements])


# --- JSON


def element_json(element: Element) -> Json:
    body: Json = {"kind": element.kind.value, "id": element.id, "name": element.name}
    if element.column is not None:
        body["column"] = element.column
    if element.partner is not None:
        body["partner"] = list(element.partner)
    return body


def element_from_json(body: Mapping[str, Any]) -> Element:
    partner = body.get("partner")
    there = None if partner is None else (partner[0], partner[1])
    return Element(Kind(body["kind"]), body["id"], body["name"], body.get("column"), there)


def _descriptors(body: Mapping[str, Any]) -> tuple[Descriptor, ...]:
    """The partners; older JSON has none."""
    return tuple(descriptor_from_json(partner) for partner in body.get("partners", ()))


def _step(body: Json) -> Step:
    return Step(
        kind=StepKind(body["kind"]),
        version=body["version"],
        transitions=tuple(
            Transition(element_from_json(t["element"]), State(t["before"]), State(t["after"]))
            for t in body["transitions"]
        ),
        descriptor=descriptor_from_json(body["descriptor"]) if body["descriptor"] else None,
        elements=tuple(element_from_json(element) for element in body["elements"]),
        partners=_descriptors(body),
    )
