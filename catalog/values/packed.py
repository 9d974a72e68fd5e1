"""Types that Arrow and the query engine have nothing of their own for: what a value is there, and how it is read back.

numeric, interval    bytes: first those that the keys of the type leave out (`storage.encoding`), then the key
jsonb                its text
time                 microseconds since midnight, up to 24:00:00
"""

from collections.abc import Callable
from typing import Any

from catalog.values import intervals, numerics, times
from catalog.values.documents import Jsonb
from catalog.values.types import SqlType

PACKED: dict[SqlType, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    SqlType.NUMERIC: (numerics.packed, numerics.unpacked),
    SqlType.TIME: (times.micros_of, times.of_micros),
    SqlType.INTERVAL: (intervals.packed, intervals.unpacked),
    SqlType.JSONB: (str, Jsonb),
}
LEFT_OUT = {SqlType.NUMERIC: numerics.SCALE_BYTES, SqlType.INTERVAL: intervals.FIELDS_BYTES}
"""Bytes of what the keys of a type leave out."""


def pack(sql_type: SqlType, value: Any) -> Any:
    """The form that stands for a value; most stand for themselves."""
    return PACKED[sql_type][0](value) if sql_type in PACKED else value
