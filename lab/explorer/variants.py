"""The safe sequences and the broken ones that are known: protocol sections 4 and 9 as models.

Each variant says what is expected of it. The table in `docs/reference/safe-sequences.md` is
what the explorer answered; a test holds the two against each other, so a change of a rule
that makes a sequence unsafe, or a broken one safe, is noticed.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import combinations

from catalog.elements import Kind
from lab.explorer.model import Broken, Model, Stage, stage_name, stage_named

UP = {
    Kind.TABLE: "absent,delete-only,public",
    Kind.OPTIONAL_COLUMN: "absent,delete-only,public",
    Kind.REQUIRED_COLUMN: "absent,delete-only,write-only,public",
    Kind.INDEX: "absent,delete-only,write-only,public",
    Kind.UNIQUE_INDEX: "absent,delete-only,write-only,public",
    Kind.CONSTRAINT: "absent,write-only,public",
}
"""How each kind is added (section 4); it is dropped the same way back."""

RESHARD = "public+absent,public+delete-only,public+write-only,write-only+public,delete-only+public,absent+public"
"""The old and the new placement of a table whose sharding changes."""

PAIRED = UP | {Kind.OPTIONAL_COLUMN: "absent,delete-only,write-only,public"}
"""The states of each kind that are held beside each other."""


@dataclass(frozen=True, slots=True)
class Variant:
    """A built-in model. `breaks` names the clause that is expected to break first; "" when a proof is; for a pair, all
    that may break."""

    name: str
    section: str
    model: Model
    breaks: str = ""
    note: str = ""


def all_variants() -> Mapping[str, Variant]:
    """Every built-in variant by its name, in the order of the table."""
    found = [*_safe(), *_pairs(), *_swaps(), *_broken()]
    assert len({variant.name for variant in found}) == len(found), "names are unique"
    return {variant.name: variant for variant in found}


def road(text: str) -> tuple[Stage, ...]:
    """The stages of "absent,delete-only,public"."""
    return tuple(stage_named(stage) for stage in text.split(","))


def _safe() -> Iterator[Variant]:
    """Section 4: every sequence, with key changes and a cancel at any moment."""
    for kind, up in UP.items():
        name = kind.value.replace(" ", "-")
        nulls = kind in (Kind.OPTIONAL_COLUMN, Kind.UNIQUE_INDEX)
        forward, back = road(up), tuple(reversed(road(up)))
        yield Variant(f"add-{name}", "4", Model(kind, forward, moves=True, nulls=nulls, cancels=True))
        yield Variant(f"drop-{name}", "4", Model(kind, back, moves=True, nulls=nulls, cancels=True))
    for by_value, word in ((True, "value"), (False, "key")):
        spread = Model(Kind.PLACEMENT, road(RESHARD), moves=True, cancels=True, by_value=by_value)
        yield Variant(f"reshard-by-{word}", "4", spread)
    yield Variant("add-index-3-nodes", "4", Model(Kind.INDEX, road(UP[Kind.INDEX]), nodes=3))
    yield Variant("add-index-4-operations", "4", Model(Kind.INDEX, road(UP[Kind.INDEX]), operations=4))


UNSAFE: Mapping[tuple[Kind, str, str], str] = {
    (Kind.TABLE, "absent", "public"): "C1",
    (Kind.OPTIONAL_COLUMN, "absent", "write-only"): "C1",
    (Kind.OPTIONAL_COLUMN, "absent", "public"): "C1",
    (Kind.REQUIRED_COLUMN, "absent", "write-only"): "C1",
    (Kind.REQUIRED_COLUMN, "absent", "public"): "C1 C2",
    (Kind.REQUIRED_COLUMN, "delete-only", "public"): "C2",
    (Kind.INDEX, "absent", "write-only"): "C3",
    (Kind.INDEX, "absent", "public"): "C3 C4",
    (Kind.INDEX, "delete-only", "public"): "C4",
    (Kind.UNIQUE_INDEX, "absent", "write-only"): "C3",
    (Kind.UNIQUE_INDEX, "absent", "public"): "C3 C4",
    (Kind.UNIQUE_INDEX, "delete-only", "public"): "C4",
    (Kind.CONSTRAINT, "absent", "public"): "C6",
}
"""Section 4's unsafe pairs. All other pairs of states are expected to be safe."""


def _pairs() -> Iterator[Variant]:
    """Section 4: every two states beside each other, the older version either one."""
    for kind, states in PAIRED.items():
        for one, other in combinations(states.split(","), 2):
            breaks = UNSAFE.get((kind, one, other), "")
            for older, newer in ((one, other), (other, one)):
                name = f"{kind.value.replace(' ', '-')}-{older}-beside-{newer}"
                model = Model(kind, (stage_named(older), stage_named(newer)), pair=True)
                yield Variant(name, "4, pairs", model, breaks)


def _index(
    name: str, breaks: str, *broken: Broken, note: str = "", states: str = UP[Kind.INDEX], **sizes: object
) -> Variant:
    model = Model(Kind.INDEX, road(states), frozenset(broken), **sizes)  # type: ignore[arg-type]
    return Variant(name, "9", model, breaks, note)


SWAPS = {
    "public+absent,public+write-only": "C7",
    "public+write-only,write-only+public": "",
    "public+write-only,delete-only+public": "C5 lost write",
    "write-only+public,delete-only+public": "",
}
"""Placements: a write-only copy that not all know, and the swap with and without write-only on the old side."""


def _swaps() -> Iterator[Variant]:
    for pair, breaks in SWAPS.items():
        older, newer = road(pair)
        for one, other in ((older, newer), (newer, older)):
            name = f"placements-{stage_name(one)}-beside-{stage_name(other)}"
            yield Variant(name, "4, pairs", Model(Kind.PLACEMENT, (one, other), pair=True), breaks)


DROP_INDEX = "public,write-only,delete-only,absent"


def _broken() -> Iterator[Variant]:
    """Section 9, as far as one element of one table shows it; and which rules hold up one another."""
    yield _index("index-in-one-step", "C4", states="absent,public")
    yield _index("index-without-delete-only", "C3", states="absent,write-only,public")
    yield _index("index-without-write-only", "C4", states="absent,delete-only,public")
    yield _index("fill-skipped", "C4", Broken.SKIPPED)
    yield _index("fill-before-drain", "C5", Broken.EARLY)
    yield _index("fill-puts-blindly", "C5", Broken.BLIND)
    yield _index("fill-checks-row-only", "C5", Broken.EXISTS_ONLY)
    yield _index("three-live-versions", "C3", versions=3)
    yield _index("deleted-before-drain", "C3", Broken.DELETE_EARLY, states=DROP_INDEX)
    yield _index("drop-without-delete-only", "C3", states="public,write-only,absent")
    yield _index("drop-without-write-only", "C4", states="public,delete-only,absent")
    yield _index("drop-without-delete", "C3", Broken.NO_DELETE, states=DROP_INDEX)
    yield _index("rollback-without-delete", "C3", Broken.NO_DELETE, cancels=True)
    yield _index("rollback-with-zombie", "C5", Broken.NO_CLOSE, cancels=True)
    yield _index("no-fence-add", "C5", fence=False)
    yield _index("no-fence-drop", "C3", states=DROP_INDEX, fence=False)
    yield _index("tombstones-not-cleared", "C4", Broken.NOT_CLEARED)
    yield _index("tombstones-where-seen", "C5", Broken.SEEN_ONLY)
    yield _index("tombstones-purged-early", "C5", Broken.PURGED)
    yield _index("tombstones-never-purged", "C7", Broken.NO_PURGE)
    yield _index("range-done-twice", "C5", Broken.TWICE, Broken.NO_CLOSE)
    yield _index("range-done-twice-closed", "", Broken.TWICE, note="closing the run is enough while tombstones last")
    found_done = "a finished range is found done; see rollback-with-zombie"
    yield _index("not-closed-marks-kept", "", Broken.NO_CLOSE, note=found_done)
    column = Model(Kind.REQUIRED_COLUMN, road(UP[Kind.REQUIRED_COLUMN]))
    yield Variant("column-tombstones-not-cleared", "9", _with(column, Broken.NOT_CLEARED), "C2")
    yield Variant("column-fill-before-drain", "9", _with(column, Broken.EARLY), "C1")
    dropped = Model(Kind.OPTIONAL_COLUMN, tuple(reversed(road(UP[Kind.OPTIONAL_COLUMN]))), moves=True)
    yield Variant(
        "key-change-carries-visible", "9", replace(dropped, broken=frozenset({Broken.VISIBLE_MOVE})), "lost write"
    )
    yield Variant("column-fill-skipped", "9", _with(column, Broken.SKIPPED), "C2")


def _with(model: Model, *broken: Broken) -> Model:
    return replace(model, broken=frozenset(broken))
