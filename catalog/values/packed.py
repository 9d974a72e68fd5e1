"""Values of types that Arrow lacks.

numeric, interval    bytes: first those that the keys of the type leave out (`storage.encoding`), then the key
jsonb                its text
time                 microseconds since midnight, up to 24:00:00
array                a list of its elements' forms; a uuid is its text
"""

import uuid
from collections.abc import Callable
from typing import Any

from catalog.values import intervals, numerics, times
from catalog.values.documents import Jsonb
from catalog.values.types import ARRAY_OF, SqlType

Form = tuple[Callable[[Any], Any], Callable[[Any], Any]]
PACKED: dict[SqlType, Form] = {
    SqlType.NUMERIC: (numerics.packed, numerics.unpacked),
    SqlType.TIME: (times.micros_of, times.of_micros),
    SqlType.INTERVAL: (intervals.packed, intervals.unpacked),
    SqlType.JSONB: (str, Jsonb),
}


def _each(change: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda items: tuple(None if item is None else change(item) for item in items)


def _form_of_array(element: SqlType) -> Form:
    form = (str, _uuid) if element is SqlType.UUID else PACKED.get(element)
    return (list, tuple) if form is None else (_each(form[0]), _each(form[1]))


def _uuid(item: str | uuid.UUID) -> uuid.UUID:
    return item if isinstance(item, uuid.UUID) else uuid.UUID(item)


PACKED |= {array: _form_of_array(of) for of, array in ARRAY_OF.items()}
LEFT_OUT = {SqlType.NUMERIC: numerics.SCALE_BYTES, SqlType.INTERVAL: intervals.FIELDS_BYTES}
"""Bytes of what the keys of a type leave out."""


def pack(sql_type: SqlType, value: Any) -> Any:
    """The form that stands for a value; most stand for themselves."""
    return PACKED[sql_type][0](value) if sql_type in PACKED else value
