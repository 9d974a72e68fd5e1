"""Entries beside each other in key order: as many match as a look-up of each would find."""

from itertools import pairwise

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from spark_tasks.checks.entry_merge import matched
from storage.arrow.encoding import Pairs

KEYS = st.binary(max_size=2)
OWNERS = st.sampled_from([b"", b"1", b"2"])


def pairs(listed: list[tuple[bytes, bytes]]) -> Pairs:
    return Pairs(pa.array([key for key, _ in listed], pa.binary()), pa.array([own for _, own in listed], pa.binary()))


@given(
    st.lists(st.tuples(KEYS, OWNERS), unique=True),
    st.dictionaries(KEYS, OWNERS),
    st.lists(st.integers(0, 8)),
    st.booleans(),
)
def test_as_many_match_as_are_found_one_by_one(
    expected: list[tuple[bytes, bytes]], other: dict[bytes, bytes], cuts: list[int], is_sound: bool
) -> None:
    """Two rows may expect the same key, stored keys differ; pages end anywhere."""
    stored = dict(expected) | other if is_sound else other
    ordered, listed = sorted(expected, key=lambda one: one[0]), sorted(stored.items())
    bounds = sorted({0, len(listed), *(cut for cut in cuts if cut < len(listed))})
    pages = [pairs(listed[a:b]) for a, b in pairwise(bounds)]
    found = sum(stored.get(key) == owner for key, owner in expected)
    assert matched(pairs(ordered), pages) == (found, len(stored))
