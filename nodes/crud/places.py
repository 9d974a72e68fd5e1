"""The bucket of a row, or of a key, as a request gives it: known before anything is planned, or not at all.
`storage.pairs.row_bucket` alone decides it."""

import datetime as dt
from collections.abc import Iterable, Mapping

from catalog.descriptor import Descriptor
from catalog.elements import ColumnId
from catalog.values.types import SqlType
from expressions.dates.zones import TimeStyle
from expressions.sqltypes import OF_SQL_TYPE
from expressions.typed import parse_value
from nodes.crud.errors import bad_bucket
from storage import encoding
from storage.derived import fitting
from storage.pairs import StoredRow, row_bucket


def bucket_of_row(
    descriptor: Descriptor, row: Mapping[str, str | None], buckets: int, style: TimeStyle, now: dt.datetime
) -> int | None:
    """None: the request lacks a value of the sharding key (a default, an identity column), or a key has NULL. Raises
    PostgreSQL's code for a value that its column cannot hold."""
    encoded = _encoded(descriptor, row, {*descriptor.sharding_key, *descriptor.primary_key}, style, now)
    if not encoded.keys() >= set(descriptor.sharding_key):
        return None
    key_is_asked = not set(descriptor.sharding_key).isdisjoint(descriptor.primary_key)
    if key_is_asked and not encoded.keys() >= set(descriptor.primary_key):
        return None
    key = b"".join(encoding.key_of(c.type, encoded.get(c.id, b"")) for c in descriptor.key_columns)
    others = {column_id: data for column_id, data in encoded.items() if column_id not in descriptor.primary_key}
    return row_bucket(descriptor, descriptor.placement, StoredRow(key, others), buckets)


def key_of_row(
    descriptor: Descriptor, row: Mapping[str, str | None], style: TimeStyle, now: dt.datetime
) -> bytes | None:
    """K(r). None: a value of the primary key is not given. Raises as `bucket_of_row` does."""
    encoded = _encoded(descriptor, row, descriptor.primary_key, style, now)
    if len(encoded) < len(descriptor.primary_key):
        return None
    return b"".join(encoding.key_of(column.type, encoded[column.id]) for column in descriptor.key_columns)


def _encoded(
    descriptor: Descriptor,
    row: Mapping[str, str | None],
    columns: Iterable[ColumnId],
    style: TimeStyle,
    now: dt.datetime,
) -> dict[ColumnId, bytes]:
    found: dict[ColumnId, bytes] = {}
    for column_id in columns:
        column = descriptor.column(column_id)
        if column.name in row:
            text = row[column.name]
            value = None if text is None else parse_value(OF_SQL_TYPE[column.type], text, -1, style, now)
            whole = float(value) if column.type is SqlType.DOUBLE and isinstance(value, int) else value
            found[column_id] = encoding.encode_value(column.type, fitting(column, whole))
    return found


def check_bucket(given: int | None, computed: int | None) -> None:
    """Raises `BucketError` for a bucket that is not the row's."""
    if given is None:
        return
    if computed is None:
        message = "the row's bucket cannot be computed: a value of its sharding key is not given"
        raise bad_bucket(message, hint="leave option bucket_id out")
    if given != computed:
        hint = "a table with custom placement names the bucket of a row in a column of its own"
        raise bad_bucket(f"bucket {given} contradicts the row's own, which is {computed}", hint=hint)
