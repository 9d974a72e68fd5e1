"""Arithmetic of numerics is PostgreSQL's, digit for digit, for numbers drawn at random."""

import random
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from catalog.values import numerics as values
from expressions.values import numerics, powers
from nodes.wire.numerics import numeric_bytes, numeric_of
from tests.nodes.conftest import Cluster

ROWS = 120
SPECIAL = ("0", "0.00", "1", "-1.0", "10000", "9999.9999", "0.0001", "-0.5", "1e25", "1e-25", "0.99", "1.01")


def number(chance: random.Random) -> str:
    digits = "".join(chance.choice("0123456789") for _ in range(chance.choice((2, 5, 12, 40))))
    point = chance.randrange(len(digits) + 1)
    return chance.choice((*SPECIAL, *[f"{chance.choice(('', '-'))}{digits[:point] or 0}.{digits[point:]}"] * 20))


def small(chance: random.Random) -> str:
    return f"{chance.uniform(0.01, 30):.{chance.randrange(5)}f}1"


OPERATIONS: dict[str, tuple[Callable[..., Any], Callable[[random.Random], str]]] = {
    "a + b": (numerics.add, number),
    "a - b": (numerics.subtract, number),
    "a * b": (numerics.multiply, number),
    "a / nullif(b, 0)": (numerics.divide, number),
    "mod(a, nullif(b, 0))": (numerics.modulo, number),
    "div(a, nullif(b, 0))": (numerics.whole_quotient, number),
    "round(a, 3)": (lambda a, _: numerics.rounded(a, 3), number),
    "trunc(a, -2)": (lambda a, _: numerics.truncated(a, -2), number),
    "ceil(a)": (lambda a, _: numerics.ceiling(a), number),
    "trim_scale(a)": (lambda a, _: numerics.trimmed(a), number),
    "sqrt(a)": (lambda a, _: powers.square_root(a), small),
    "ln(a)": (lambda a, _: powers.natural_logarithm(a), small),
    "exp(a)": (lambda a, _: powers.exponential(a), small),
    "log(a + 1, b)": (lambda a, b: powers.logarithm(numerics.add(a, Decimal(1)), b), small),
    "a ^ b": (powers.power, small),
}


@pytest.mark.parametrize("operation", OPERATIONS)
def test_results_have_postgresqls_digits(cluster: Cluster, operation: str) -> None:
    compute, draw = OPERATIONS[operation]
    chance = random.Random(operation)
    pairs = [(draw(chance), draw(chance)) for _ in range(ROWS)]
    sql = (
        f"SELECT ({operation})::text, numeric_send({operation}) FROM (SELECT x::numeric AS a, y::numeric AS b, n"
        " FROM unnest(%s::text[], %s::text[]) WITH ORDINALITY AS given (x, y, n)) AS numbers ORDER BY n"
    )
    with cluster.store() as store:
        theirs = store.execute(sql, [[a for a, _ in pairs], [b for _, b in pairs]]).fetchall()
    for (x, y), (text, sent) in zip(pairs, theirs, strict=True):
        a, b = values.read(x), values.read(y)
        assert a is not None
        assert b is not None
        if text is None:  # divided by nothing
            assert not b
            continue
        found: Decimal = compute(a, b)
        assert (values.text_of(found), numeric_bytes(found)) == (text, bytes(sent)), (operation, x, y)
        assert values.text_of(numeric_of(bytes(sent))) == text
