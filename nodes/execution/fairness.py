"""Long work beside the event loop's other duties, of which renewing the leases is one. A node that computes for longer
than a lease lasts without looking up has lost it, and must end itself (L10). So long work is done in a thread
(`in_thread`), and a loop over rows lets others go first every `SLICE_S` (`Turns`)."""

import asyncio
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from time import perf_counter
from typing import TypeVar

from expressions import grammar
from expressions.limits import begin_anew

SLICE_S = 0.01
LARGE_CHARS = grammar.LARGE_CHARS
"""A statement beyond this is parsed and planned in the thread, and so is what is computed of longer values."""
ELEMENT_CHARS = 8
"""An element of an array, in characters: most take a microsecond or some to read, compare or encode."""

T = TypeVar("T")

_THREAD = ThreadPoolExecutor(1, "planning")
"""One: two would only take the interpreter from each other and, more often, from the event loop."""


async def in_thread(work: Callable[[], T]) -> T:
    """The value of `work`, which goes on counting for its statement (`expressions.limits`). A cancel does not wait for
    it."""
    return await asyncio.get_running_loop().run_in_executor(_THREAD, copy_context().run, work)


async def in_thread_if_large(text: str, work: Callable[[], T]) -> T:
    return work() if len(text) <= LARGE_CHARS else await in_thread(work)


def are_long(values: Iterable[object]) -> bool:
    """True if what is computed of these values, checked or encoded, is to be done in the thread."""
    size = 0
    for value in values:
        if isinstance(value, (str, bytes, tuple)):
            size += len(value) * (ELEMENT_CHARS if isinstance(value, tuple) else 1)
    return size > LARGE_CHARS


class Turns:
    __slots__ = ("_since",)

    def __init__(self) -> None:
        self._since = perf_counter()

    @property
    def are_due(self) -> bool:
        return perf_counter() - self._since > SLICE_S

    async def give(self) -> None:
        """Lets others go first if that is due. Call it between rows: what each looks at is counted for itself."""
        begin_anew()
        if self.are_due:
            await asyncio.sleep(0)
            self._since = perf_counter()
