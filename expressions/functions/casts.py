"""Casts: which exist, which are implicit, and what computes each of one row here."""

from functools import cache

from catalog.values.types import SqlType
from expressions import sqltypes as pg
from expressions.values import arithmetic
from expressions.values.arithmetic import Compute

IMPLICIT = frozenset(
    {(pg.INT2, pg.INT4), (pg.INT2, pg.INT8), (pg.INT4, pg.INT8), (pg.FLOAT4, pg.FLOAT8)}
    | {(whole, of) for whole in pg.INTEGERS for of in (pg.NUMERIC, *pg.FLOATS)}
    | {(pg.NUMERIC, of) for of in pg.FLOATS}
    | {(pg.DATE, pg.TIMESTAMP), (pg.DATE, pg.TIMESTAMPTZ), (pg.TIMESTAMP, pg.TIMESTAMPTZ), (pg.TIME, pg.INTERVAL)}
    | {(pg.VARCHAR, pg.TEXT), (pg.BPCHAR, pg.TEXT), (pg.BPCHAR, pg.VARCHAR)}
    | {(pg.NAME, pg.TEXT), (pg.ARRAY_OF[pg.VARCHAR], pg.ARRAY_OF[pg.TEXT])}
)
COMMON = IMPLICIT | {
    (pg.ARRAY_OF[a], pg.ARRAY_OF[b]) for a, b in IMPLICIT if {a, b} <= set(pg.STORED) & set(pg.ARRAY_OF)
}
"""Casts to the one type of several values: those of elements make an array one of others, too."""
_ASSIGNMENT = IMPLICIT | {
    (pg.TEXT, pg.VARCHAR), (pg.TEXT, pg.BPCHAR), (pg.VARCHAR, pg.BPCHAR),
    (pg.INT4, pg.INT2), (pg.INT8, pg.INT2), (pg.INT8, pg.INT4), (pg.FLOAT8, pg.FLOAT4), (pg.TIMESTAMP, pg.DATE),
    (pg.TIMESTAMPTZ, pg.DATE), (pg.TIMESTAMPTZ, pg.TIMESTAMP), (pg.TIMESTAMP, pg.TIME), (pg.TIMESTAMPTZ, pg.TIME),
    (pg.INTERVAL, pg.TIME), (pg.JSON, pg.JSONB), (pg.JSONB, pg.JSON), *((of, pg.NUMERIC) for of in pg.FLOATS),
    *((of, whole) for of in (pg.NUMERIC, *pg.FLOATS) for whole in pg.INTEGERS),
}  # fmt: skip
ASSIGNMENT = _ASSIGNMENT | {
    (pg.ARRAY_OF[a], pg.ARRAY_OF[b]) for a, b in _ASSIGNMENT if a in pg.ARRAY_OF and b in pg.ARRAY_OF
}

_NUMBERS = (*pg.INTEGERS, *pg.FLOATS, pg.NUMERIC)
_OF_VALUES = (
    _ASSIGNMENT
    | {(a, b) for a in _NUMBERS for b in _NUMBERS if a is not b}
    | {(a, b) for a in pg.TEXTUAL for b in pg.TEXTUAL if a is not b}
    | {pair for of in pg.STORED if of is not pg.TEXT for pair in ((of, pg.TEXT), (pg.TEXT, of))}
    | {(pg.INT4, pg.BOOL), (pg.BOOL, pg.INT4)}
    | {(pg.JSONB, of) for of in (pg.BOOL, *_NUMBERS)}
    | {pair for of in pg.INTEGERS for pair in ((of, pg.BYTEA), (pg.BYTEA, of))}
)
CASTS = (
    _OF_VALUES
    | {(pg.ARRAY_OF[a], pg.ARRAY_OF[b]) for a, b in _OF_VALUES if a in pg.ARRAY_OF and b in pg.ARRAY_OF}
    | {pair for array in pg.ARRAY_OF.values() for pair in ((array, pg.TEXT), (pg.TEXT, array))}
)
"""All that there are; another one is made by way of a text where PostgreSQL makes it so."""


def is_assigned(given: pg.Type, wanted: pg.Type) -> bool:
    """True when a column of the second type takes a value of the first without a cast; any may become a text."""
    if wanted.element in pg.TEXTUAL and given.element is not None:
        return (given, wanted) in CASTS
    return (given, wanted) in ASSIGNMENT or wanted in pg.TEXTUAL


_STYLED = (pg.DATE, pg.TIME, pg.TIMESTAMP, pg.TIMESTAMPTZ, pg.INTERVAL, pg.BYTEA)


def depends_on_session(given: pg.Type, wanted: pg.Type) -> bool:
    """True for a cast by the time zone or the formats of a session, as that of a date to a text."""
    given, wanted = given.element or given, wanted.element or wanted
    is_written = (given in _STYLED and wanted in pg.TEXTUAL) or (given in pg.TEXTUAL and wanted in _STYLED)
    return is_written or (given, wanted) in arithmetic.ZONED


@cache
def compute_of(source: pg.Type, target: pg.Type) -> Compute | None:
    """The function that computes a cast; None where PostgreSQL does."""
    if source is pg.JSON and target is pg.JSONB:
        return arithmetic.text_to(SqlType.JSONB)
    if source is pg.JSONB and target is pg.JSON:
        return str
    if source.element is not None and target.element is not None:
        cast = compute_of(source.element, target.element)
        if cast is None or (source.element, target.element) in arithmetic.ZONED:
            return None
        return lambda items: tuple(None if item is None else cast(item) for item in items)
    if source is pg.TEXT and target.sql_type is not None:
        return arithmetic.text_to(target.sql_type)
    if target is pg.TEXT and source.sql_type is not None:
        return arithmetic.text_of(source.sql_type)
    return arithmetic.CASTS.get((source, target))
