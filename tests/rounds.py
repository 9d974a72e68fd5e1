"""Few rounds in the suite, many in `make soak`: of what is tried at random, or at every moment, the suite does enough
to find what is badly wrong."""

from collections.abc import Callable, Iterable
from typing import Any

import hypothesis
import pytest

in_soak = False
"""Whether the many are asked for: set by `tests.conftest` before any test is collected."""


def rounds(few: Any, many: Any) -> pytest.MarkDecorator:
    """The argument `rounds` of a test: `few` in the suite, `many` in the soak."""
    return pytest.mark.parametrize(
        "rounds", [pytest.param(few, id="few"), pytest.param(many, id="many", marks=pytest.mark.soak)]
    )


def every(number: int) -> pytest.MarkDecorator:
    """The argument `every` of a test that goes over many moments: each `number`-th in the suite, each in the soak."""
    return pytest.mark.parametrize(
        "every", [pytest.param(number, id="some"), pytest.param(1, id="all", marks=pytest.mark.soak)]
    )


def some_of(values: Iterable[Any], number: int) -> list[Any]:
    """Parameters of a test: each `number`-th of the values in the suite, all of them in the soak."""
    return [
        value if place % number == 0 else pytest.param(value, marks=pytest.mark.soak)
        for place, value in enumerate(values)
    ]


def drawn(few: int, many: int, **chosen: Any) -> Callable[[Any], Any]:
    """A test of examples that hypothesis draws: `few` in the suite, `many` where tests marked `drawn` are asked for."""
    chosen_settings = hypothesis.settings(max_examples=many if in_soak else few, deadline=None, **chosen)
    return lambda test: pytest.mark.drawn(chosen_settings(test))
