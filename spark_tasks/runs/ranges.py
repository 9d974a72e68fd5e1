"""Cuts a key space into ranges: by keys seen in a sample, about equally many rows in each.

    sample, in key order    a  b  c  d  e  f  g  h        1 of 10,000 rows was seen
    2 of them to a range    [low, c) [c, e) [e, g) [g, high)

Ranges lie side by side without a gap and are computed once (R1): a row written later belongs to the range
its key falls in. How many rows a range holds is an estimate until it is read.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from catalog.elements import PRIMARY, PlacementId
from storage.pairs import PREFIX

ROWS_PER_RANGE = 20_000
SAMPLE_PER_RANGE_MIN = 4
FILL_ROWS, FILL_BYTES = 600_000, 256 << 20
"""Of a fill's range. It is large: read in one statement, sorted in memory, written into neighbouring pages."""


@dataclass(frozen=True, slots=True)
class KeyRange:
    """Keys low <= key < high of one storage, about `rows` rows. `id` is that of its stored mark."""

    storage: int
    low: bytes
    high: bytes
    rows: int
    id: int = 0


@dataclass(frozen=True, slots=True)
class Reached:
    """The last pair of a range's last chunk. Pairs of columns come before entries, then storages, then keys."""

    storage: int
    key: bytes

    @property
    def batch(self) -> tuple[bool, int]:
        """The batch of a range to which the pair belongs; they are written in this order."""
        return not is_of_row(self.key), self.storage


def is_of_row(key: bytes) -> bool:
    """True when a pair is a row's own; an entry of an index otherwise."""
    return bool(PREFIX.unpack_from(key)[2] == PRIMARY)


def placement_of(key: bytes) -> PlacementId:
    """The placement that a key is of."""
    return PlacementId(PREFIX.unpack_from(key)[1])


def is_among_rows(key_range: KeyRange) -> bool:
    """True when a range holds rows; entries of an index otherwise."""
    return is_of_row(key_range.low)


def split(
    *, storage: int, low: bytes, high: bytes, sample: Sequence[bytes], rows: int, rows_per_range: int = ROWS_PER_RANGE
) -> list[KeyRange]:
    """Ranges that cover low..high. `sample` holds keys at which a row begins, in key order; `rows` is the estimate."""
    count = min(max(1, -(-rows // rows_per_range)), max(1, len(sample) // SAMPLE_PER_RANGE_MIN))
    cuts = [sample[len(sample) * number // count] for number in range(1, count)]
    bounds = [low, *(cut for cut in cuts if low < cut < high), high]
    share = rows // (len(bounds) - 1)
    return [KeyRange(storage, a, b, share) for a, b in pairwise(bounds)]


def rows_per_fill_range(*, rows: int, bytes_read: int, elements: int, workers: int) -> int:
    """The rows of a storage that a fill takes at once: as many as fit in memory, but work for every worker."""
    fit = min(FILL_ROWS, FILL_BYTES * rows // max(bytes_read, 1)) // max(elements, 1)
    return max(1, min(fit, max(ROWS_PER_RANGE, -(-rows // workers))))


def shares_of(count: int, workers: int) -> list[list[int]]:
    """The numbers of those of `count` ranges that each worker gets: every n-th, so that all work from the start on."""
    used = min(count, workers)
    return [list(range(first, count, used)) for first in range(used)]
