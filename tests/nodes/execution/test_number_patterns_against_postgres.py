"""Numbers written and read by patterns drawn at random are PostgreSQL's, and so are the codes of refusals."""

import random
from decimal import Decimal
from typing import Any

import psycopg

from expressions.errors import SqlError
from expressions.number_patterns.reading import to_number
from expressions.number_patterns.writing import DOUBLE_DIGITS, of_float, of_integer, of_numeric
from tests.nodes.conftest import Cluster

DRAWS = 300
_ANY = (*"9999009.,DGSLVB x", "MI", "PL", "SG", "PR", "FM", "TH", "th", "EEEE", "RN", '"a\\"b"', '\\"')
_NUMBERS = ("0", "0.1", "-0.1", "-0.01", "1", "-12", "123.456", "0.5", "2.5", "99.95", "1234567.891", "-485", "21",
    "1e10", "1e-5", "NaN", "-Infinity", "3999", "4000", "0.00", "-0.4")  # fmt: skip


def pattern(chance: random.Random) -> str:
    if chance.random() < 0.4:
        return "".join(chance.choice(_ANY) for _ in range(chance.randrange(7)))
    whole = "".join(chance.choice("9990,") for _ in range(chance.randrange(1, 6)))
    decimals = chance.choice(("", chance.choice(".D") + chance.choice(("", "9", "00", "990"))))
    first = chance.choice(("", "", "FM", "S", "MI", "SG", "FMS"))
    last = chance.choice(("", "", "S", "PR", "PL", "th", "V99"))
    return f"{first}{whole}{decimals}{last}"


def ours(compute: Any, *args: Any) -> str:
    try:
        return str(compute(*args))
    except SqlError as error:
        return error.sqlstate


def theirs(store: "psycopg.Connection[Any]", sql: str, *args: str) -> str:
    try:
        row = store.execute(sql, args).fetchone()
    except psycopg.Error as error:
        return str(error.sqlstate)
    assert row is not None
    return str(row[0])


def test_numbers_are_written_and_read_as_postgresql_does(cluster: Cluster) -> None:
    chance = random.Random(5)
    differences = []
    with cluster.store() as store:
        for _ in range(DRAWS):
            form, number = pattern(chance), chance.choice((*_NUMBERS, str(chance.randrange(-2000, 2000))))
            as_double, as_numeric = of_float(DOUBLE_DIGITS), Decimal(number)
            whole = int(as_numeric) if as_numeric.is_finite() and abs(as_numeric) < 10**9 else 7
            written = theirs(store, "SELECT to_char(%s::numeric, %s)", number, form)
            text = written.strip() if chance.random() < 0.5 else "".join(chance.choice("123.,-+ <>x") for _ in range(6))
            pairs = (
                (ours(of_numeric, as_numeric, form), written),
                (ours(as_double, float(number), form), theirs(store, "SELECT to_char(%s::float8, %s)", number, form)),
                (ours(of_integer, whole, form), theirs(store, "SELECT to_char(%s::int, %s)", str(whole), form)),
                (ours(to_number, text, form), theirs(store, "SELECT to_number(%s, %s)", text, form)),
            )
            wrong = (pair for pair in pairs if pair[0] not in (pair[1], "0A000"))
            differences += [f"{form!r} of {number}, {text!r}: {pair}" for pair in wrong]
    assert not differences, "\n".join(differences)


def test_a_pattern_has_an_end() -> None:
    assert ours(of_numeric, Decimal(1), "9" * 10**6) == "54000"
