"""The shell of the reloads: whatever a reload dies of, whoever waits hears of it, and the next one begins."""

import asyncio
import time
from typing import Any

import pytest

from nodes.router.reloads import Outcome
from nodes.router.router import Router
from nodes.store.pipeline import StoreError


class Names:
    """A directory that fails first, and then has no table."""

    def __init__(self, error: Exception) -> None:
        self.errors = [error]

    async def find(self, name: str) -> int | None:
        if self.errors:
            raise self.errors.pop()
        return None


@pytest.mark.parametrize("error", [StoreError("57014", "canceled"), AssertionError("no descriptor")])
def test_a_reload_that_dies_wakes_everybody_and_another_one_begins(error: Exception):
    async def outcomes() -> list[Outcome]:
        names: Any = Names(error)
        router, deadline = Router(names, None), time.monotonic() + 60  # type: ignore[arg-type]
        asks = [router.newer("t", None, deadline=deadline, is_patient=False) for _ in range(2)]
        first = await asyncio.gather(*asks)
        return [wake.outcome for wake in (*first, await router.newer("t", None, deadline=deadline, is_patient=False))]

    assert asyncio.run(outcomes()) == [Outcome.FAILED, Outcome.FAILED, Outcome.UNKNOWN]
