"""The pairs that a statement changed: what lay at its keys before, and what after, or the tombstone that a fill
needs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from catalog.descriptor import Descriptor, UnknownElement
from catalog.elements import EXISTS, PRIMARY
from storage.browser.lines import PairLine, describe
from storage.mutations import Op
from storage.pairs import StrayKey, name_of

Json = dict[str, Any]
Place = tuple[int, bytes]
"""A storage and a key."""
Stored = Mapping[Place, tuple[bytes, bytes] | None]
"""What lies at each place: the start of the value, and a digest of the whole; None is a tombstone. A place where
nothing lies is left out."""
KEYS_MAX = 100
"""Of so many keys the trace of a statement says what became of them."""


def places(ops: Iterable[Op], storage_of: Callable[[Op], int], most: int = KEYS_MAX) -> tuple[list[Place], int]:
    found: dict[Place, None] = {}
    left_out = 0
    for op in ops:
        place = storage_of(op), op.key
        if len(found) < most or place in found:
            found[place] = None
        else:
            left_out += 1
    return list(found), left_out


def changes(descriptor: Descriptor, touched: Sequence[Place], before: Stored, after: Stored) -> list[Json]:
    found = []
    for place in touched:
        storage, key = place
        old, new = before.get(place), after.get(place)
        if (place in before, old) == (place in after, new):
            continue
        was = describe(descriptor, storage, key, old[0]) if old is not None else None
        line = was if new is None else describe(descriptor, storage, key, new[0])
        line = line or describe(descriptor, storage, key, None)
        sign = "~" if (old is None) is (new is None) else "+" if old is None else "-"
        change = {
            "sign": sign,
            "table": descriptor.name,
            "table_id": descriptor.table_id,
            "name": line.element,
            "row": line.row,
            "row_key": line.row_key or (was.row_key if was else ""),
            "says": line.says,
            "was": was.says if was is not None and sign == "~" else "",
            "tombstone": place in after and new is None,
            "over_tombstone": place in before and old is None,
            "storage": storage,
        }
        found.append(change | _owner(descriptor, key, line))
    return found


def _owner(descriptor: Descriptor, key: bytes, line: PairLine) -> Json:
    try:
        name = name_of(descriptor, key)
        if name.index != PRIMARY:
            index = descriptor.index(name.index)
            return {"of": index.kind.value, "state": index.state.value}
        if name.column == EXISTS or name.column is None:
            return {"of": "row", "state": descriptor.state.value}
        return {"of": "column", "state": descriptor.column(name.column).state.value}
    except (StrayKey, UnknownElement):
        return {"of": "unknown", "state": "absent", "name": f"{line.k}, {line.c}"}
