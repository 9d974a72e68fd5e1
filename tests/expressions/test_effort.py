"""Functions of text look at so many characters for one row, however the expression is written."""

from collections.abc import Callable
from contextvars import copy_context
from decimal import Decimal

import pytest

from catalog.values.types import SqlType
from expressions.errors import SqlError
from expressions.limits import VALUE_BYTES_MAX, begin_anew
from expressions.values import numerics, texts
from expressions.values.arithmetic import text_to

LONG = "a" * VALUE_BYTES_MAX
MANY_DIGITS = Decimal("7" * 15_000 + "." + "1" * 4_000)
COSTLY: dict[str, Callable[[], object]] = {
    "a piece with any character": lambda: texts.like(LONG, "%a_b%"),
    "a long piece": lambda: texts.like(LONG[:100_000], "%" + "_a" * 4900 + "b%"),
    "a plain piece": lambda: texts.like(LONG, "%ab%"),
    "upper": lambda: texts.upper("e\u0301" * (VALUE_BYTES_MAX // 3)),
    "lower": lambda: texts.lower(LONG),
    "sums of many digits": lambda: numerics.add(MANY_DIGITS, MANY_DIGITS),
    "products": lambda: numerics.multiply(MANY_DIGITS, Decimal(3)),
    "quotients": lambda: numerics.divide(MANY_DIGITS, Decimal(7)),
    "casts": lambda: text_to(SqlType.DOUBLE)("1" + " " * VALUE_BYTES_MAX),
    "casts to jsonb": lambda: text_to(SqlType.JSONB)(f'"{LONG[:-2]}"'),
}


ROUNDS = 1000
"""More than any of these may be done for one row."""
READ_ANEW = 5
"""As many of what reads a document each time, some tenth of a microsecond for each character or more."""


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("expressions.limits.CHARS_AT_ONCE_MAX", 2**21)


def within(work: Callable[[], object]) -> object:
    """Do some work where characters are counted."""
    return copy_context().run(lambda: (begin_anew(), work())[1])


@pytest.mark.parametrize("name", COSTLY)
def test_an_expression_of_a_row_looks_at_so_many_characters(name: str) -> None:
    with pytest.raises(SqlError, match="look at more than 2097152 characters") as caught:
        within(lambda: [COSTLY[name]() for _ in range(READ_ANEW if "jsonb" in name else ROUNDS)])
    assert caught.value.sqlstate == "54001"


def test_the_next_row_begins_anew() -> None:
    def rows() -> None:
        for _ in range(3):
            begin_anew()
            assert not texts.like(LONG, "%a_b%")

    within(rows)


@pytest.mark.parametrize("piece", ["ab", "a_"])
def test_a_pattern_of_many_pieces_passes_a_text_once(piece: str) -> None:
    text = ("ab" + "-" * 8190) * 120
    assert within(lambda: texts.like(text, f"%{piece}" * 120 + "%"))


def test_nobody_counts_outside_of_a_node() -> None:
    for _ in range(3):
        assert not texts.like(LONG, "%a_b%")
