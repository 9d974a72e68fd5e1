"""Merges expected and stored entries in key order. A page with the very bytes that come next matches as a whole, so a
sound index costs reading it. A batch with few of the entries in its range is looked up by key."""

from bisect import bisect_right
from collections.abc import Iterable

import pyarrow.compute as pc

from storage.arrow.encoding import Pairs

SPARSE = 6
"""A batch of less than one entry in so many is looked up: reading past an entry costs a sixth of looking one up."""


def matched(expected: Pairs, stored: Iterable[Pairs]) -> tuple[int, int]:
    """The numbers of expected pairs stored with this value, and of all stored. Both in key order, stored keys
    distinct."""
    total = place = there = 0
    for page in stored:
        there += len(page)
        mine = expected.slice(place, len(page))
        if mine.keys.equals(page.keys) and mine.values.equals(page.values):
            total += len(page)
            place += len(page)
            continue
        behind = bisect_right(
            range(len(expected.keys)), page.keys[-1].as_py(), lo=place, key=lambda at: expected.keys[at].as_py()
        )
        total += _found(expected.slice(place, behind - place), page)
        place = behind
    return total, there


def _found(expected: Pairs, page: Pairs) -> int:
    there = page.values.take(pc.index_in(expected.keys, value_set=page.keys))
    return pc.sum(pc.equal(there, expected.values)).as_py() or 0
