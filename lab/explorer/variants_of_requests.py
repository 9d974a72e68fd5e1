"""The built-in models of requests: more storages and fewer, tables without leases, tables with both protections."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from catalog.elements import Kind
from lab.explorer.model import Model
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


def of_storages() -> Iterator[Variant]:
    any_time: dict[str, Any] = {"moves": True, "cancels": True}
    for name, storages in (("more-storages", "2+3"), ("fewer-storages", "3+2")):
        statement = f"ALTER TABLE t SET (storages = {storages[-1]})"
        by_key: dict[str, Any] = {"by_value": False, "statement": statement, **any_time}
        yield Variant(name, "4, storages", Model(Kind.PLACEMENT, stages(RESHARD), storages=storages, **by_key))
    both = Model(Kind.PLACEMENT, stages(RESHARD), storages="2+3", **any_time)
    yield Variant("more-storages-by-value", "4, storages", both)
    in_place = frozenset({Broken.IN_PLACE})
    one_step = Model(Kind.PLACEMENT, stages("public+absent,absent+public"), in_place, storages="2+3", by_value=False)
    yield Variant("more-storages-in-place", "4, storages", one_step, "C7")
    without = ",".join(RESHARD.split(",")[:3] + RESHARD.split(",")[4:])
    at_once = Model(Kind.PLACEMENT, stages(without), storages="2+3", by_value=False)
    yield Variant("more-storages-without-write-only", "4, storages", at_once, "C5 lost write")
    early = Model(Kind.PLACEMENT, stages(RESHARD), frozenset({Broken.REMOVED_EARLY}), storages="3+2", by_value=False)
    yield Variant("storage-removed-early", "4, storages", early, "C5 lost write")


def of_coordination() -> Iterator[Variant]:
    any_time: dict[str, Any] = {"moves": True, "cancels": True}
    for how, kinds in (
        ("hash", [kind for kind in UP if kind is not Kind.TABLE]),
        ("both", [Kind.REQUIRED_COLUMN, Kind.INDEX]),
    ):
        for kind in kinds:
            for variant in up_and_down(kind.value, kind, ADDED[kind], DROPPED[kind], coordination=how, **any_time):
                yield replace(variant, name=f"{how}-{variant.name}", section="4, hashes")
    add = "ALTER TABLE child ADD CONSTRAINT child_a_fkey FOREIGN KEY (a) REFERENCES parent (id)"
    for how in ("hash", "hash+lease", "lease+hash"):
        link = foreign_key(*stages(FOREIGN_KEY_UP), statement=add, coordination=how, **any_time)
        yield Variant(f"{how.replace('+', '-to-')}-add-foreign-key", "4, hashes", link)
    spread = Model(Kind.PLACEMENT, stages(RESHARD), by_value=False, coordination="hash", **any_time)
    yield Variant("hash-reshard-by-key", "4, hashes", spread)
    up, small = UP[Kind.INDEX], {"rows": 1, "ranges": 1}
    for name, breaks, states, left_out, others in (
        ("hash-index-in-one-step", "C4", "absent,public", (), {}),
        ("hash-index-without-delete-only", "C3", "absent,write-only,public", (), {}),
        ("hash-index-without-write-only", "C4", "absent,delete-only,public", (), {}),
        ("hash-without-lock", "C5", up, (Broken.NO_LOCK,), small),
        ("hash-drop-without-lock", "C3", DROP_INDEX, (Broken.NO_LOCK,), small),
        ("hash-without-check", "C5", up, (Broken.NO_CHECK,), small),
        ("hash-fill-before-drain", "C5", up, (Broken.EARLY,), {}),
        ("both-without-lock", "C5", up, (Broken.NO_LOCK,), {"coordination": "both", **small}),
    ):
        sizes: dict[str, Any] = {"coordination": "hash", **others}
        yield Variant(name, "4, hashes", Model(Kind.INDEX, stages(states), frozenset(left_out), **sizes), breaks)
