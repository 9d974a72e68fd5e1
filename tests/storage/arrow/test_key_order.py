"""Keys compared as numbers lie in the order of their bytes, and equal ones stay as they came."""

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.arrow import key_order
from storage.arrow.encoding import Pairs
from tests.rounds import drawn

PIECES = st.sampled_from([b"", b"\x00", b"\x00\x00", b"a", b"\xff", b"\x80", b"name 12345", b"\x01" * 9])
KEYS = st.lists(st.lists(PIECES, max_size=4).map(b"".join), max_size=12)
ALIKE = st.sampled_from([b"", b"\x00\x00\x00\x01", b"begins alike "])


def order_of(keys: list[bytes], *, first: int = 0) -> list[int]:
    """By words, however few keys there are; `first` keys before them are not asked about."""
    array = pa.array([b"other"] * first + keys, pa.binary()).slice(first)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(key_order, "KEYS_MIN", 0)
        found = key_order.key_order(array)
    return list(range(len(keys))) if found is None else [place.as_py() for place in found]


@drawn(few=100, many=1000)
@given(keys=KEYS, alike=ALIKE, first=st.integers(0, 2))
def test_the_order_is_that_of_the_bytes(keys: list[bytes], alike: bytes, first: int) -> None:
    given_keys = [alike + key for key in keys]
    assert order_of(given_keys, first=first) == sorted(range(len(keys)), key=lambda place: given_keys[place])


@pytest.mark.parametrize("keys", [
    pytest.param([b"b" * 100, b"a" * 100], id="too long for words"),
    pytest.param([b"a\x00", b"a"], id="one that ends with a zero more"),
    pytest.param([b"\xff" * 8, b"\x7f" * 8, b"\x80" * 8], id="the sign of a number"),
])  # fmt: skip
def test_keys_that_words_could_mistake(keys: list[bytes]) -> None:
    assert order_of(keys) == sorted(range(len(keys)), key=lambda place: keys[place])


def test_many_keys_are_compared_by_words(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, words = [], key_order._words
    monkeypatch.setattr(key_order, "_words", lambda keys: asked.append(len(keys)) or words(keys))
    keys = pa.array([b"key %d" % (number * 7919 % 5000) for number in range(5000)], pa.binary())
    pairs = Pairs(keys, keys)
    assert pairs.sorted().keys.equals(keys.take(pc.sort_indices(keys)))
    assert asked == [5000]


def test_pairs_in_order_are_left_as_they_are() -> None:
    pairs = Pairs(pa.array([b"a", b"b", b"b"], pa.binary()), pa.array([b"", b"1", b"2"], pa.binary()))
    assert pairs.sorted() is pairs
