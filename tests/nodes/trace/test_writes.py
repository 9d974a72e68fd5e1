"""What a trace says of writing: each pair by what lay at its key before and after."""

from __future__ import annotations

import json
from dataclasses import replace

from catalog.elements import ColumnId, IndexId, PlacementId, State
from nodes.trace import writes
from nodes.trace.record import Trace, transaction_json
from nodes.trace.writes import Place, changes, places
from storage.mutations import Act, Op, delete_row, insert_row, update_row
from storage.pairs import column_key, prefix
from storage.store import apply_op
from tests.storage.browser.test_row import BY_NOTE, W, row_of, table


def one_storage(_bucket: int) -> int:
    return 1


def told(descriptor: object, ops: list[Op], before: dict[bytes, bytes | None]) -> list[writes.Json]:
    """The trace of these operations on these pairs, done by the store in memory."""
    after = dict(before)
    for op in ops:
        apply_op(after, op)
    touched, _ = places(ops, one_storage)
    return changes(descriptor, touched, _placed(before), _placed(after))  # type: ignore[arg-type]


def _placed(pairs: dict[bytes, bytes | None]) -> dict[Place, tuple[bytes, bytes] | None]:
    return {(1, key): None if value is None else (value, value) for key, value in pairs.items()}


def stored(descriptor: object, note: str) -> dict[bytes, bytes | None]:
    pairs: dict[bytes, bytes | None] = {}
    for op in insert_row(descriptor, row_of(1, note)):  # type: ignore[arg-type]
        apply_op(pairs, op)
    return pairs


def short(lines: list[writes.Json]) -> list[str]:
    return [f"{one['sign']} {one['of']} {one['name']} {one['row']}" for one in lines]


def test_an_insert_puts_a_pair_for_the_row_each_column_and_each_entry() -> None:
    descriptor = table()
    lines = told(descriptor, insert_row(descriptor, row_of(1, "tea")), {})
    assert short(lines) == ["+ row notes id=1", "+ column note id=1", "+ index by_note id=1"]
    assert {line["row_key"] for line in lines} == {row_of(1, "tea").key.hex()}
    assert lines[1]["says"] == "tea"


def test_an_update_changes_a_value_and_moves_an_entry() -> None:
    descriptor, before = table(), stored(table(), "tea")
    coffee = row_of(1, "coffee").columns
    lines = told(descriptor, update_row(descriptor, row_of(1, "tea"), coffee), before)
    assert sorted(short(lines)) == ["+ index by_note id=1", "- index by_note id=1", "~ column note id=1"]
    [changed] = [line for line in lines if line["sign"] == "~"]
    assert (changed["was"], changed["says"]) == ("tea", "coffee")


def test_the_same_value_again_changes_nothing() -> None:
    descriptor, before = table(), stored(table(), "tea")
    assert told(descriptor, update_row(descriptor, row_of(1, "tea"), row_of(1, "tea").columns), before) == []


def test_a_delete_under_a_fill_leaves_a_tombstone_and_says_in_which_state_it_is() -> None:
    filling = table(indexes=(replace(BY_NOTE, state=W, filling=True),))
    lines = told(filling, delete_row(filling, row_of(1, "tea")), stored(filling, "tea"))
    [entry] = [line for line in lines if line["of"] == "index"]
    assert (entry["sign"], entry["tombstone"], entry["state"]) == ("-", True, "write-only")
    [bare] = [line for line in told(filling, delete_row(filling, row_of(1, "tea")), {}) if line["of"] == "index"]
    assert (bare["sign"], bare["tombstone"]) == ("~", True)


def test_a_pair_over_a_tombstone_is_new() -> None:
    descriptor = table()
    [put] = [
        op
        for op in insert_row(descriptor, row_of(1, "tea"))
        if op.key.startswith(prefix(descriptor, PlacementId(1), IndexId(1)))
    ]
    [line] = told(descriptor, [put], {put.key: None})
    assert (line["sign"], line["over_tombstone"]) == ("+", True)


def test_a_unique_entry_names_its_row() -> None:
    unique = table(indexes=(replace(BY_NOTE, unique=True),))
    lines = told(unique, insert_row(unique, row_of(1, "tea")), {})
    assert "+ unique index by_note id=1" in short(lines)


def test_of_very_many_keys_the_first_are_told() -> None:
    many = [Op(Act.PUT, 1, number.to_bytes(4), b"") for number in range(1000)]
    shown, left_out = places([*many, *many], one_storage)
    assert (len(shown), left_out) == (writes.KEYS_MAX, 2 * (1000 - writes.KEYS_MAX))
    assert places(many[:2] * 2, one_storage) == ([(1, many[0].key), (1, many[1].key)], 0)
    assert places(many, one_storage, 0) == ([], 1000)


def test_a_long_value_that_differs_after_what_is_read_of_it_has_changed() -> None:
    descriptor = table()
    [place] = [(1, op.key) for op in insert_row(descriptor, row_of(1, "tea")) if op.value][:1]
    assert [line["sign"] for line in changes(descriptor, [place], {place: (b"a", b"1")}, {place: (b"a", b"2")})] == [
        "~"
    ]
    assert changes(descriptor, [place], {place: (b"a", b"1")}, {place: (b"a", b"1")}) == []


def test_a_pair_that_the_version_does_not_explain_is_told_raw() -> None:
    """By its k and its c, as the page of stored pairs shows them: here of a column, and of an index, that are not."""
    rows, entries = prefix(table(), PlacementId(1)), prefix(table(), PlacementId(1), IndexId(5))
    keys = column_key(rows, b"\x99", ColumnId(9)), entries + b"\x99"
    lines = told(table(indexes=()), [Op(Act.PUT, 1, key, b"x") for key in keys], {})
    assert [(line["sign"], line["of"], line["name"]) for line in lines] == [
        ("+", "unknown", "0001000099, 9"),
        ("+", "unknown", "0001000599, 0"),
    ]


def test_a_trace_as_it_is_sent() -> None:
    trace = Trace("insert", "INSERT INTO notes VALUES (1, 'tea')")
    trace.planned({}, [table()], [], [])
    lines = told(table(), insert_row(table(), row_of(1, "tea")), {})
    trace.wrote(lines, operations=3, keys=3, left_out=0)
    assert trace.words() == "insert: notes v3; pairs +3"
    sent = json.loads(trace.to_text(transaction_json("idle", None)))
    assert [step["do"] for step in sent["steps"]] == ["plan", "write"]
    assert sent["tables"] == [{"id": 7, "name": "notes", "version": 3, "until": None}]
    assert (sent["operations"], sent["keys"], len(sent["pairs"])) == (3, 3, 3)
    assert sent["transaction"]["status"] == "idle"
    assert State.PUBLIC.value == sent["pairs"][0]["state"]


def test_what_an_earlier_try_wrote_is_not_told() -> None:
    trace = Trace("insert", "")
    trace.wrote([{"sign": "+"}], operations=1, keys=1, left_out=0)
    trace.again("retry", sqlstate="40001", message="..", fresh=False)
    trace.planned({}, [table()], [], [])
    assert (trace.pairs, trace.operations) == ([], 0)
    assert [step["do"] for step in trace.steps] == ["write", "retry", "plan"]
