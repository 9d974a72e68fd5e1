"""Buckets agree with tarantool/vshard, whose values these are."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.arrow import buckets
from storage.buckets import BUCKETS, UnknownFunction, bucket_of, storage_of


@pytest.mark.parametrize(
    ("parts", "bucket"),
    [(["1"], 477), (["2"], 401), (["Emma"], 2861), (["Emma", "22"], 830), (["Emma", None, "22"], 2861)],
)
def test_strcrc32_is_vshards(parts: list[str | None], bucket: int) -> None:
    assert bucket_of("strcrc32", parts) == bucket


def test_an_unknown_function_is_named_with_those_there_are() -> None:
    with pytest.raises(UnknownFunction, match="there is no sharding function sha1; there are: strcrc32"):
        bucket_of("sha1", ["1"])


@pytest.mark.parametrize("storages", [1, 2, 3, 7])
def test_each_storage_owns_a_contiguous_range_of_nearly_equal_size(storages: int) -> None:
    owners = [storage_of(bucket, storages) for bucket in range(1, BUCKETS + 1)]
    assert owners == sorted(owners)
    sizes = [owners.count(n) for n in range(1, storages + 1)]
    assert max(sizes) - min(sizes) <= 1


@given(st.lists(st.text()))
def test_many_texts_at_once_have_the_same_buckets(texts: list[str]) -> None:
    found = buckets.strcrc32(pa.array(texts, pa.string()), BUCKETS)
    assert found.to_pylist() == [bucket_of("strcrc32", [text]) for text in texts]
    homes = buckets.storage_of(found, storages=7, buckets=BUCKETS)
    assert homes.to_pylist() == [storage_of(bucket, 7) for bucket in found.to_pylist()]
