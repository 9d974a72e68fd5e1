"""What a model's names stand for in a schema, and two examples of its values."""

import pytest

from lab.own.cases import cases_of
from lab.own.statements import planned
from tests.lab.own.kinds import KINDS, TABLES, cases

FLIGHTS = {"t": "flights", "id": "id"}
LINKED = {"child": "flights", "id": "id", "parent": "airports", "parent.id": "faa"}
XY = ("'x'", "'y'")
NAMES = {
    "a table": ({"t": "bags", "id": "tag", "a": "owner"}, XY),
    "a table dropped": ({"t": "crews", "id": "id", "a": "size"}, ("10", "20")),
    "an index": (FLIGHTS | {"a": "dest", "by_a": "by_dest"}, XY),
    "an index dropped": (FLIGHTS | {"a": "carrier", "by_a": "by_carrier"}, XY),
    "a unique index": (FLIGHTS | {"a": "(dest, carrier)", "by_a": "by_both"}, ("('x', 'x')", "('y', 'y')")),
    "a partial index": (FLIGHTS | {"a": "(dest, seats)", "by_a": "big"}, ("('x', 201)", "('y', 200)")),
    "an optional column": (FLIGHTS | {"a": "note"}, XY),
    "an optional column dropped": (FLIGHTS | {"a": "dest"}, XY),
    "a required column": (FLIGHTS | {"a": "gate"}, ("'A1'", "'x'")),
    "a column and its check": (FLIGHTS | {"a": "gate", "a_is_11": "flights_gate_check"}, ("'A1'", "''")),
    "a column and its unique index": (FLIGHTS | {"a": "code", "by_a": "flights_code_key"}, XY),
    "a column and its foreign key": (LINKED | {"a": "via", "child_a_fkey": "flights_via_fkey"}, XY),
    "a column and its unique index dropped": (
        {"t": "crews", "id": "id", "a": "badge", "by_a": "crews_badge_key"},
        ("10", "20"),
    ),
    "a column that is not null dropped": (
        {"t": "crews", "id": "id", "a": "size", "a_not_null": "crews_size_not_null"},
        ("10", "20"),
    ),
    "not null": (FLIGHTS | {"a": "dest", "a_not_null": "flights_dest_not_null"}, XY),
    "not null dropped": ({"t": "crews", "id": "id", "a": "size", "a_not_null": "crews_size_not_null"}, ("10", "20")),
    "a check": (FLIGHTS | {"a": "seats", "a_is_11": "few"}, ("899", "900")),
    "a check dropped": (FLIGHTS | {"a": "seats", "a_is_11": "has_seats"}, ("1", "0")),
    "a foreign key": (LINKED | {"a": "dest", "child_a_fkey": "goes_to"}, XY),
    "a foreign key dropped": (LINKED | {"a": "carrier", "child_a_fkey": "of_airport"}, XY),
    "a foreign key to itself": (FLIGHTS | {"a": "leads_to", "t_a_fkey": "onward"}, ()),
    "a wider integer": ({"t": "crews", "id": "id", "a": '"Odd Name"'}, ("10", "20")),
    "a type": ({"t": "crews", "id": "id", "a": '"Odd Name"'}, ("10", "20")),
}


@pytest.mark.parametrize("kind", KINDS)
def test_names_of_each_kind(kind: str) -> None:
    names = cases(kind).cases[0].names
    assert (dict(names.words), names.values) == NAMES[kind]


@pytest.mark.parametrize(
    ("rule", "values"),
    [
        pytest.param("b <> 'off'", ("'x'", "'off'"), id="a literal of the condition is refused"),
        pytest.param("a BETWEEN 5 AND 7", ("5", "4"), id="its neighbour is"),
        pytest.param("a > 3 AND c", ("(4, true)", "(3, true)"), id="two columns"),
        pytest.param("d >= '2026-03-15'", ("'2026-03-15'", "'2026-03-01'"), id="a date"),
        pytest.param("a = a", (), id="nothing is refused: there is no example"),
        pytest.param("1 / (a - a) > 0", (), id="it has no value"),
        pytest.param("b LIKE '" + "%_" * 200 + "'", (), id="too long to be tried out"),
    ],
)
def test_examples_are_what_a_condition_accepts_and_refuses(rule: str, values: tuple[str, ...]) -> None:
    table = "CREATE TABLE q (id int PRIMARY KEY, a int, b text, c boolean, d date)"
    plan = planned(f"{table}; ALTER TABLE q ADD CHECK ({rule})")[-1].plan
    assert plan is not None
    assert cases_of(plan).cases[0].names.values == values


def test_the_tables_are_those_of_the_text() -> None:
    assert [one.plan is not None for one in planned(TABLES)] == [True] * 6
