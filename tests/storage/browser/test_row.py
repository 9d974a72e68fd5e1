"""One row as the row page shows it: what is there, what of it a query sees, and why not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from catalog.descriptor import Descriptor
from catalog.elements import Column, ColumnId, Index, IndexColumn, IndexId, Placement, PlacementId, State, TableId
from catalog.values.errors import BadValue
from catalog.values.types import SqlType
from storage import encoding
from storage.browser.row import Layout, Slot, Stored, entry_keys, key_of, key_texts, read_row, row_shown
from storage.browser.segments import key_segments
from storage.buckets import storage_of
from storage.mutations import Act, delete_row, insert_row
from storage.pairs import StoredRow, column_key, prefix, stored_key

LAYOUT = Layout(buckets=16, storages=2)
KEY, NOTE = ColumnId(1), ColumnId(2)
BY_NOTE = Index(IndexId(1), "by_note", (IndexColumn(NOTE),))
D, W, P = State.DELETE_ONLY, State.WRITE_ONLY, State.PUBLIC


def table(**more: object) -> Descriptor:
    """notes (id bigint primary key, note text, index by_note (note))."""
    body = Descriptor(
        table_id=TableId(7),
        name="notes",
        version=3,
        columns=(Column(KEY, "id", SqlType.BIGINT, not_null=True), Column(NOTE, "note", SqlType.TEXT)),
        primary_key=(KEY,),
        indexes=(BY_NOTE,),
    )
    return replace(body, **more)  # type: ignore[arg-type]


def row_of(number: int, note: str) -> StoredRow:
    return StoredRow(encoding.encode(SqlType.BIGINT, number), {NOTE: encoding.encode(SqlType.TEXT, note)})


def put(descriptor: Descriptor, row: StoredRow) -> dict[bytes, list[tuple[int, bytes | None]]]:
    """The pairs that an INSERT under this version leaves."""
    found: dict[bytes, list[tuple[int, bytes | None]]] = {}
    for op in insert_row(descriptor, row, LAYOUT.buckets):
        found[op.key] = [(storage_of(op.bucket, LAYOUT.storages, LAYOUT.buckets), op.value)]
    return found


def slots(descriptor: Descriptor, stored: Stored, number: int = 1) -> dict[str, Slot]:
    shown = row_shown(descriptor, encoding.encode(SqlType.BIGINT, number), stored, LAYOUT)
    return {slot.name if slot.placement == 1 else f"{slot.name} in 2": slot for slot in shown.slots}


def whys(descriptor: Descriptor, stored: Stored) -> dict[str, str]:
    return {name: slot.why for name, slot in slots(descriptor, stored).items()}


@pytest.mark.parametrize("index", [BY_NOTE, replace(BY_NOTE, unique=True)], ids=["plain", "unique"])
def test_what_an_insert_puts_is_visible_where_it_belongs(index: Index) -> None:
    descriptor = table(indexes=(index,))
    found = slots(descriptor, put(descriptor, row_of(1, "tea")))
    assert {name: slot.why for name, slot in found.items()} == dict.fromkeys(("notes", "note", "by_note"), "visible")
    assert not any(slot.is_misplaced for slot in found.values())
    assert (found["notes"].says, found["note"].says) == ("exists", "tea")
    assert found["by_note"].says == "note = tea → id = 1"


@pytest.mark.parametrize(("index", "why"), [
    pytest.param(replace(BY_NOTE, state=W), "not used", id="write-only"),
    pytest.param(replace(BY_NOTE, state=W, filling=True), "not used", id="filling"),
    pytest.param(replace(BY_NOTE, state=D), "never put", id="delete-only"),
])  # fmt: skip
def test_an_index_on_its_way_is_kept_and_not_used(index: Index, why: str) -> None:
    descriptor = table(indexes=(index,))
    assert whys(descriptor, put(descriptor, row_of(1, "tea")))["by_note"] == why


def test_an_entry_that_the_fill_has_not_put_yet() -> None:
    stored = put(table(indexes=()), row_of(1, "tea"))
    filling = table(indexes=(replace(BY_NOTE, state=W, filling=True),))
    assert whys(filling, stored)["by_note"] == "not yet"
    assert whys(table(), stored)["by_note"] == "missing"


def test_a_condition_that_is_not_true_of_the_row() -> None:
    partial = table(indexes=(replace(BY_NOTE, where="\"#2\" = 'coffee'"),))
    assert whys(partial, put(partial, row_of(1, "tea")))["by_note"] == "no entry"
    assert whys(partial, put(table(), row_of(1, "tea")))["by_note"] == "against the condition"


def test_a_column_that_queries_do_not_know() -> None:
    stored = put(table(), row_of(1, "tea"))
    hidden = table(columns=(table().columns[0], replace(table().columns[1], state=D)), indexes=())
    assert whys(hidden, stored)["note"] == "not known"
    gone = table(columns=table().columns[:1], indexes=())
    found = slots(gone, stored)["column 2"]
    assert (found.element, found.why) == ("unknown", "stray")


def test_a_column_without_a_pair_reads_as_its_fill_value_or_null() -> None:
    descriptor = table(indexes=())
    stored = put(descriptor, StoredRow(encoding.encode(SqlType.BIGINT, 1)))
    stored.pop(column_key(prefix(descriptor, PlacementId(1)), encoding.encode(SqlType.BIGINT, 1), NOTE), None)
    assert (slots(descriptor, stored)["note"].why, slots(descriptor, stored)["note"].says) == ("reads as", "NULL")
    filled = replace(table().columns[1], fill_value=encoding.encode(SqlType.TEXT, "water"))
    assert slots(table(columns=(table().columns[0], filled), indexes=()), stored)["note"].says == "water"


def test_a_tombstone_hides_what_was_removed() -> None:
    filling = table(indexes=(replace(BY_NOTE, state=W, filling=True),))
    row = row_of(1, "tea")
    stored = put(filling, row)
    tombs = {op.key for op in delete_row(filling, row, LAYOUT.buckets) if op.act is Act.TOMBSTONE}
    assert len(tombs) == 1
    stored |= {key: [(1, None)] for key in tombs}
    assert slots(filling, stored)["by_note"].stored == "tombstone"
    assert slots(filling, stored)["by_note"].why == "tombstone"


def test_a_second_placement_has_pairs_of_its_own_and_says_where() -> None:
    by_note = Placement(PlacementId(2), (NOTE,), state=W, filling=True)
    descriptor = table(placements=(Placement(PlacementId(1)), by_note))
    shown = row_shown(descriptor, encoding.encode(SqlType.BIGINT, 1), put(descriptor, row_of(1, "tea")), LAYOUT)
    assert [(home.columns, home.values) for home in shown.homes] == [("id", "1"), ("note", "tea")]
    second = [slot for slot in shown.slots if slot.placement == 2]
    assert {slot.why for slot in second} == {"placement not used"}
    assert [slot.name for slot in second] == ["notes", "note", "by_note"]


def test_a_pair_on_the_wrong_storage_says_where_it_belongs() -> None:
    descriptor = table()
    stored = {key: [(3 - at[0][0], at[0][1])] for key, at in put(descriptor, row_of(1, "tea")).items()}
    assert all(slot.is_misplaced for slot in slots(descriptor, stored).values())


def test_a_tombstone_on_another_storage_does_not_hide_the_live_pair() -> None:
    """Between a swap and the purge of its tombstones both are there."""
    descriptor = table(indexes=())
    stored = put(descriptor, row_of(1, "tea"))
    both = {key: sorted([*at, (3 - at[0][0], None)]) for key, at in stored.items()}
    shown = row_shown(descriptor, encoding.encode(SqlType.BIGINT, 1), both, LAYOUT)
    assert shown.exists
    assert {home.values for home in shown.homes} == {"1"}
    for first in (1, 2):
        lowest = {key: [(first, None), (3 - first, at[0][1])] for key, at in stored.items()}
        assert read_row(descriptor, encoding.encode(SqlType.BIGINT, 1), lowest) == row_of(1, "tea")
    assert not any(slot.is_misplaced for slot in shown.slots)


def test_a_unique_entry_of_another_row_is_not_this_row_s() -> None:
    unique = table(indexes=(replace(BY_NOTE, unique=True, state=W, filling=True),))
    stored = put(table(indexes=()), row_of(1, "tea")) | put(unique, row_of(2, "tea"))
    found = slots(unique, stored)["by_note"]
    assert (found.why, found.says, found.is_misplaced) == ("of another row", "note = tea → id = 2", False)
    assert found.other == encoding.encode(SqlType.BIGINT, 2).hex()
    assert slots(unique, stored, 2)["by_note"].other == ""


def test_a_row_that_does_not_exist_has_no_entries_to_look_for() -> None:
    shown = row_shown(table(), encoding.encode(SqlType.BIGINT, 1), {}, LAYOUT)
    assert not shown.exists
    assert [(slot.name, slot.why) for slot in shown.slots] == [("notes", "no row"), ("note", "no row")]


def test_a_column_without_its_row_is_a_fault() -> None:
    descriptor = table(indexes=())
    stored = put(descriptor, row_of(1, "tea"))
    del stored[column_key(prefix(descriptor, PlacementId(1)), encoding.encode(SqlType.BIGINT, 1))]
    assert whys(descriptor, stored) == {"notes": "no row", "note": "without its row"}


def test_a_key_is_cut_into_what_it_is_made_of() -> None:
    descriptor = table()
    [entry] = entry_keys(descriptor, row_of(1, "tea"))
    parts = key_segments(descriptor, entry)
    assert [(part.part, part.says) for part in parts] == [
        ("placement", "1"), ("index", "by_note"), ("value", "note = tea"), ("key", "id = 1"),
    ]  # fmt: skip
    assert "".join(part.hex for part in parts) == stored_key(entry)[0].hex()
    own = column_key(prefix(descriptor, PlacementId(1)), encoding.encode(SqlType.BIGINT, 1))
    assert [part.part for part in key_segments(descriptor, own)] == ["placement", "index", "key", "column"]
    assert key_segments(descriptor, own)[-1].says == "exists"
    assert [part.part for part in key_segments(descriptor, b"\x00")] == ["unknown"]


def test_a_key_is_named_by_its_values_in_text() -> None:
    assert key_of(table(), ["1"]) == encoding.encode(SqlType.BIGINT, 1)
    assert key_texts(table(), key_of(table(), ["-5"])) == ["-5"]
    with pytest.raises(ValueError, match="the key of notes has 1 values: id"):
        key_of(table(), ["1", "2"])
    with pytest.raises(BadValue, match="invalid input syntax for type bigint"):
        key_of(table(), ["one"])
    with pytest.raises(encoding.Undecodable):
        key_texts(table(), b"\x07")


def test_nobody_knows_the_place_of_a_row_that_does_not_exist_where_its_key_does_not_say() -> None:
    """Pairs that are left of it may lie anywhere."""
    descriptor = table(indexes=(), placements=(Placement(PlacementId(1), (NOTE,)),))
    left = put(descriptor, row_of(1, "tea"))
    del left[min(left)]
    shown = row_shown(descriptor, encoding.encode(SqlType.BIGINT, 1), left, LAYOUT)
    assert [(home.columns, home.values, home.bucket) for home in shown.homes] == [("note", "", None)]
    assert [(slot.why, slot.is_misplaced) for slot in shown.slots if slot.stored == "live"] == [
        ("without its row", False)
    ]
