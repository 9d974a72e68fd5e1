"""Which overload of an operator or a function is meant."""

import pytest

from expressions.functions import overloads
from expressions.functions.overloads import Overload, choose
from expressions.sqltypes import FLOAT8, INT4, INT8, TEXT, UNKNOWN, Type

INTS, BIGS, FLOATS = (Overload((of, of), of, "{0} + {1}") for of in (INT4, INT8, FLOAT8))
TEXTS = Overload((TEXT, TEXT), TEXT, "{0} || {1}")


@pytest.mark.parametrize(("given", "chosen"), [
    pytest.param((INT4, INT4), [INTS], id="the one of exactly these types"),
    pytest.param((INT4, INT8), [BIGS], id="the one with more of exactly these"),
    pytest.param((INT4, UNKNOWN), [INTS], id="what is unknown is of the other's type"),
    pytest.param((UNKNOWN, UNKNOWN), [TEXTS], id="text where nothing is known"),
    pytest.param((TEXT, INT4), [], id="none"),
])  # fmt: skip
def test_the_best_is_chosen(given: tuple[Type, ...], chosen: list[Overload]) -> None:
    assert [overload for overload, _ in choose([INTS, BIGS, FLOATS, TEXTS], given)] == chosen


def test_where_only_one_fits_nothing_is_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(overloads, "_best")
    assert [overload for overload, _ in choose([INTS, TEXTS], (INT4, INT4))] == [INTS]
