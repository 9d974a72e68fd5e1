"""The number of pairs to ask for at once, so that a page has some megabytes whatever their values are.

Nobody knows how long values are before they are read. So a page asks for as many pairs as would have `PAGE_BYTES` if
they were like those before, and gets no value that is so long that a page of such values would have twice as much
(`PageSize.longest`); of those it gets the lengths. Where one was left out, the page is read again in runs.

    likely short      10,000 pairs, then up to 20,000       values up to 1,600 bytes come at once
    1 MB each         runs of 8, then pages of 8            values up to 2 MB
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

PAGE_BYTES = 8 * 2**20
ROW_BYTES_MAX = 64 * 2**20
"""Of the columns of one row that are read at once."""
PAIRS_MIN = 8
ANY_LENGTH = 2**31 - 1


@dataclass(slots=True)
class PageSize:
    """Pairs of the next page of a scan."""

    pairs: int
    pairs_max: int

    @property
    def longest(self) -> int:
        return longest_of(self.pairs)

    def learn(self, pairs: int, size: int) -> None:
        """The last page had so many pairs, and bytes of keys and values."""
        self.pairs = max(PAIRS_MIN, min(self.pairs_max, PAGE_BYTES * pairs // max(size, 1)))


def longest_of(pairs: int) -> int:
    """The length in bytes of values that so many pairs may have without being too large together."""
    return 2 * PAGE_BYTES // max(pairs, 1)


def runs(sizes: Sequence[int]) -> Iterator[slice]:
    """The places cut into runs that have `PAGE_BYTES` together, or one place that has more."""
    start = total = 0
    for place, size in enumerate(sizes):
        if place > start and total + size > PAGE_BYTES:
            yield slice(start, place)
            start, total = place, 0
        total += size
    if start < len(sizes):
        yield slice(start, len(sizes))
