"""The tiles of each element, its compatible neighbours, and the damage that it can suffer: by the facts of its kind
(`catalog.kinds`) and the pairs of states that plans are reviewed against (`changes.review.neighbour_states`)."""

from collections.abc import Mapping, Sequence
from itertools import combinations, pairwise
from typing import NamedTuple

from catalog.elements import Kind, State
from catalog.states import possible_states
from catalog.text.message import Text
from changes.review.neighbour_states import danger
from lab.explorer.model import TWINS, WORK, Model, Stage, kinds_described, stage_name, stage_named
from lab.explorer.variant import RESHARD

ANOMALIES: Mapping[str, str] = {
    "C5": "orphan",
    "C3": "left-over",
    "C4": "missing",
    "C6": "duplicate",
    "C2": "unset",
    "C1": "left-over",
    "C7": "left-over",
    "lost write": "lost",
    "read twice": "twice",
    "unreadable value": "unreadable",
    "refused writes": "refused",
    "two versions": "versions",
}

OF_KIND: Mapping[Kind, tuple[str, ...]] = {
    Kind.INDEX: ("orphan", "missing"),
    Kind.UNIQUE_INDEX: ("orphan", "missing", "duplicate"),
    Kind.OPTIONAL_COLUMN: ("left-over", "lost"),
    Kind.REQUIRED_COLUMN: ("left-over", "unset"),
    Kind.DERIVED_COLUMN: ("left-over", "lost"),
    Kind.CONSTRAINT: ("duplicate",),
    Kind.TABLE: ("left-over", "lost"),
    Kind.PLACEMENT: ("left-over", "lost", "twice"),
}
"""The damage that may be predicted of each kind."""

ANOMALY_TEXTS: Mapping[str, Text] = {
    "orphan": Text("orphan entry"),
    "missing": Text("missing entry"),
    "duplicate": Text("a row that breaks the rule"),
    "unset": Text("missing value"),
    "left-over": Text("a pair that is left over"),
    "lost": Text("lost write"),
    "twice": Text("a row that is read twice"),
    "unreadable": Text("a value that cannot be read"),
    "refused": Text("a write that is always refused"),
    "versions": Text("a third version in use"),
}
DUPLICATE = Text("duplicate in a unique index")


def anomaly_text(anomaly: str, kind: Kind) -> Text:
    return DUPLICATE if anomaly == "duplicate" and kind is Kind.UNIQUE_INDEX else ANOMALY_TEXTS[anomaly]


class Mark(NamedTuple):
    """Two versions next to each other: the tile that publishes the later one, and whether they are compatible."""

    at: int
    pair: tuple[str, str]
    ok: bool


def tiles_of(element: str, ground: str) -> tuple[str, ...]:
    """The tiles that an element offers over its ground, in the order of the tray, which is no right one. Raises
    `lab.explorer.model.BadModel` for an element that is none."""
    described = kinds_described(element)
    kinds = (described["kind"], *described.get("also", ()))
    if kinds == TWINS or kinds == (Kind.PLACEMENT,):
        states = [stage for stage in RESHARD.split(",") if stage != ground]
        return tuple(sorted([*states, "fill", "delete"]))
    kind = kinds[0]
    states = sorted(state.value for state in possible_states(kind) if state.value != ground)
    if described.get("foreign_key"):
        states = [f"{state}+{state}" for state in states if f"{state}+{state}" != ground]
    is_added = ground.partition("+")[0] == State.ABSENT.value
    work = ["fill"] if is_added and kind.is_filled else []
    work += ["verify"] if is_added and kind.facts.is_rule else []
    work += ["delete"] if not is_added and kind.has_pairs else []
    return tuple(sorted([*states, *work]))


def target_of(ground: str) -> str:
    other = {State.ABSENT.value: State.PUBLIC.value, State.PUBLIC.value: State.ABSENT.value}
    return "+".join(other.get(state, state) for state in ground.split("+"))


def compatible(model: Model, one: Stage, other: Stage) -> bool:
    """True if nodes may use two such versions side by side: no element of theirs is in danger."""
    if model.has_placements or model.kinds == TWINS:
        return one == other or frozenset((stage_name(one), stage_name(other))) in COMPATIBLE_HOMES
    return all(
        danger(kind, before, after) is None for kind, before, after in zip(model.walkers, one, other, strict=True)
    )


COMPATIBLE_HOMES = frozenset(frozenset(pair) for pair in pairwise(RESHARD.split(",")))
"""Of two homes of a row the pairs of section 4 alone: either home is safe by itself, together they may not be."""


def pairs_of(model: Model, stages: Sequence[Stage]) -> dict[str, bool]:
    """True for each two of these versions that are compatible, by their names in order, with a bar between."""
    found = {}
    for one, other in combinations(sorted(set(stages), key=stage_name), 2):
        found[f"{stage_name(one)}|{stage_name(other)}"] = compatible(model, one, other)
    return found


def marks_of(model: Model) -> tuple[Mark, ...]:
    published = [at for at, tile in enumerate(model.tiles) if tile not in WORK]
    return tuple(
        Mark(at, (stage_name(before), stage_name(after)), compatible(model, before, after))
        for at, (before, after) in zip(published, pairwise(model.stages), strict=True)
    )


def states_among(tiles: Sequence[str]) -> list[Stage]:
    return [stage_named(tile) for tile in tiles if tile not in WORK]
