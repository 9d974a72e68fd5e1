"""Traffic knows what it wrote: every answer can be checked against its book."""

import random

import pytest

from catalog.descriptor import Descriptor
from catalog.elements import Column, ColumnId, TableId
from catalog.values.types import SqlType
from nodes.traffic.book import (
    ROWS_MIN,
    Book,
    Delete,
    Insert,
    NotSuitable,
    Read,
    Update,
    choose_ranges,
    first_free_range,
    shape_of,
)
from nodes.traffic.meter import Meter

SAMPLES = [("a", 1), ("b", 2), (None, 3)]


def book() -> Book:
    return Book(1000, SAMPLES, random.Random(7))


def test_rows_follow_acknowledged_statements() -> None:
    own = book()
    own.done(Insert(1000, ("a", 1)))
    own.done(Insert(1001, (None, 3)))
    own.done(Update(1000, 0, "b"))
    assert own.rows == {1000: ("b", 1), 1001: (None, 3)}
    assert own.having(0, "b") == [1000]
    assert own.having(0, None) == [], "NULL equals nothing"
    own.done(Delete(1000))
    assert own.having(0, "b") == []


def test_an_uncertain_row_is_read_before_anything_else() -> None:
    own = book()
    own.done(Insert(1000, ("a", 1)))
    own.uncertain.add(1000)
    assert own.choose() == Read(1000)
    own.settle(1000, None)
    assert own.rows == {}
    assert own.choose() != Read(1000)


def test_every_kind_of_action_is_chosen_and_keys_are_never_used_again() -> None:
    own, seen, inserted = book(), set(), []
    for _ in range(300):
        action = own.choose()
        seen.add(type(action).__name__)
        if isinstance(action, Insert):
            inserted.append(action.key)
        if isinstance(action, Insert | Update | Delete):
            own.done(action)
    assert seen == {"Insert", "Update", "Delete", "Read", "Look"}
    assert len(inserted) == len(set(inserted))


@pytest.mark.parametrize(("columns", "key", "why"), [
    ([("id", SqlType.TEXT), ("a", SqlType.TEXT)], 1, "needs one integer or bigint column as primary key"),
    ([("id", SqlType.BIGINT)], 1, "has no column besides its key"),
])  # fmt: skip
def test_a_table_that_traffic_cannot_run_on_is_refused(columns: list[tuple[str, SqlType]], key: int, why: str) -> None:
    made = tuple(Column(ColumnId(n), name, sql_type) for n, (name, sql_type) in enumerate(columns, 1))
    table = Descriptor(TableId(1), "odd", 1, made, (ColumnId(key),))
    with pytest.raises(NotSuitable, match=why):
        shape_of(table)


def test_traffic_may_be_kept_to_some_columns() -> None:
    names = ("id", "a", "b", "c")
    made = tuple(Column(ColumnId(n), name, SqlType.BIGINT) for n, name in enumerate(names, 1))
    table = Descriptor(TableId(1), "wide", 1, made, (ColumnId(1),))
    assert shape_of(table).columns == ("a", "b", "c")
    assert shape_of(table, ["c", "a"]).columns == ("c", "a")
    with pytest.raises(NotSuitable, match="table wide has no column d to use; it has a, b, c"):
        shape_of(table, ["a", "d"])


@pytest.mark.parametrize(("percent", "kinds"), [(0, {"Read", "Look"}), (100, {"Insert", "Update", "Delete"})])
def test_the_share_of_writes_is_kept_once_there_is_something_to_read(percent: int, kinds: set[str]) -> None:
    own = Book(1000, SAMPLES, random.Random(7), percent)
    for _ in range(ROWS_MIN):
        first = own.choose()
        assert isinstance(first, Insert)
        own.done(first)
    assert {type(own.choose()).__name__ for _ in range(100)} == kinds


def test_nothing_is_expected_of_an_abandoned_row() -> None:
    own = book()
    own.done(Insert(1000, ("a", 1)))
    own.uncertain.add(1000)
    own.abandon(Update(1000, 0, "b"))
    assert (own.rows, own.uncertain, own.having(0, "a")) == ({}, set(), [])


def test_a_row_of_somebody_else_in_the_range_is_left_alone() -> None:
    own = book()
    own.next_key = 4
    own.done(Insert(1000, ("a", 1)))
    own.leave(1001)
    for key in (1002, 1003):
        own.doubt(Insert(key, ("b", 2)))
    own.settle(1002, ("theirs", 9))
    own.settle(1003, ("b", 2))
    assert own.rows == {1000: ("a", 1), 1003: ("b", 2)}
    assert own.written() == [1000, 1003]
    assert [key for key in range(1000, 1006) if own.expects(key)] == [1000, 1003]
    assert own.uncertain == set()


def test_an_insert_of_unknown_outcome_is_its_own_only_if_the_row_found_is_the_one_inserted() -> None:
    own = book()
    own.doubt(Insert(1000, ("a", 1)))
    own.abandon(Insert(1001, ("b", 2)))
    own.done(Insert(1002, ("a", 1)))
    own.abandon(Update(1002, 0, "b"))
    assert own.inserting == {1000: ("a", 1), 1001: ("b", 2)}
    assert own.written() == [1002]


def test_the_newest_key_stays_so_that_who_inserts_behind_it_meets_no_key_that_was_used() -> None:
    own = book()
    for _ in range(2000):
        action = own.choose()
        if isinstance(action, Delete):
            assert action.key != own.first + own.next_key - 1
        if isinstance(action, Insert | Update | Delete):
            own.done(action)


def test_meters_add_up() -> None:
    one, two = Meter(), Meter()
    one.took(5.0)
    two.took(9.0)
    two.fail("row 7 is gone", is_wrong=True)
    for meter, sqlstate in ((one, "40001"), (two, "40001"), (two, "23505")):
        meter.refuse(sqlstate)
    total = one + two
    assert (total.wrong, total.refused) == (1, {"23505": 1, "40001": 2})
    assert (total.statements, total.errors, total.worst_ms, total.shown) == (2, 1, 9.0, ["row 7 is gone"])


@pytest.mark.parametrize(("highest", "free"), [
    pytest.param(None, 0, id="an empty table"),
    pytest.param(336_776, 0, id="only keys that are not traffic's"),
    pytest.param(10**8, 1, id="an earlier run left its first row"),
    pytest.param(10**8 + 2 * 10**6 + 5, 3, id="the range after the highest key"),
])  # fmt: skip
def test_a_run_begins_behind_what_an_earlier_one_left(highest: int | None, free: int) -> None:
    assert first_free_range(highest) == free


INTEGER_MAX = 2**31 - 1


@pytest.mark.parametrize(("least", "highest", "chosen"), [
    pytest.param(None, None, (0, 2047), id="an empty table"),
    pytest.param(10**8, 10**8 + 5, (1, 2046), id="behind all rows"),
    pytest.param(10**9, INTEGER_MAX, (0, 900), id="behind them is no room, before them is"),
])  # fmt: skip
def test_ranges_stay_within_the_key_s_type(least: int | None, highest: int | None, chosen: tuple[int, int]) -> None:
    assert choose_ranges(3, least_key=least, highest_key=highest, last_key=INTEGER_MAX) == chosen


def test_a_table_without_room_for_keys_is_refused() -> None:
    with pytest.raises(NotSuitable, match="3 empty ranges of 1,000,000 keys from 100,000,000 on, .* 2,147,483,647"):
        choose_ranges(3, least_key=10**8, highest_key=INTEGER_MAX, last_key=INTEGER_MAX)


def test_the_last_key_is_that_of_the_type() -> None:
    for kind, last in ((SqlType.INTEGER, INTEGER_MAX), (SqlType.BIGINT, 2**63 - 1)):
        made = (Column(ColumnId(1), "id", kind), Column(ColumnId(2), "a", SqlType.TEXT))
        assert shape_of(Descriptor(TableId(1), "t", 1, made, (ColumnId(1),))).last_key == last
