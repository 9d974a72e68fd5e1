"""Cuts a key space into ranges of about equally many rows, by sampled keys. Ranges have no gaps and are computed once
(R1): a later row belongs to the range of its key."""

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
    """Keys low <= key < high of one storage, about `rows` rows. `id` is its stored mark's."""

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
        return not is_of_row(self.key), self.storage


def is_of_row(key: bytes) -> bool:
    """True for a row's own pair, False for an entry."""
    return bool(PREFIX.unpack_from(key)[2] == PRIMARY)


def placement_of(key: bytes) -> PlacementId:
    return PlacementId(PREFIX.unpack_from(key)[1])


def is_among_rows(key_range: KeyRange) -> bool:
    return is_of_row(key_range.low)


def split(
    *, storage: int, low: bytes, high: bytes, sample: Sequence[bytes], rows: int, rows_per_range: int = ROWS_PER_RANGE
) -> list[KeyRange]:
    """Ranges that cover low..high. `sample` has keys at which rows begin, in order."""
    count = min(max(1, -(-rows // rows_per_range)), max(1, len(sample) // SAMPLE_PER_RANGE_MIN))
    cuts = [sample[len(sample) * number // count] for number in range(1, count)]
    bounds = [low, *(cut for cut in cuts if low < cut < high), high]
    share = rows // (len(bounds) - 1)
    return [KeyRange(storage, a, b, share) for a, b in pairwise(bounds)]


def rows_per_fill_range(*, rows: int, bytes_read: int, elements: int, workers: int) -> int:
    """Rows of a storage that a fill takes at once: as fit in memory, with work for every worker."""
    fit = min(FILL_ROWS, FILL_BYTES * rows // max(bytes_read, 1)) // max(elements, 1)
    return max(1, min(fit, max(ROWS_PER_RANGE, -(-rows // workers))))


def shares_of(count: int, workers: int) -> list[list[int]]:
    """Numbers of the ranges of each worker: every n-th."""
    used = min(count, workers)
    return [list(range(first, count, used)) for first in range(used)]
