"""The vectorised encoder says what the plain one says, for every type; rows and entries likewise."""

import math
import struct
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from catalog.descriptor import Descriptor
from catalog.elements import Column, ColumnId, Index, IndexColumn, IndexId, Placement, PlacementId, TableId
from catalog.values.types import ARRAYS, SqlType, to_text
from storage import encoding, pairs
from storage.arrow import encoding as arrow
from storage.arrow import rows as arrow_rows
from storage.arrow.buckets import buckets_of
from storage.buckets import FUNCTIONS, bucket_of, storage_of
from storage.pairs import PREFIX
from tests.catalog.test_types import VALUES
from tests.rounds import drawn

NULLABLE = {sql_type: st.none() | values for sql_type, values in VALUES.items()}
SORTED = [sql_type for sql_type in SqlType if sql_type not in ARRAYS]
"""Types that a key may be drawn of: those whose values end by themselves."""
ROW, ENTRY = PREFIX.pack(7, 1, 0), PREFIX.pack(7, 1, 3)
ALL_TYPES = [pytest.param(sql_type, id=sql_type.value) for sql_type in SqlType]


column_of = arrow.column_of


def bytes_of(sql_type: SqlType, values: list, *, descending: bool = False) -> list[bytes]:
    return [encoding.encode(sql_type, value, descending=descending) for value in values]


@pytest.mark.parametrize("sql_type", ALL_TYPES)
@drawn(few=12, many=40)
@given(data=st.data())
def test_both_encoders_say_the_same(sql_type: SqlType, data: st.DataObject) -> None:
    values, descending = data.draw(st.lists(NULLABLE[sql_type], max_size=12)), data.draw(st.booleans())
    padding = data.draw(st.integers(0, 3))
    column = column_of(sql_type, [None] * padding + values).slice(padding)
    encoded = arrow.encode(sql_type, column, descending=descending)
    assert encoded.to_pylist() == bytes_of(sql_type, values, descending=descending)


@pytest.mark.parametrize("sql_type", ALL_TYPES)
@drawn(few=12, many=40)
@given(data=st.data())
def test_both_decoders_say_the_same(sql_type: SqlType, data: st.DataObject) -> None:
    values, descending = data.draw(st.lists(NULLABLE[sql_type], max_size=12)), data.draw(st.booleans())
    padding = data.draw(st.integers(0, 3))
    stored = bytes_of(sql_type, [None] * padding + values, descending=descending)
    column = arrow.decode(sql_type, pa.array(stored, pa.binary()).slice(padding), descending=descending)
    found = arrow.listed(sql_type, column)
    assert column.equals(column_of(sql_type, values)) or _same_doubles(found, values) or sql_type in encoding.LEFT_OUT
    if sql_type in encoding.LEFT_OUT:  # of which a key says only what is equal
        assert found == values


@pytest.mark.parametrize("sql_type", ALL_TYPES)
@drawn(few=12, many=40)
@given(data=st.data())
def test_pairs_keep_what_keys_leave_out(sql_type: SqlType, data: st.DataObject) -> None:
    values = data.draw(st.lists(NULLABLE[sql_type], max_size=12))
    stored = [encoding.encode_value(sql_type, value) for value in values]
    column = pa.array(stored, pa.binary())
    assert arrow.encode_value(sql_type, column_of(sql_type, values)).to_pylist() == stored
    if sql_type not in encoding.LEFT_OUT:
        assert stored == bytes_of(sql_type, values)
        return
    assert arrow.key_of(sql_type, column).to_pylist() == bytes_of(sql_type, values)
    assert [encoding.key_of(sql_type, data) for data in stored] == bytes_of(sql_type, values)
    shown = [None if value is None else to_text(sql_type, value) for value in values]
    found = arrow.listed(sql_type, arrow.decode(sql_type, column))
    assert [None if value is None else to_text(sql_type, value) for value in found] == shown
    decoded = [encoding.decode(sql_type, data) for data in stored]
    assert [None if value is None else to_text(sql_type, value) for value, _ in decoded] == shown
    assert [end for _, end in decoded] == list(map(len, stored))
    keys = pa.array(bytes_of(sql_type, values), pa.binary())
    from_keys = [encoding.value_of_key(sql_type, None, key) for key in keys.to_pylist()]
    assert arrow.value_of_key(sql_type, None, keys).to_pylist() == from_keys


def _same_doubles(left: list, right: list) -> bool:
    def bits(value: float | None) -> bytes | None:
        return None if value is None else struct.pack(">d", 0.0 if value == 0 else value)

    return all(isinstance(v, float | None) for v in right) and list(map(bits, left)) == list(map(bits, right))


def test_doubles_that_are_equal_have_one_encoding() -> None:
    column = pa.array([0.0, -0.0, math.nan, -math.nan, math.inf])
    assert arrow.encode(SqlType.DOUBLE, column).to_pylist() == bytes_of(SqlType.DOUBLE, column.to_pylist())


def test_bytes_that_are_no_value_are_refused() -> None:
    with pytest.raises(arrow.MalformedPairs, match="3 bytes are not 1 values of bigint"):
        arrow.decode(SqlType.BIGINT, pa.array([b"\x01abc"]))


def table_of(types: list[SqlType], key: list[SqlType]) -> Descriptor:
    key_columns = tuple(Column(ColumnId(n), f"k{n}", t, not_null=True) for n, t in enumerate(key, 1))
    others = tuple(Column(ColumnId(n), f"c{n}", t) for n, t in enumerate(types, len(key) + 1))
    return Descriptor(TableId(7), "things", 3, key_columns + others, tuple(c.id for c in key_columns))


@st.composite
def tables(draw: st.DrawFn) -> tuple[Descriptor, list[pairs.StoredRow], Index]:
    """A table of some types, rows of it with missing pairs here and there, and an index over some columns."""
    key = draw(st.lists(st.sampled_from(SORTED), min_size=1, max_size=3))
    descriptor = table_of(draw(st.lists(st.sampled_from(SqlType), max_size=3)), key)
    rows = {}
    for _ in range(draw(st.integers(0, 6))):
        row_key = pairs.row_key(descriptor, [draw(VALUES[t]) for t in key])
        columns = {c.id: encoding.encode_value(c.type, draw(NULLABLE[c.type])) for c in descriptor.stored_columns}
        missing = draw(st.sets(st.sampled_from(sorted(columns)))) if columns else set()
        rows[row_key] = pairs.StoredRow(row_key, {c: v for c, v in columns.items() if c not in missing})
    chosen = draw(
        st.lists(
            st.sampled_from([c.id for c in descriptor.columns if c.type in SORTED]), min_size=1, max_size=3, unique=True
        )
    )
    parts = tuple(IndexColumn(c, draw(st.booleans())) for c in chosen)
    index = Index(IndexId(1), "by_some", parts, unique=draw(st.booleans()))
    return replace(descriptor, indexes=(index,)), [rows[k] for k in sorted(rows)], index


def pairs_of(descriptor: Descriptor, rows: list[pairs.StoredRow]) -> arrow.Pairs:
    start, found = pairs.prefix(descriptor, descriptor.placement.id), {}
    for row in rows:
        found[pairs.column_key(start, row.key)] = b""
        found |= {pairs.column_key(start, row.key, c): v for c, v in row.columns.items()}
    keys = sorted(found)
    return arrow.Pairs(pa.array(keys, pa.binary()), pa.array([found[k] for k in keys], pa.binary()))


def read(descriptor: Descriptor, page: arrow.Pairs, *, step: int) -> arrow_rows.StoredRows:
    """All rows, from pages of `step` pairs."""
    reader = arrow_rows.RowReader(c.id for c in descriptor.stored_columns)
    parts = [reader.feed(page.slice(n, step)) for n in range(0, len(page), step)] + [reader.finish()]
    return arrow_rows.StoredRows(
        pa.concat_arrays([p.keys for p in parts]),
        {c.id: pa.concat_arrays([p.columns[c.id] for p in parts]) for c in descriptor.stored_columns},
        arrow.concat(p.orphans for p in parts),
    )


@drawn(few=15, many=60)
@given(table=tables(), step=st.integers(1, 7))
def test_rows_come_out_of_pages_wherever_a_page_cuts_them(
    table: tuple[Descriptor, list[pairs.StoredRow], Index], step: int
) -> None:
    descriptor, rows, _ = table
    found = read(descriptor, pairs_of(descriptor, rows), step=step)
    assert found.keys.to_pylist() == [row.key for row in rows]
    for column_id, values in found.columns.items():
        assert values.to_pylist() == [row.columns.get(column_id) for row in rows]
    again = arrow_rows.row_pairs(descriptor, descriptor.placement.id, found).sorted()
    expected = pairs_of(descriptor, rows)
    assert (again.keys, again.values) == (expected.keys, expected.values)


@drawn(few=15, many=60)
@given(table=tables())
def test_entries_are_those_that_a_statement_puts(table: tuple[Descriptor, list[pairs.StoredRow], Index]) -> None:
    descriptor, rows, index = table
    found = arrow_rows.index_entries(
        descriptor, descriptor.placement.id, index, read(descriptor, pairs_of(descriptor, rows), step=1000)
    )
    expected = [pairs.index_entry(descriptor, descriptor.placement, index, row) for row in rows]
    assert list(zip(found.keys.to_pylist(), found.values.to_pylist(), strict=True)) == expected


@drawn(few=15, many=60)
@given(table=tables())
def test_rows_are_typed_columns_and_back(table: tuple[Descriptor, list[pairs.StoredRow], Index]) -> None:
    descriptor, rows, _ = table
    stored = read(descriptor, pairs_of(descriptor, rows), step=1000)
    keys = arrow_rows.key_columns(descriptor, stored.keys)
    encoded = {
        c.id: keys[c.id] if c.id in keys else arrow_rows.encoded_column(descriptor, stored, c)
        for c in descriptor.columns
    }
    columns = {c.id: arrow.decode(c.type, encoded[c.id]) for c in descriptor.columns}
    again = arrow_rows.rows_of_batch(descriptor, columns)
    assert again.keys == stored.keys
    for column in descriptor.stored_columns:
        read_as = [pairs.encoded_value(descriptor, row, column.id) for row in rows]
        assert again.columns[column.id].to_pylist() == read_as


def test_a_pair_of_a_row_that_does_not_exist_goes_to_no_neighbour() -> None:
    descriptor = table_of([SqlType.BIGINT], [SqlType.BIGINT])
    first, gone, last = (pairs.row_key(descriptor, [n]) for n in (1, 2, 3))
    start, value = pairs.prefix(descriptor, descriptor.placement.id), encoding.encode(SqlType.BIGINT, 5)
    page = arrow.Pairs(
        pa.array([pairs.column_key(start, *key) for key in ((first,), (gone, ColumnId(2)), (last,))]),
        pa.array([b"", value, b""]),
    )
    found = arrow_rows.stored_rows(page, [ColumnId(2)])
    assert found.keys.to_pylist() == [first, last]
    assert found.columns[ColumnId(2)].to_pylist() == [None, None]
    assert found.orphans.keys.to_pylist() == [pairs.column_key(start, gone, ColumnId(2))]


def test_the_microsecond_before_the_epoch_is_kept() -> None:
    moment = encoding.EPOCH - encoding.MICROSECOND
    encoded = arrow.encode(SqlType.TIMESTAMP, column_of(SqlType.TIMESTAMP, [moment]))
    assert arrow.decode(SqlType.TIMESTAMP, encoded).to_pylist() == [moment]


@pytest.mark.parametrize("keys", [
    pytest.param([ROW + b"ab\x00\x00", ROW + b"cd\x01\x02"], id="of rows, of one length"),
    pytest.param([ROW + b"a\x00\x00", ENTRY, ENTRY + b"cde"], id="of several lengths"),
    pytest.param([ENTRY + b"ab", ENTRY + b"cd"], id="of entries"),
    pytest.param([], id="none"),
])  # fmt: skip
def test_copy_payload_is_postgresqls_binary_format(keys: list[bytes]) -> None:
    values = [key + b"!" for key in keys]
    stored = [pairs.stored_key(key) for key in keys]
    payload = arrow.copy_payload(arrow.Pairs(pa.array(keys, pa.binary()), pa.array(values, pa.binary())))
    fields = b"".join(
        struct.pack(">h", 3) + b"".join(struct.pack(">i", len(f)) + f for f in (k, c.to_bytes(2), v))
        for (k, c), v in zip(stored, values, strict=True)
    )
    assert payload == b"PGCOPY\n\xff\r\n\x00" + bytes(8) + fields + b"\xff\xff"


@given(tables())
def test_k_and_c_have_the_order_of_keys(table: tuple[Descriptor, list[pairs.StoredRow], Index]) -> None:
    descriptor, rows, index = table
    keys = pairs_of(descriptor, rows).keys.to_pylist()
    keys += [pairs.entry_pair(descriptor, descriptor.placement, index, row)[0] for row in rows]
    assert sorted(keys) == sorted(keys, key=pairs.stored_key)
    for key, following in pairwise(sorted(set(keys))):
        assert pairs.stored_key(key) < pairs.stored_key(pairs.after_key(key)) <= pairs.stored_key(following)


KEYS = st.builds(
    lambda index, rest, column: PREFIX.pack(7, 1, index) + rest + (b"" if index else column.to_bytes(2)),
    st.sampled_from([0, 0, 1, 256]),
    st.binary(max_size=9),
    st.integers(0, 32_767),
)


@given(st.lists(KEYS))
def test_keys_are_parted_into_k_and_c_and_joined_again(keys: list[bytes]) -> None:
    ks, cs = arrow.stored_keys(pa.array(keys, pa.binary()))
    parted = [(k, int.from_bytes(c)) for k, c in zip(ks.to_pylist(), cs.to_pylist(), strict=True)]
    assert parted == [pairs.stored_key(key) for key in keys]
    assert arrow.keys_of(7, ks, cs).to_pylist() == keys


@st.composite
def placements(draw: st.DrawFn, descriptor: Descriptor) -> Placement:
    """Any function, over columns that may be NULL or have no pair, with a number of storages of its own or without."""
    function, storages = draw(st.sampled_from(sorted(FUNCTIONS))), draw(st.integers(0, 5))
    of = FUNCTIONS[function]
    usable = [column.id for column in descriptor.columns if column.type in of.types]
    assume(usable)
    key = draw(st.lists(st.sampled_from(usable), min_size=1, max_size=of.columns_max or 3, unique=True))
    return Placement(PlacementId(1), tuple(key), function, storages=storages)


@drawn(few=40, many=200)
@given(table=tables(), data=st.data())
def test_rows_lie_where_their_bucket_says(
    table: tuple[Descriptor, list[pairs.StoredRow], Index], data: st.DataObject
) -> None:
    descriptor, rows, _ = table
    placement = data.draw(st.just(Placement(PlacementId(1))) | placements(descriptor))
    stored = read(descriptor, pairs_of(descriptor, rows), step=1000)
    found = arrow_rows.row_storages(descriptor, stored, storages=3, buckets=3000, placement=placement)
    buckets = [pairs.row_bucket(descriptor, placement, row, 3000) for row in rows]
    assert found.to_pylist() == [storage_of(bucket, placement.storages or 3, 3000) for bucket in buckets]
    refusals = [refusal_of(lambda row=row: pairs.require_bucket(descriptor, placement, row, 3000)) for row in rows]
    first = next(filter(None, refusals), None)
    assert refusal_of(lambda: arrow_rows.require_buckets(descriptor, stored, placement, 3000)) == first


def refusal_of(check: Callable[[], None]) -> str | None:
    try:
        check()
    except pairs.CannotDerive as refusal:
        return f"{refusal.sqlstate} {refusal}"
    return None


@pytest.mark.parametrize("sql_type", [SqlType.BOOLEAN, SqlType.INTEGER, SqlType.BIGINT], ids=lambda one: one.value)
@drawn(few=60, many=400)
@given(data=st.data())
def test_numbers_and_booleans_have_the_same_buckets(sql_type: SqlType, data: st.DataObject) -> None:
    at_an_edge = st.sampled_from([side * (1 << bits) + by for bits in (0, 5, 7, 8, 15, 16, 31, 32, 63)
                                  for side in (-1, 1) for by in (-1, 0, 1)])  # fmt: skip
    drawn_values = NULLABLE[sql_type]
    if sql_type is not SqlType.BOOLEAN:
        bits = 31 if sql_type is SqlType.INTEGER else 63
        drawn_values |= at_an_edge.filter(lambda number: -(1 << bits) <= number < 1 << bits)
    values = data.draw(st.lists(drawn_values, max_size=30))
    for function in ("mpcrc32", "strcrc32"):
        found = buckets_of(function, [sql_type], [column_of(sql_type, values)], 3000)
        assert found.to_pylist() == [bucket_of(function, [(sql_type, value)]) for value in values]
