"""The types that a column may change to: those whose cast has an inverse, since both are served for a while. A value
that the other type lacks is refused by the fill, and by writers until the old side is dropped. Lengths, precisions and
scales may change, too."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

from catalog.descriptor import Descriptor
from catalog.elements import Column, State
from catalog.text.sql_names import quoted
from catalog.values.errors import BadValue
from catalog.values.types import FLOATING, INT_LIMITS, MOMENTS, TEXTS, SqlType, fitted, holds_as_stored
from changes.ddl.actions import Position
from changes.ddl.columns import constant
from changes.ddl.errors import DATATYPE_MISMATCH, DdlError
from changes.planning.alter.defaults import fill_value, is_constant, refuse_for_inserts_only
from expressions.rows import canonical
from expressions.typed import Context

_BOTH_WAYS = (
    (SqlType.SMALLINT, SqlType.INTEGER),
    (SqlType.SMALLINT, SqlType.BIGINT),
    (SqlType.SMALLINT, SqlType.TEXT),
    (SqlType.INTEGER, SqlType.BIGINT),
    (SqlType.INTEGER, SqlType.TEXT),
    (SqlType.BIGINT, SqlType.TEXT),
    (SqlType.REAL, SqlType.DOUBLE),
    (SqlType.REAL, SqlType.TEXT),
    (SqlType.DOUBLE, SqlType.TEXT),
    (SqlType.DATE, SqlType.TEXT),
    (SqlType.TIMESTAMP, SqlType.TEXT),
    (SqlType.BOOLEAN, SqlType.TEXT),
    (SqlType.UUID, SqlType.TEXT),
    (SqlType.BYTEA, SqlType.TEXT),
    (SqlType.TIME, SqlType.TEXT),
    (SqlType.INTERVAL, SqlType.TEXT),
    (SqlType.TIMESTAMP, SqlType.TIMESTAMPTZ),
    (SqlType.DATE, SqlType.TIMESTAMP),
    *((of, SqlType.NUMERIC) for of in (*INT_LIMITS, SqlType.REAL, SqlType.DOUBLE, SqlType.NUMERIC)),
    (SqlType.NUMERIC, SqlType.TEXT),
    (SqlType.JSON, SqlType.TEXT),
    (SqlType.JSONB, SqlType.TEXT),
    (SqlType.JSON, SqlType.JSONB),
)
_AS_TEXT = {(of, text) for of, to in _BOTH_WAYS if to is SqlType.TEXT for text in TEXTS}
_PAIRS = {*_BOTH_WAYS, *_AS_TEXT, *product(TEXTS, TEXTS), *((of, of) for of in MOMENTS)}
INVERTIBLE = frozenset(_PAIRS) | frozenset((to, of) for of, to in _PAIRS)
_WIDER = {
    (SqlType.SMALLINT, SqlType.INTEGER),
    (SqlType.SMALLINT, SqlType.BIGINT),
    (SqlType.REAL, SqlType.DOUBLE),
    (SqlType.INTEGER, SqlType.BIGINT),
    (SqlType.DATE, SqlType.TIMESTAMP),
    (SqlType.TIMESTAMP, SqlType.TIMESTAMPTZ),
    *((of, of) for of in MOMENTS),
}


def holds_every(to: Column, of: Column) -> bool:
    """True when every value of the one column's type is a value of the other's. Rounding seconds counts as such,
    although 9999-12-31 23:59:59.9 would be rounded out of range."""
    if to.type is SqlType.NUMERIC:
        if to.length is None:
            return of.type in (*INT_LIMITS, *FLOATING, SqlType.NUMERIC)
        return holds_as_stored(to.type, to.length, of.type, of.length)
    if to.type in TEXTS and to.length is not None:
        return of.type in TEXTS and of.length is not None and of.length <= to.length
    return to.type in TEXTS or (of.type, to.type) in _WIDER


def cast_text(table: Descriptor, column: Column, to: SqlType, *, instead_of: Column | None = None) -> str:
    """The cast as a descriptor keeps it; `column` may stand for another one."""
    place = column if instead_of is None else instead_of
    there = replace(column, state=State.PUBLIC, derived=None)
    shown = replace(table, columns=tuple(there if c.id == place.id else c for c in table.columns))
    return canonical(shown, f"{quoted(column.name)}::{to.value}", returns=to, what="a type change")


def retyped_default(column: Column, to: Column, position: Position) -> str | None:
    """The default in the new type: a constant, or the expression with a cast."""
    if column.default is None:
        return None
    text = f"({column.default})::{to.type.value}"
    hint = "DROP DEFAULT first, and set another one afterwards."
    refuse_for_inserts_only(column.type, column.default, column.name, "of a column whose type changes", hint, position)
    try:
        value = fill_value(to.type, text, column.name, position, Context())
    except DdlError as error:
        message = f"the default {column.default} of column {column.name} is no {to.type_name}"
        raise DdlError(DATATYPE_MISMATCH, message, position=position, hint=hint) from error
    if value is None or not is_constant(column.type, column.default):
        return text
    try:
        taken = fitted(to.type, to.length, value)
        assert taken is not None, text
        return constant(to.type, taken)
    except BadValue as error:
        message = f"the default {column.default} of column {column.name}: {error}"
        raise DdlError(error.sqlstate, message, position=position, hint=hint) from error
