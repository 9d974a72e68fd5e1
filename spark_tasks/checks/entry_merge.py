"""Entries that there should be against those that there are, side by side in key order.

    expected   a1 a2 b1 c1|c2 d1 ..     the rows' entries, sorted
    stored     a1 a2 b1 c1|c3 d1 ..     page by page, as the index has them

Where a page has the very bytes of what comes next, all of it matches; only in other pages is anybody looked up. So a
sound index costs reading it and a comparison of memory. Worth it while the entries of a batch are not too few of all
that lie between its first and its last; else they are looked up by key.
"""

from bisect import bisect_right
from collections.abc import Iterable

import pyarrow as pa
import pyarrow.compute as pc

from storage.arrow.encoding import Pairs

SPARSE = 6
"""A batch of less than one entry in so many is looked up: reading past an entry costs a sixth of looking one up."""


def matched(expected: Pairs, stored: Iterable[Pairs]) -> tuple[int, int]:
    """The number of expected pairs that are stored with this value, and of all that are stored.

    Both are in key order, stored keys differ.
    """
    total = place = there = 0
    for page in stored:
        there += len(page)
        mine = expected.slice(place, len(page))
        if mine.keys.equals(page.keys) and mine.values.equals(page.values):
            total += len(page)
            place += len(page)
            continue
        behind = _behind(expected.keys, place, page.keys[-1].as_py())
        total += _found(expected.slice(place, behind - place), page)
        place = behind
    return total, there


def _behind(keys: pa.Array, place: int, last: bytes) -> int:
    """Where keys greater than `last` begin, from `place` on."""
    return bisect_right(range(len(keys)), last, lo=place, key=lambda at: keys[at].as_py())


def _found(expected: Pairs, page: Pairs) -> int:
    there = page.values.take(pc.index_in(expected.keys, value_set=page.keys))
    return pc.sum(pc.equal(there, expected.values)).as_py() or 0
