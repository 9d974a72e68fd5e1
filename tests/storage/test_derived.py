"""A column whose type changes: its twin follows it, then it follows its twin."""

from dataclasses import replace

import pytest

from catalog.descriptor import Descriptor
from catalog.elements import Column, ColumnId, Derivation, State
from catalog.values.types import SqlType
from storage import encoding
from storage.derived import derived_value, matches
from storage.integrity.clauses import check
from storage.mutations import Act, delete_row, insert_row, update_row
from storage.pairs import CannotDerive, StoredRow, column_key, row_key
from storage.store import MemoryStore
from tests.storage.test_mutations import AGE, NAME, PLAIN, ROWS, acts, run, text, user

TWIN = ColumnId(4)
TO_INTEGER, TO_TEXT = '"#2"::integer', '"#4"::text'


def twin_in(state: State, *, filling: bool = False) -> Descriptor:
    """`name` text becomes integer: its twin, derived from it."""
    twin = Column(TWIN, "name (new)", SqlType.INTEGER, state, filling=filling)
    return replace(
        PLAIN, columns=(*PLAIN.columns, replace(twin, derived=Derivation(NAME, TO_INTEGER, TO_TEXT))), version=2
    )


def swapped(state: State) -> Descriptor:
    """The twin is public; what was `name` follows it, in `state`."""
    old = replace(PLAIN.columns[1], state=state, derived=Derivation(TWIN, TO_TEXT, TO_INTEGER))
    columns = (PLAIN.columns[0], old, PLAIN.columns[2], Column(TWIN, "name", SqlType.INTEGER))
    return replace(PLAIN, columns=columns, version=3)


DELETE_ONLY, FILLING, BEFORE = (
    twin_in(State.DELETE_ONLY),
    twin_in(State.WRITE_ONLY, filling=True),
    twin_in(State.WRITE_ONLY),
)
SWAPPED, LEAVING = swapped(State.WRITE_ONLY), swapped(State.DELETE_ONLY)


def number(value: int | None) -> bytes:
    return encoding.encode(SqlType.INTEGER, value)


def key_of(column: ColumnId, of: int = 1) -> bytes:
    return column_key(ROWS, row_key(PLAIN, [of]), column)


def written(row: StoredRow, **columns: bytes) -> StoredRow:
    return StoredRow(row.key, {**row.columns, **{ColumnId(int(c[1:])): v for c, v in columns.items()}})


@pytest.mark.parametrize(("descriptor", "inserted", "updated", "deleted"), [
    pytest.param(DELETE_ONLY, [], [Act.REMOVE], [Act.REMOVE], id="delete-only"),
    pytest.param(FILLING, [Act.PUT], [Act.PUT], [Act.TOMBSTONE], id="filling"),
    pytest.param(BEFORE, [Act.PUT], [Act.PUT], [Act.REMOVE], id="write-only"),
])  # fmt: skip
def test_the_twins_pair_in_each_state(
    descriptor: Descriptor, inserted: list[Act], updated: list[Act], deleted: list[Act]
) -> None:
    row = user(1, "7")
    assert acts(insert_row(descriptor, row), key_of(TWIN)) == inserted
    assert acts(update_row(descriptor, row, {NAME: text("8")}), key_of(TWIN)) == updated
    assert acts(update_row(descriptor, row, {AGE: number(8)}), key_of(TWIN)) == [], "another column is no source"
    assert acts(delete_row(descriptor, row), key_of(TWIN)) == deleted


def test_the_value_follows_and_null_is_a_value() -> None:
    values = {op.key: op.value for op in insert_row(BEFORE, user(1, "7")) + insert_row(BEFORE, user(2, None))}
    assert (values[key_of(TWIN)], values[key_of(TWIN, 2)]) == (number(7), number(None))
    changed = {op.key: op.value for op in update_row(BEFORE, user(1, "7"), {NAME: text("-8")})}
    assert changed == {key_of(NAME): text("-8"), key_of(TWIN): number(-8)}


def test_what_a_node_says_of_a_hidden_twin_is_not_believed() -> None:
    """A node gives NULL for every write-only column without a default; the twin has its own value."""
    ops = insert_row(BEFORE, written(user(1, "7"), c4=number(None)))
    assert [op.value for op in ops if op.key == key_of(TWIN)] == [number(7)]
    assert acts(insert_row(DELETE_ONLY, written(user(1, "7"), c4=number(7))), key_of(TWIN)) == []


@pytest.mark.parametrize("descriptor", [FILLING, BEFORE], ids=["filling", "write-only"])
def test_a_value_the_twin_cannot_hold_is_refused(descriptor: Descriptor) -> None:
    with pytest.raises(CannotDerive) as caught:
        insert_row(descriptor, user(1, "seven"))
    assert caught.value.sqlstate == "22P02"
    assert str(caught.value) == (
        'column name (new) has no value for row id = 1: invalid input syntax for type integer: "seven"'
    )
    with pytest.raises(CannotDerive, match="out of range"):
        update_row(descriptor, user(1, "7"), {NAME: text("99999999999")})
    assert len(delete_row(descriptor, user(1, "seven"))) == 4, "a row that was there can still be deleted"
    assert len(insert_row(DELETE_ONLY, user(1, "seven"))) == 3, "nobody asks it in delete-only"


def test_after_the_swap_the_old_column_follows_the_twin() -> None:
    row = StoredRow(row_key(PLAIN, [1]), {TWIN: number(7), AGE: number(1)})
    values = {op.key: op.value for op in insert_row(SWAPPED, row)}
    assert values[key_of(NAME)] == text("7")
    old = written(row, c2=text("7"))
    assert {op.key: op.value for op in update_row(SWAPPED, old, {TWIN: number(8)})} == {
        key_of(TWIN): number(8),
        key_of(NAME): text("8"),
    }
    assert acts(update_row(LEAVING, old, {TWIN: number(8)}), key_of(NAME)) == [Act.REMOVE]


@pytest.mark.parametrize(("descriptor", "had", "has"), [
    pytest.param(BEFORE, number(7), number(7), id="write-only: it goes along"),
    pytest.param(FILLING, None, number(7), id="filling: what the fill would put is put"),
    pytest.param(DELETE_ONLY, number(7), None, id="delete-only: never put, not even when moved"),
])  # fmt: skip
def test_a_row_that_moves_to_another_key(descriptor: Descriptor, had: bytes | None, has: bytes | None) -> None:
    row = written(user(1, "7"), c4=had) if had else user(1, "7")
    ops = update_row(descriptor, row, {}, new_key=row_key(PLAIN, [2]))
    assert [op.value for op in ops if op.key == key_of(TWIN, 2)] == ([has] if has else [])
    assert acts(ops, key_of(TWIN)) == [Act.TOMBSTONE if descriptor is FILLING else Act.REMOVE]


def test_a_row_nobody_could_fill_may_move() -> None:
    """The fill will find it where it is then, and name it."""
    ops = update_row(FILLING, user(1, "seven"), {}, new_key=row_key(PLAIN, [2]))
    assert acts(ops, key_of(TWIN, 2)) == []


def test_a_key_that_the_expression_reads_is_a_source() -> None:
    twin = replace(
        DELETE_ONLY.columns[3], state=State.WRITE_ONLY, derived=Derivation(NAME, '"#2"::integer + "#1"::integer')
    )
    reads_key = replace(DELETE_ONLY, columns=(*PLAIN.columns, twin))
    ops = update_row(reads_key, written(user(1, "7"), c4=number(8)), {}, new_key=row_key(PLAIN, [20]))
    assert [op.value for op in ops if op.key == key_of(TWIN, 20)] == [number(27)]


def test_a_derived_pair_that_does_not_follow_breaks_c5_and_a_missing_one_c2_once_it_is_read() -> None:
    store = MemoryStore(storages=1)
    run(store, insert_row(BEFORE, user(1, "7")))
    assert check(BEFORE, store.contents()) == []
    store.pairs[0][key_of(TWIN)] = number(8)
    (stale,) = check(BEFORE, store.contents())
    assert str(stale) == "C5: column name (new) has a value for row id = 1 that does not follow from its source"
    del store.pairs[0][key_of(TWIN)]
    assert check(BEFORE, store.contents()) == []
    public = replace(BEFORE, columns=(*PLAIN.columns, replace(BEFORE.columns[3], state=State.PUBLIC)))
    assert [v.clause for v in check(public, store.contents())] == ["C2"]


def test_a_value_that_does_not_come_back_as_it_was_still_matches() -> None:
    """'07' is 7, and 7 is '7': the pair is right because the expression or its inverse says so."""
    store = MemoryStore(storages=1)
    run(store, insert_row(BEFORE, user(1, "07")))
    assert check(BEFORE, store.contents()) == check(SWAPPED, store.contents()) == []
    store.pairs[0][key_of(NAME)] = text("8")
    assert [v.clause for v in check(SWAPPED, store.contents())] == ["C5"]
    store.pairs[0][key_of(NAME)] = text("seven")
    assert [v.clause for v in check(SWAPPED, store.contents())] == ["C5"]


@pytest.mark.parametrize("value", ["a", "ab", "ab  ", "ab x", "abc", ""])
def test_a_shorter_text_takes_what_fits_without_blanks_too_many_before_and_after_the_swap(value: str) -> None:
    """Before it the twin follows the longer column, after it the longer one, which still has the blanks, the twin."""
    old = PLAIN.columns[1]
    twin = Column(TWIN, "name (new)", SqlType.VARCHAR, State.WRITE_ONLY, length=2)
    to_twin, to_old = '"#2"::varchar', '"#4"::text'
    before = replace(PLAIN, columns=(*PLAIN.columns, replace(twin, derived=Derivation(NAME, to_twin, to_old))))
    row = user(1, value)
    if len(value.rstrip()) > 2:
        with pytest.raises(CannotDerive, match=r"value too long for type character varying\(2\)") as refused:
            derived_value(before, before.column(TWIN), row)
        assert refused.value.sqlstate == "22001"
        return
    short = encoding.encode(SqlType.VARCHAR, value[:2])
    assert derived_value(before, before.column(TWIN), row) == short
    both = written(row, c4=short)
    assert matches(before, before.column(TWIN), both)
    behind = replace(old, state=State.WRITE_ONLY, derived=Derivation(TWIN, to_old, to_twin))
    public = replace(twin, name="name", state=State.PUBLIC)
    swapped_now = replace(PLAIN, columns=(PLAIN.columns[0], behind, PLAIN.columns[2], public))
    assert matches(swapped_now, behind, both)
    assert not matches(swapped_now, behind, written(both, c4=encoding.encode(SqlType.VARCHAR, "z")))
