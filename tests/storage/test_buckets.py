"""Buckets agree with tarantool/vshard, whose values these are."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalog.values.types import SqlType, Value
from storage.arrow import buckets
from storage.buckets import BUCKETS, UnknownFunction, bucket_of, owned_by, packed_piece, storage_of

T, N, B = SqlType.TEXT, SqlType.BIGINT, SqlType.BOOLEAN


@pytest.mark.parametrize(("function", "values", "bucket"), [
    ("strcrc32", [(N, 1)], 477),
    ("strcrc32", [(T, "2")], 401),
    ("strcrc32", [(T, "Emma")], 2861),
    ("strcrc32", [(T, "Emma"), (N, 22)], 830),
    ("strcrc32", [(T, "Emma"), (N, None), (N, 22)], 2861),
    ("strcrc32", [(B, True)], 1683),
    ("strcrc32", [(B, False)], 1630),
    ("mpcrc32", [(N, 1)], 1614),
    ("mpcrc32", [(T, "Emma")], 2861),
    ("bucket", [(N, 2999)], 2999),
    ("bucket", [(N, 3001)], 1),
    ("bucket", [(N, -1)], 2999),
    ("bucket", [(N, None)], 1),
])  # fmt: skip
def test_functions_have_their_vectors(function: str, values: list[tuple[SqlType, Value | None]], bucket: int) -> None:
    assert bucket_of(function, values) == bucket


@pytest.mark.parametrize(
    ("sql_type", "value", "packed"),
    [
        (B, True, "c3"), (B, False, "c2"), (N, 0, "00"), (N, 127, "7f"), (N, 128, "cc80"), (N, 256, "cd0100"),
        (N, 65536, "ce00010000"), (N, 2**32, "cf0000000100000000"), (N, -1, "ff"), (N, -32, "e0"), (N, -33, "d0df"),
        (N, -129, "d1ff7f"), (N, -32769, "d2ffff7fff"), (N, -(2**63), "d38000000000000000"), (T, "Emma", "456d6d61"),
    ],
)  # fmt: skip
def test_what_is_no_string_is_packed_as_messagepack_has_it(sql_type: SqlType, value: Value, packed: str) -> None:
    assert packed_piece(sql_type, value).hex() == packed


def test_an_unknown_function_is_named_with_those_there_are() -> None:
    with pytest.raises(UnknownFunction, match="there is no sharding function sha1; there are: bucket, mpcrc32, strc"):
        bucket_of("sha1", [(N, 1)])


@pytest.mark.parametrize("storages", [1, 2, 3, 7])
def test_each_storage_owns_a_contiguous_range_of_nearly_equal_size(storages: int) -> None:
    owners = [storage_of(bucket, storages) for bucket in range(1, BUCKETS + 1)]
    assert owners == sorted(owners)
    sizes = [owners.count(n) for n in range(1, storages + 1)]
    assert max(sizes) - min(sizes) <= 1


@pytest.mark.parametrize("buckets", [1, 2, 7, 16, 3000])
def test_what_a_storage_owns_is_what_is_its_own(buckets: int) -> None:
    for storages in range(1, min(buckets, 20) + 1):
        for storage in range(1, storages + 1):
            theirs = [bucket for bucket in range(1, buckets + 1) if storage_of(bucket, storages, buckets) == storage]
            assert list(owned_by(storage, storages, buckets)) == theirs


@given(st.lists(st.text()))
def test_many_texts_at_once_have_the_same_buckets(texts: list[str]) -> None:
    found = buckets.strcrc32(pa.array(texts, pa.string()), BUCKETS)
    assert found.to_pylist() == [bucket_of("strcrc32", [(T, text)]) for text in texts]
    homes = buckets.storage_of(found, storages=7, buckets=BUCKETS)
    assert homes.to_pylist() == [storage_of(bucket, 7) for bucket in found.to_pylist()]
