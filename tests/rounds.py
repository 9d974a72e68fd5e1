"""Few rounds in the suite, many in `make soak`: what is tried at random, or at every moment, beside real services.

A round costs seconds there. The suite has enough of them to see that the test itself works and what is badly wrong;
all of them, and more, belong into the soak.
"""

from typing import Any

import pytest


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
