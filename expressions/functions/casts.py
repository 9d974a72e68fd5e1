"""Casts: which exist, which are implicit, and what computes each of one row here."""

from functools import cache

from catalog.values.types import SqlType
from expressions.sqltypes import (
    ARRAY_OF,
    BOOL,
    BPCHAR,
    BYTEA,
    DATE,
    FLOAT4,
    FLOAT8,
    FLOATS,
    INT2,
    INT4,
    INT8,
    INTEGERS,
    INTERVAL,
    JSON,
    JSONB,
    NAME,
    NUMERIC,
    STORED,
    TEXT,
    TEXTUAL,
    TIME,
    TIMESTAMP,
    TIMESTAMPTZ,
    VARCHAR,
    Type,
)
from expressions.values import arithmetic
from expressions.values.arithmetic import Compute

IMPLICIT = frozenset(
    {(INT2, INT4), (INT2, INT8), (INT4, INT8), (FLOAT4, FLOAT8)}
    | {(whole, of) for whole in INTEGERS for of in (NUMERIC, *FLOATS)}
    | {(NUMERIC, of) for of in FLOATS}
    | {(DATE, TIMESTAMP), (DATE, TIMESTAMPTZ), (TIMESTAMP, TIMESTAMPTZ), (TIME, INTERVAL)}
    | {(VARCHAR, TEXT), (BPCHAR, TEXT), (BPCHAR, VARCHAR)}
    | {(NAME, TEXT), (ARRAY_OF[VARCHAR], ARRAY_OF[TEXT])}
)
COMMON = IMPLICIT | {(ARRAY_OF[a], ARRAY_OF[b]) for a, b in IMPLICIT if {a, b} <= set(STORED) & set(ARRAY_OF)}
"""Casts to the one type of several values: those of elements make an array one of others, too."""
_ASSIGNMENT = IMPLICIT | {
    (TEXT, VARCHAR), (TEXT, BPCHAR), (VARCHAR, BPCHAR),
    (INT4, INT2), (INT8, INT2), (INT8, INT4), (FLOAT8, FLOAT4), (TIMESTAMP, DATE), (TIMESTAMPTZ, DATE),
    (TIMESTAMPTZ, TIMESTAMP), (TIMESTAMP, TIME), (TIMESTAMPTZ, TIME), (INTERVAL, TIME), (JSON, JSONB), (JSONB, JSON),
} | {(of, whole) for of in (NUMERIC, *FLOATS) for whole in INTEGERS} | {(of, NUMERIC) for of in FLOATS}  # fmt: skip
ASSIGNMENT = _ASSIGNMENT | {(ARRAY_OF[a], ARRAY_OF[b]) for a, b in _ASSIGNMENT if a in ARRAY_OF and b in ARRAY_OF}

_NUMBERS = (*INTEGERS, *FLOATS, NUMERIC)
_OF_VALUES = (
    _ASSIGNMENT
    | {(a, b) for a in _NUMBERS for b in _NUMBERS if a is not b}
    | {(a, b) for a in TEXTUAL for b in TEXTUAL if a is not b}
    | {pair for of in STORED if of is not TEXT for pair in ((of, TEXT), (TEXT, of))}
    | {(INT4, BOOL), (BOOL, INT4)}
    | {(JSONB, of) for of in (BOOL, *_NUMBERS)}
    | {pair for of in INTEGERS for pair in ((of, BYTEA), (BYTEA, of))}
)
CASTS = (
    _OF_VALUES
    | {(ARRAY_OF[a], ARRAY_OF[b]) for a, b in _OF_VALUES if a in ARRAY_OF and b in ARRAY_OF}
    | {pair for array in ARRAY_OF.values() for pair in ((array, TEXT), (TEXT, array))}
)
"""All that there are; another one is made by way of a text where PostgreSQL makes it so."""


def is_assigned(given: Type, wanted: Type) -> bool:
    """True when a column of the second type takes a value of the first without a cast; any may become a text."""
    if wanted.element in TEXTUAL and given.element is not None:
        return (given, wanted) in CASTS
    return (given, wanted) in ASSIGNMENT or wanted in TEXTUAL


_STYLED = (DATE, TIME, TIMESTAMP, TIMESTAMPTZ, INTERVAL, BYTEA)


def depends_on_session(given: Type, wanted: Type) -> bool:
    """True for a cast by the time zone or the formats of a session, as that of a date to a text."""
    given, wanted = given.element or given, wanted.element or wanted
    is_written = (given in _STYLED and wanted in TEXTUAL) or (given in TEXTUAL and wanted in _STYLED)
    return is_written or (given, wanted) in arithmetic.ZONED


@cache
def compute_of(source: Type, target: Type) -> Compute | None:
    """The function that computes a cast; None where PostgreSQL does."""
    if source is JSON and target is JSONB:
        return arithmetic.text_to(SqlType.JSONB)
    if source is JSONB and target is JSON:
        return str
    if source.element is not None and target.element is not None:
        cast = compute_of(source.element, target.element)
        if cast is None or (source.element, target.element) in arithmetic.ZONED:
            return None
        return lambda items: tuple(None if item is None else cast(item) for item in items)
    if source is TEXT and target.sql_type is not None:
        return arithmetic.text_to(target.sql_type)
    if target is TEXT and source.sql_type is not None:
        return arithmetic.text_of(source.sql_type)
    return arithmetic.CASTS.get((source, target))
