"""The decoder of `tests.soak` shares no code with the storages: the two are held against each other, then broken."""

import datetime as dt
import uuid
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from catalog.descriptor import Descriptor
from catalog.elements import Column, ColumnId, Index, IndexColumn, IndexId, Placement, PlacementId, State, TableId
from catalog.values.types import SqlType
from storage import encoding
from storage.buckets import bucket_of, storage_of
from storage.mutations import entry_bucket
from storage.pairs import StoredRow, column_key, entry_pair, prefix, row_bucket, row_key, stored_key
from tests.soak.judge.pairs import Contents, Pair, contents_of, home_of

STORAGES, BUCKETS = 2, 3000
ID, WORD, SIZE, SEEN = (ColumnId(number) for number in range(1, 5))
TABLE = Descriptor(
    TableId(7),
    "items",
    3,
    (
        Column(ID, "id", SqlType.BIGINT, State.PUBLIC, not_null=True),
        Column(WORD, "word", SqlType.TEXT, State.PUBLIC, not_null=True),
        Column(SIZE, "size", SqlType.INTEGER, State.PUBLIC),
        Column(SEEN, "seen", SqlType.TIMESTAMPTZ, State.PUBLIC),
    ),
    (ID,),
    indexes=(
        Index(IndexId(1), "by_size", (IndexColumn(SIZE, descending=True), IndexColumn(WORD)), state=State.PUBLIC),
        Index(IndexId(2), "by_word", (IndexColumn(WORD),), unique=True, state=State.PUBLIC),
        Index(IndexId(3), "large", (IndexColumn(WORD),), where='{"size": 60}', state=State.PUBLIC),
    ),
    placements=(Placement(PlacementId(1)),),
)
PARTIAL = {"large": lambda row: row["size"] is not None and row["size"] > 60}
MOMENT = dt.datetime(2026, 2, 3, 4, 5, 6, 789, tzinfo=dt.UTC)
ROWS = [(-5, "one", 61, MOMENT), (6, "two", None, None), (7, "", 60, MOMENT), (2**40, "né", 99, None)]


def stored_pairs() -> list[Pair]:
    """The rows as the storages write them."""
    pairs: list[Pair] = []
    for key, word, size, seen in ROWS:
        columns = {WORD: encoding.encode(SqlType.TEXT, word), SIZE: encoding.encode(SqlType.INTEGER, size)}
        if seen is not None:
            columns[SEEN] = encoding.encode(SqlType.TIMESTAMPTZ, seen)
        row = StoredRow(row_key(TABLE, [key]), columns)
        home = storage_of(row_bucket(TABLE, TABLE.placement, row, BUCKETS), STORAGES, BUCKETS)
        start = prefix(TABLE, TABLE.placement.id)
        pairs.append((home, *stored_key(column_key(start, row.key)), b""))
        pairs += [(home, *stored_key(column_key(start, row.key, column)), data) for column, data in columns.items()]
        for index in TABLE.indexes:
            if index.name != "large" or PARTIAL["large"]({"size": size}):
                at = storage_of(entry_bucket(TABLE, TABLE.placement, index, row, BUCKETS), STORAGES, BUCKETS)
                key, value = entry_pair(TABLE, TABLE.placement, index, row)
                pairs.append((at, *stored_key(key), value))
    return pairs


def judged(pairs: list[Pair], table: Descriptor = TABLE) -> Contents:
    return contents_of(table.to_json(), pairs, storages=STORAGES, buckets=BUCKETS, partial=PARTIAL)


def test_rows_are_read_as_they_were_stored() -> None:
    found = judged(stored_pairs())
    assert found.faults == []
    assert [tuple(row.values()) for row in found.rows.values()] == ROWS
    assert found.entries == 4 + 4 + 2


@pytest.mark.parametrize(("is_meant", "fault"), [
    pytest.param(lambda k, c: k[2:4] == b"\0\0" and c == 0, "no existence", id="existence"),
    pytest.param(lambda k, c: k[2:4] == b"\0\0" and c == WORD, "required column word", id="value"),
    pytest.param(lambda k, c: k[2:4] == b"\0\1", "no entry in index by_size", id="entry"),
    pytest.param(lambda k, c: k[2:4] == b"\0\2", "no entry in index by_word", id="unique entry"),
    pytest.param(lambda k, c: k[2:4] == b"\0\3", "no entry in index large", id="partial entry"),
])  # fmt: skip
def test_a_missing_pair_is_found(is_meant, fault: str) -> None:
    pairs = stored_pairs()
    pairs.remove(next(pair for pair in pairs if is_meant(*pair[1:3])))
    assert fault in judged(pairs).faults[0]


def test_a_pair_that_nothing_asks_for_is_found() -> None:
    pairs = stored_pairs()
    storage, k, c, v = next(pair for pair in pairs if pair[1][2:4] == b"\0\1")
    assert "no row asks for" in judged([*pairs, (storage, k + b"\0", c, v)]).faults[0]
    assert "on two storages" in judged([*pairs, (3 - storage, k, c, v)]).faults[0]
    assert "tombstone" in judged([*pairs, (storage, k + b"\0", c, None)]).faults[0]
    assert "with a column" in judged([*pairs, (storage, k, 1, v)]).faults[0]


def test_pairs_on_a_storage_that_is_not_theirs_are_found() -> None:
    moved = [(3 - storage, *pair) for storage, *pair in stored_pairs()]
    faults = judged(moved).faults
    assert any("its bucket on" in fault for fault in faults)
    assert any("the entry of row" in fault for fault in faults)


SHARDED: list[tuple[SqlType, object]] = [
    *((SqlType.NUMERIC, Decimal(text)) for text in ("0", "3000001", "1000", "-12.50", "0.000001", "1e20", "NaN")),
    (SqlType.NUMERIC, Decimal("1234567890123456789012345678901234567890.120")),
    (SqlType.SMALLINT, -7),
    (SqlType.BYTEA, b"\0a\xff"),
    (SqlType.UUID, uuid.UUID(int=77)),
    (SqlType.DATE, dt.date(2026, 2, 3)),
    (SqlType.TEXT, "né"),
]


@pytest.mark.parametrize("function", ["strcrc32", "mpcrc32"])
@pytest.mark.parametrize(("of", "value"), SHARDED)
def test_a_row_belongs_where_its_key_says_whatever_the_type_of_that_is(of: SqlType, value: Any, function: str) -> None:
    """Of many storages, so that hardly any mistake meets the right one."""
    key = encoding.encode(of, value)
    bucket = bucket_of(function, [(of, encoding.decode(of, key)[0])], BUCKETS)
    assert home_of(function, [of.value], key, 1000, BUCKETS) == storage_of(bucket, 1000, BUCKETS)


def test_an_element_on_its_way_is_found() -> None:
    moving = replace(TABLE, indexes=(replace(TABLE.indexes[0], state=State.WRITE_ONLY), *TABLE.indexes[1:]))
    assert "write-only" in judged(stored_pairs(), moving).faults[0]
