"""The safe sequences and the known broken ones: protocol sections 4 and 9 as models. A test compares the expectations
with `docs/reference/safe-sequences.md`, so a changed rule that alters a verdict is noticed."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from itertools import combinations
from typing import Any

from catalog.elements import Kind, State
from lab.explorer import variants_of_requests
from lab.explorer.model import MOVES, Model, Stage, kinds_described, stage_name, stage_named
from lab.explorer.rules_left_out import Broken
from lab.explorer.variant import (
    ADDED,
    DROP_INDEX,
    DROPPED,
    FOREIGN_KEY_UP,
    RESHARD,
    UP,
    Variant,
    foreign_key,
    stages,
    up_and_down,
)

PAIRED = UP | {Kind.OPTIONAL_COLUMN: "absent,delete-only,write-only,public"}


@cache
def all_variants() -> Mapping[str, Variant]:
    found = [
        *_safe(),
        *variants_of_requests.of_storages(),
        *variants_of_requests.of_coordination(),
        *_pairs(),
        *_swaps(),
        *_plans(),
        *_broken_plans(),
        *_broken(),
        *_broken_foreign_keys(),
    ]
    found += _broken_self_references()
    assert len({variant.name for variant in found}) == len(found), "names are unique"
    return {variant.name: variant for variant in found}


CHECK = "CHECK (a = 11)"


def _safe() -> Iterator[Variant]:
    """Section 4: every sequence as the planner plans it, with key changes and a cancel at any moment."""
    any_time: dict[str, Any] = {"moves": True, "cancels": True}
    for kind in UP:
        nulls = kind in (Kind.OPTIONAL_COLUMN, Kind.UNIQUE_INDEX)
        yield from up_and_down(kind.value, kind, ADDED[kind], DROPPED[kind], nulls=nulls, **any_time)
    add_check = f"ALTER TABLE t ADD CONSTRAINT a_is_11 {CHECK}"
    check: dict[str, Any] = {"check": True, "nulls": True, **any_time}
    yield from up_and_down("check", Kind.CONSTRAINT, add_check, "ALTER TABLE t DROP CONSTRAINT a_is_11", **check)
    for kind in (Kind.INDEX, Kind.UNIQUE_INDEX):
        some: dict[str, Any] = {"partial": True, "nulls": True, **any_time}
        yield from up_and_down(f"partial {kind.value}", kind, f"{ADDED[kind]} WHERE a = 11", DROPPED[kind], **some)
    forward, back = stages(FOREIGN_KEY_UP), tuple(reversed(stages(FOREIGN_KEY_UP)))
    add = "ALTER TABLE child ADD CONSTRAINT child_a_fkey FOREIGN KEY (a) REFERENCES parent (id)"
    drop = "ALTER TABLE child DROP CONSTRAINT child_a_fkey"
    yield Variant("add-foreign-key", "4", foreign_key(*forward, statement=add, **any_time))
    yield Variant("drop-foreign-key", "4", foreign_key(*back, statement=drop, **any_time))
    add, drop = "ALTER TABLE t ADD CONSTRAINT t_a_fkey FOREIGN KEY (a) REFERENCES t", "DROP CONSTRAINT t_a_fkey"
    itself: dict[str, Any] = {"refers_to_itself": True, **any_time}
    yield from up_and_down("self reference", Kind.CONSTRAINT, add, f"ALTER TABLE t {drop}", **itself)
    for by_value, word in ((True, "value"), (False, "key")):
        spread = Model(Kind.PLACEMENT, stages(RESHARD), by_value=by_value, **any_time)
        yield Variant(f"reshard-by-{word}", "4", spread)
    widened = "ALTER TABLE t ALTER COLUMN a TYPE bigint"
    yield Variant("widen-integer", "4", _widening("narrow,bounded,wide", statement=widened, nulls=True, **any_time))
    index = Model(Kind.INDEX, stages(UP[Kind.INDEX]), statement=ADDED[Kind.INDEX])
    yield Variant("add-index-3-nodes", "4", replace(index, nodes=3))
    yield Variant("add-index-4-operations", "4", replace(index, operations=4))


def _widening(widths: str, **options: Any) -> Model:
    public = ((State.PUBLIC,),) * len(widths.split(","))
    return Model(Kind.OPTIONAL_COLUMN, public, widths=widths, **options)


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
    for kind, states in PAIRED.items():
        for one, other in combinations(states.split(","), 2):
            breaks = UNSAFE.get((kind, one, other), "")
            for older, newer in ((one, other), (other, one)):
                name = f"{kind.value.replace(' ', '-')}-{older}-beside-{newer}"
                model = Model(kind, (stage_named(older), stage_named(newer)), pair=True)
                yield Variant(name, "4, pairs", model, breaks)
    yield from _linked_pairs()
    for older, newer in (("narrow", "bounded"), ("bounded", "wide"), ("narrow", "wide")):
        breaks = "unreadable value" if (older, newer) == ("narrow", "wide") else ""
        yield Variant(f"integer-{older}-beside-{newer}", "4, pairs", _widening(f"{older},{newer}", pair=True), breaks)


def _to_itself(*stages: Stage, broken: frozenset[Broken] = frozenset(), **options: Any) -> Model:
    return Model(Kind.CONSTRAINT, stages, broken, refers_to_itself=True, **options)


def _linked_pairs() -> Iterator[Variant]:
    for one, other in combinations(stages(FOREIGN_KEY_UP), 2):
        breaks = UNSAFE.get((Kind.CONSTRAINT, one[0].value, other[0].value), "")
        for older, newer in ((one, other), (other, one)):
            name = f"foreign-key-{older[0].value}-beside-{newer[0].value}"
            yield Variant(name, "4, pairs", foreign_key(older, newer, pair=True), breaks)


def _index(
    name: str, breaks: str, *broken: Broken, note: str = "", states: str = UP[Kind.INDEX], **sizes: object
) -> Variant:
    model = Model(Kind.INDEX, stages(states), frozenset(broken), **sizes)  # type: ignore[arg-type]
    return Variant(name, "9", model, breaks, note)


SWAPS = {
    "public+absent,public+write-only": "C7",
    "public+write-only,write-only+public": "",
    "public+write-only,delete-only+public": "C5 lost write",
    "write-only+public,delete-only+public": "",
    "public+write-only,public+public": "read twice",
}
"""Placements: a write-only copy that not all know, the swap with and without write-only on the old side, both read."""


LETTERS = {"-": State.ABSENT, "d": State.DELETE_ONLY, "w": State.WRITE_ONLY, "P": State.PUBLIC}


def letters(versions: str) -> tuple[Stage, ...]:
    """The stages of "-- dd wP"."""
    return tuple(tuple(LETTERS[letter] for letter in version) for version in versions.split())


def _plan(name: str, kinds: str, versions: str, breaks: str = "", note: str = "", **options: Any) -> Variant:
    """A plan of several elements; "-- dd wP" are versions, a letter for each element."""
    model = Model(stages=letters(versions), **kinds_described(kinds), **options)
    return Variant(name, "4, rules" if breaks or note else "4, plans", model, breaks, note)


OPTIONAL, REQUIRED = "optional-column+", "required-column+"


DROP_COLUMN = "ALTER TABLE t DROP COLUMN a"
ADD_COLUMN = "ALTER TABLE t ADD COLUMN a bigint"
ADD_REQUIRED = f"{ADD_COLUMN} DEFAULT 11"
TO_PARENT = "CONSTRAINT child_a_fkey REFERENCES parent (id)"


def _plans() -> Iterator[Variant]:
    any_time: dict[str, Any] = {"moves": True, "cancels": True}
    for name, kinds, versions, statement in (
        ("add-column-and-index", f"{OPTIONAL}index", "-- dd ww PP", MOVES),
        (
            "add-column-and-unique-index",
            f"{OPTIONAL}unique-index",
            "-- dd ww PP",
            f"{ADD_COLUMN} CONSTRAINT by_a UNIQUE",
        ),
        ("add-required-column-and-index", f"{REQUIRED}index", "-- dd ww PP", MOVES),
        (
            "add-required-column-and-unique-index",
            f"{REQUIRED}unique-index",
            "-- dd ww PP",
            f"{ADD_REQUIRED} CONSTRAINT by_a UNIQUE",
        ),
        ("add-required-column-and-not-null", f"{REQUIRED}constraint", "-- d- ww PP", MOVES),
        ("add-two-indexes", "index+index", "-- dd ww PP", MOVES),
        ("drop-column-and-index", f"{OPTIONAL}index", "PP Pw dd --", DROP_COLUMN),
        ("drop-column-and-unique-index", f"{OPTIONAL}unique-index", "PP Pw dd --", DROP_COLUMN),
        ("drop-required-column-and-index", f"{REQUIRED}index", "PP ww dd --", DROP_COLUMN),
        ("drop-two-indexes", "index+index", "PP ww dd --", MOVES),
        ("drop-column-that-is-not-null", f"{OPTIONAL}constraint", "PP Pw P- d- --", DROP_COLUMN),
        ("drop-required-column-that-is-not-null", f"{REQUIRED}constraint", "PP Pw P- w- d- --", DROP_COLUMN),
        ("exchange-two-indexes", "index+index", "-P dP wP Pw Pd P-", MOVES),
        ("exchange-an-index-for-a-unique-one", "unique-index+index", "-P dP wP Pw Pd P-", MOVES),
    ):
        yield _plan(name, kinds, versions, statement=statement, **any_time)
    checked = any_time | {"check": True}
    for name, kinds, versions, statement in (
        ("add-column-and-check", f"{OPTIONAL}constraint", "-- d- ww PP", f"{ADD_COLUMN} CONSTRAINT a_is_11 {CHECK}"),
        (
            "add-required-column-and-check",
            f"{REQUIRED}constraint",
            "-- d- ww PP",
            f"{ADD_REQUIRED} CONSTRAINT a_is_11 {CHECK}",
        ),
        ("drop-column-and-check", f"{OPTIONAL}constraint", "PP Pw P- d- --", DROP_COLUMN),
        ("drop-required-column-and-check", f"{REQUIRED}constraint", "PP Pw P- w- d- --", DROP_COLUMN),
    ):
        yield _plan(name, kinds, versions, statement=statement, **checked)
    for name, kinds, versions, statement in (
        ("add-column-and-foreign-key", OPTIONAL, "--- d-- www PPP", f"ADD COLUMN a bigint {TO_PARENT}"),
        (
            "add-required-column-and-foreign-key",
            REQUIRED,
            "--- d-- www PPP",
            f"ADD COLUMN a bigint DEFAULT 11 {TO_PARENT}",
        ),
        ("drop-column-and-foreign-key", OPTIONAL, "PPP Pww P-- d-- ---", "DROP COLUMN a"),
        ("drop-required-column-and-foreign-key", REQUIRED, "PPP Pww P-- w-- d-- ---", "DROP COLUMN a"),
    ):
        yield _plan(name, f"{kinds}foreign-key", versions, statement=f"ALTER TABLE child {statement}", **any_time)
    twins = "derived-column+derived-column"
    yield _plan("change-type", twins, "P- Pd Pw wP dP -P", nulls=True, statement=MOVES, **any_time)
    yield _plan("drop-column-add-index", f"{OPTIONAL}index", "P- Pd Pw dP -P", apart=True, statement=MOVES, **any_time)


def _broken_plans() -> Iterator[Variant]:
    index, unique, constraint = f"{OPTIONAL}index", f"{OPTIONAL}unique-index", f"{OPTIONAL}constraint"
    yield _plan("column-and-index-each-by-its-own-sequence", index, "PP dw -d --", "C5")
    yield _plan("index-public-after-its-column", index, "PP dP -w -d --", "C4 C5")
    yield _plan("column-and-unique-index-each-by-its-own-sequence", unique, "PP dw -d --", "C5")
    yield _plan("required-column-gone-before-its-index", f"{REQUIRED}index", "PP wP dw -d --", "C5")
    yield _plan("values-deleted-before-entries", index, "PP Pw dd --", "C5", broken=frozenset({Broken.VALUES_FIRST}))
    ahead = "an optional column has no value in any state before public: the rule asks more than is needed"
    yield _plan("index-ahead-of-optional-column", index, "-- dd dw PP", note=ahead)
    reads_fill_value = "a missing value reads as its fill value in every state: the rule asks more than is needed"
    yield _plan("index-ahead-of-required-column", f"{REQUIRED}index", "-- dd dw ww PP", note=reads_fill_value)
    yield _plan("index-public-before-required-column", f"{REQUIRED}index", "-- dd ww wP PP", note=reads_fill_value)
    reads_null = frozenset({Broken.INDEX_FIRST})
    yield _plan("missing-value-read-as-null", f"{REQUIRED}index", "-- dd ww PP", "C5", broken=reads_null)
    yield _plan("not-null-while-column-leaves", constraint, "PP dw d- --", "refused writes")
    yield _plan("not-null-after-column-left", constraint, "PP Pw dw d- --", "refused writes")
    together = "the constraint is no longer relied on, and whoever still keeps it can name the column"
    yield _plan("not-null-absent-as-column-leaves", constraint, "PP Pw d- --", note=together)
    yield _plan("not-null-while-required-column-leaves", f"{REQUIRED}constraint", "PP ww d- --", note=reads_fill_value)
    yield _plan("not-null-before-required-column", f"{REQUIRED}constraint", "-- dw ww PP", note=reads_fill_value)
    yield _plan("not-null-before-its-column", constraint, "-- dw ww PP", "refused writes")
    yield _plan("not-null-on-optional-column", constraint, "-- d- ww PP", "refused writes")
    yield _plan(
        "not-null-public-before-required-column", f"{REQUIRED}constraint", "-- d- ww wP PP", note=reads_fill_value
    )
    yield _plan("not-null-public-while-column-leaves", constraint, "PP dP d- --", "C2")
    nothing = "a missing value refers to nothing, and nobody puts one: the rule asks more than is needed"
    linked, required_link = f"{OPTIONAL}foreign-key", f"{REQUIRED}foreign-key"
    yield _plan("foreign-key-while-column-leaves", linked, "PPP dww d-- ---", note=nothing)
    yield _plan("foreign-key-before-its-column", linked, "--- dww www PPP", note=nothing)
    yield _plan("foreign-key-before-required-column", required_link, "--- dww www PPP", note=reads_fill_value)
    unverified = frozenset({Broken.UNVERIFIED})
    yield _plan("foreign-key-of-required-column-unverified", required_link, "--- d-- www PPP", "C6", broken=unverified)
    yield _plan("foreign-key-of-column-in-child-only", linked, "--- d-- ww- PP-", "C6")
    twins = "derived-column+derived-column"
    yield _plan("twin-public-without-write-only", twins, "P- Pd wP dP -P", "C2 C5 lost write")
    yield _plan("type-swapped-without-write-only", twins, "P- Pd Pw dP -P", "C5 lost write")
    yield _plan("twin-without-delete-only", twins, "P- Pw wP dP -P", "C1")
    yield _plan("old-side-gone-at-once", twins, "P- Pd Pw wP -P", "C1")
    early: dict[str, Any] = {"cancels": True, "broken": frozenset({Broken.LATE_CANCEL})}
    yield _plan("dropped-before-additions-are-verified", index, "P- dd -w -P", "lost write", apart=True, **early)
    yield _plan("index-dropped-before-the-new-one-is-verified", "index+index", "P- wd dw -P", "C4", **early)
    yield _plan("uses-what-it-drops", index, "P- dd dw -P", "C5")
    yield _plan("uses-what-it-drops-later", index, "P- Pd Pw dP -P", "C4 C5")


def _swaps() -> Iterator[Variant]:
    for pair, breaks in SWAPS.items():
        older, newer = stages(pair)
        for one, other in ((older, newer), (newer, older)):
            name = f"placements-{stage_name(one)}-beside-{stage_name(other)}"
            yield Variant(name, "4, pairs", Model(Kind.PLACEMENT, (one, other), pair=True), breaks)


def _broken() -> Iterator[Variant]:
    yield _index("index-in-one-step", "C4", states="absent,public")
    yield Variant("widen-integer-in-one-version", "9", _widening("narrow,wide"), "unreadable value")
    three = _widening("narrow,bounded,wide", versions=3)
    yield Variant("widen-integer-with-three-live-versions", "9", three, "unreadable value")
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
    small: dict[str, Any] = {"rows": 1, "ranges": 1}
    yield _index("lease-alone-add", "C5", Broken.NO_LOCK, **small)
    yield _index("lease-alone-drop", "C3", Broken.NO_LOCK, states=DROP_INDEX, **small)
    late: dict[str, Any] = {"late_enter": True, "operations": 1, **small}
    yield _index("lock-without-fence", "C5", Broken.NO_CHECK, **late)
    yield _index("fence-without-lock", "C5", Broken.NO_LOCK, **late)
    yield _index("fence-as-of-the-snapshot", "C5", Broken.STALE_FENCE, **late)
    yield _index("version-newer-than-the-snapshot", "C5", Broken.NEWER_VERSION, **late)
    yield _index("tombstones-not-cleared", "C4", Broken.NOT_CLEARED)
    yield _index("tombstones-where-seen", "C5", Broken.SEEN_ONLY)
    yield _index("tombstones-purged-early", "C5", Broken.PURGED)
    yield _index("tombstones-never-purged", "C7", Broken.NO_PURGE)
    yield _index("range-done-twice", "C5", Broken.TWICE, Broken.NO_CLOSE)
    yield _index("range-done-twice-closed", "", Broken.TWICE, note="closing the run is enough while tombstones last")
    found_done = "a finished range is found done; see rollback-with-zombie"
    yield _index("not-closed-marks-kept", "", Broken.NO_CLOSE, note=found_done)
    by_key: dict[str, Any] = {"by_value": False, "broken": frozenset({Broken.TOMBSTONE_ROW})}
    yield Variant("tombstone-read-as-row", "9", Model(Kind.PLACEMENT, stages(RESHARD), **by_key), "lost write")
    column = Model(Kind.REQUIRED_COLUMN, stages(UP[Kind.REQUIRED_COLUMN]))
    yield Variant("column-tombstones-not-cleared", "9", _with(column, Broken.NOT_CLEARED), "C2")
    yield Variant("column-fill-before-drain", "9", _with(column, Broken.EARLY), "C1")
    dropped = Model(Kind.OPTIONAL_COLUMN, tuple(reversed(stages(UP[Kind.OPTIONAL_COLUMN]))), moves=True)
    yield Variant(
        "key-change-carries-visible", "9", replace(dropped, broken=frozenset({Broken.VISIBLE_MOVE})), "lost write"
    )
    yield Variant("column-fill-skipped", "9", _with(column, Broken.SKIPPED), "C2")


def _link(
    name: str, breaks: str, *broken: Broken, states: str = FOREIGN_KEY_UP, note: str = "", **sizes: Any
) -> Variant:
    model = foreign_key(*stages(states), broken=frozenset(broken), **sizes)
    return Variant(f"foreign-key-{name}", "9", model, breaks, note)


def _broken_foreign_keys() -> Iterator[Variant]:
    """L11 and the other rules that keep two tables together, each left out."""
    yield _link("in-one-step", "C6", states="absent+absent,public+public")
    yield _link("dropped-in-one-step", "C6", states="public+public,absent+absent")
    yield _link("in-child-only", "C6", states="absent+absent,write-only+absent,public+absent")
    yield _link("in-parent-only", "C6", states="absent+absent,absent+write-only,absent+public")
    yield _link("gone-from-parent-first", "C6", states="public+public,public+absent,absent+absent")
    yield _link("gone-from-child-first", "C6", states="public+public,absent+public,absent+absent")
    yield _link("unverified", "C6", Broken.UNVERIFIED)
    yield _link("verified-before-drain", "C6", Broken.EARLY)
    yield _link("drained-in-child-only", "C6", Broken.ONE_DRAINED)
    yield _link("unchecked-by-child", "C6", Broken.CHILD_UNCHECKED)
    yield _link("unchecked-by-parent", "C6", Broken.PARENT_UNCHECKED)
    small: dict[str, Any] = {"rows": 1, "values": 1, "ranges": 1}
    beside = "write-only+write-only,public+public"
    yield _link("not-serializable", "C6", Broken.SNAPSHOT, states=beside, pair=True, **small)
    yield _link("no-fence", "C6", fence=False, **small)
    drained = "the drain before verification is enough"
    yield _link("three-live-versions", "", versions=3, note=drained)
    later = "both are drained before verification: L11 asks more than is needed"
    apart = "absent+absent,write-only+absent,write-only+write-only,public+public"
    yield _link("in-one-table-after-the-other", "", states=apart, note=later)
    relied = "a parent in write-only obeys it as one in public does"
    yield _link(
        "public-in-child-first", "", states=f"absent+absent,{beside.replace(',', ',public+write-only,')}", note=relied
    )


def _broken_self_references() -> Iterator[Variant]:
    up = stages(UP[Kind.CONSTRAINT])
    for name, broken, versions in (
        ("in-one-step", (), (up[0], up[-1])),
        ("unverified", (Broken.UNVERIFIED,), up),
        ("verified-before-drain", (Broken.EARLY,), up),
        ("unchecked-as-child", (Broken.CHILD_UNCHECKED,), up),
        ("unchecked-as-parent", (Broken.PARENT_UNCHECKED,), up),
    ):
        yield Variant(f"self-reference-{name}", "9", _to_itself(*versions, broken=frozenset(broken)), "C6")
    race: dict[str, Any] = {"pair": True, "ranges": 1}
    unguarded = _to_itself(*up[1:], broken=frozenset({Broken.SNAPSHOT}), **race)
    yield Variant("self-reference-not-serializable", "9", unguarded, "C6")


def _with(model: Model, *broken: Broken) -> Model:
    return replace(model, broken=frozenset(broken))
