"""Partial indexes: entries for the rows that the condition accepts, and for no other."""

from dataclasses import replace

import pytest

from catalog.descriptor import Descriptor
from catalog.elements import State
from catalog.values.types import SqlType
from storage import encoding
from storage.integrity.clauses import check
from storage.mutations import Act, delete_row, insert_row, source_columns, update_row
from storage.pairs import CannotDerive, StoredRow, entry_pair, index_entry, row_key
from storage.store import DuplicateKey, MemoryStore
from tests.storage.test_mutations import AGE, BY_NAME, NAME, PLAIN, acts, run, text, user

ADULT = '"#3" > 17'


def partial(state: State, *, filling: bool = False, unique: bool = False, where: str = ADULT) -> Descriptor:
    return PLAIN.with_index(replace(BY_NAME, state=state, filling=filling, unique=unique, where=where))


DELETE_ONLY, PUBLIC = partial(State.DELETE_ONLY), partial(State.PUBLIC)
FILLING = partial(State.WRITE_ONLY, filling=True)
UNIQUE = partial(State.PUBLIC, unique=True)
ANN, CHILD = user(1, "ann", 18), user(1, "ann", 17)


def age(value: int | None) -> bytes:
    return encoding.encode(SqlType.INTEGER, value)


def key_of(row: StoredRow, descriptor: Descriptor = PUBLIC) -> bytes:
    """The key of its entry, had it one."""
    return entry_pair(descriptor, descriptor.placement, descriptor.indexes[0], row)[0]


@pytest.mark.parametrize(("years", "is_in"), [(18, True), (17, False), (None, False)])
def test_a_row_has_an_entry_when_the_condition_is_true(years: int | None, is_in: bool) -> None:
    row = user(1, "ann", years)
    assert (index_entry(PUBLIC, PUBLIC.placement, PUBLIC.indexes[0], row) is not None) is is_in
    assert acts(insert_row(PUBLIC, row), key_of(row)) == ([Act.PUT] if is_in else [])
    assert acts(delete_row(PUBLIC, row), key_of(row)) == ([Act.REMOVE] if is_in else [])


def test_the_columns_of_the_condition_are_sources_of_the_index() -> None:
    assert source_columns(PUBLIC, PUBLIC.indexes[0]) == {NAME, AGE, *PLAIN.primary_key}


@pytest.mark.parametrize(("descriptor", "out", "back_in"), [
    pytest.param(DELETE_ONLY, [Act.REMOVE], [], id="delete-only: removed, never put"),
    pytest.param(FILLING, [Act.TOMBSTONE], [Act.PUT], id="filling: a tombstone, so that no fill puts it back"),
    pytest.param(PUBLIC, [Act.REMOVE], [Act.PUT], id="public"),
])  # fmt: skip
def test_an_update_of_the_condition_alone_takes_a_row_out_or_in(
    descriptor: Descriptor, out: list[Act], back_in: list[Act]
) -> None:
    assert acts(update_row(descriptor, ANN, {AGE: age(3)}), key_of(ANN)) == out
    assert acts(update_row(descriptor, CHILD, {AGE: age(40)}), key_of(ANN)) == back_in
    assert acts(update_row(descriptor, ANN, {AGE: age(40)}), key_of(ANN)) == [], "in before and after"


def test_rows_outside_a_unique_index_do_not_collide() -> None:
    store = MemoryStore()
    run(store, insert_row(UNIQUE, user(1, "ann", 18)) + insert_row(UNIQUE, user(2, "ann", 17)))
    assert check(UNIQUE, store.contents()) == []
    with pytest.raises(DuplicateKey):
        run(store, update_row(UNIQUE, user(2, "ann", 17), {AGE: age(18)}))


def test_two_rows_swap_places_in_a_unique_index_in_one_statement() -> None:
    store, second = MemoryStore(), user(2, "ann", 17)
    run(store, insert_row(UNIQUE, ANN) + insert_row(UNIQUE, second))
    run(store, update_row(UNIQUE, ANN, {AGE: age(1)}) + update_row(UNIQUE, second, {AGE: age(50)}))
    assert check(UNIQUE, store.contents()) == []


@pytest.mark.parametrize(("written", "judged", "clause", "why"), [
    pytest.param(replace(PUBLIC, indexes=(replace(PUBLIC.indexes[0], where=None),)), PUBLIC, "C5",
        "by_name has an entry for row id = 1, which its condition does not accept", id="an entry too many"),
    pytest.param(partial(State.PUBLIC, where="FALSE"), partial(State.PUBLIC, where="TRUE"), "C4", "no entry",
        id="too few"),
])  # fmt: skip
def test_the_clauses_know_the_condition(written: Descriptor, judged: Descriptor, clause: str, why: str) -> None:
    store = MemoryStore()
    run(store, insert_row(written, CHILD))
    (found,) = check(judged, store.contents())
    assert found.clause == clause
    assert why in found.why


BY_DIVISION = '1 / "#3" > 0'


def test_a_row_that_gives_the_condition_no_value_is_refused_when_an_entry_would_be_put() -> None:
    row = user(1, "ann", 0)
    dividing = partial(State.WRITE_ONLY, where=BY_DIVISION)
    with pytest.raises(CannotDerive, match="condition of index by_name has no value for row id = 1: division by zero"):
        insert_row(dividing, row)
    with pytest.raises(CannotDerive) as caught:
        update_row(dividing, user(1, "ann", 1), {AGE: age(0)})
    assert caught.value.sqlstate == "22012"


def test_a_row_that_was_there_before_can_be_deleted_changed_and_moved_in_delete_only() -> None:
    row, early = user(1, "ann", 0), partial(State.DELETE_ONLY, where=BY_DIVISION)
    later = partial(State.PUBLIC, where=BY_DIVISION)
    assert [op.act for op in delete_row(later, row)] == [Act.REMOVE] * 3
    assert [op.value for op in update_row(early, row, {NAME: text("bob")})] == [text("bob")]
    assert len(update_row(early, row, {}, new_key=row_key(PLAIN, [2]))) == 6
    assert [op.act for op in update_row(later, row, {AGE: age(1)})] == [Act.PUT, Act.PUT], "changed, it gets its entry"
