"""Pages of a scan of some megabytes, whatever the values. Where values may be large, the server adds up lengths and
ends a page with the pair that reaches `PAGE_BYTES`. That costs a look at each pair, so a page asks for only as many as
would reach it if they were like those before."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from storage.statements import next_low

PAGE_BYTES = 8 * 2**20
ROW_BYTES_MAX = 64 * 2**20
"""Of the columns of one row that are read at once."""
PAIRS_MIN = 8
ANY_LENGTH = 2**31 - 1


@dataclass(slots=True)
class Pages:
    """The next page of a scan: its beginning, and its limits in pairs and bytes."""

    low: bytes
    pairs: int
    pairs_max: int
    is_done: bool = False

    @property
    def bytes_max(self) -> int:
        return PAGE_BYTES

    def learn(self, found: int, size: int, last_key: bytes) -> None:
        if found < self.pairs and size < PAGE_BYTES:
            self.is_done = True
            return
        self.low = next_low(last_key)
        self.pairs = max(PAIRS_MIN, min(self.pairs_max, PAGE_BYTES * found // max(size, 1)))


@dataclass(slots=True)
class Lengths:
    """`are_long` after a value that was too long for its page."""

    are_long: bool = False


def longest_of(pairs: int) -> int:
    """The longest value, in bytes, of which `pairs` fit into a page."""
    return 2 * PAGE_BYTES // max(pairs, 1)


def runs(sizes: Sequence[int]) -> Iterator[slice]:
    """Places cut into runs of `PAGE_BYTES`, or one longer place."""
    start = total = 0
    for place, size in enumerate(sizes):
        if place > start and total + size > PAGE_BYTES:
            yield slice(start, place)
            start, total = place, 0
        total += size
    if start < len(sizes):
        yield slice(start, len(sizes))
