"""Conditions of a statement over several tables that say which keys the rows of the written one have. Pure.

    UPDATE t SET a = u.b FROM u WHERE t.id = u.id AND u.c

u.id of the rows of u with c are gathered first; when they are few, only rows of t with these ids are read.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from catalog.elements import ColumnId
from expressions.analysis.scopes import Scan
from expressions.functions.volatile import VOLATILE
from expressions.sqltypes import BOOL, BYTEA, DATE, INTEGERS, NUMERIC, TEXT, TIME, TIMESTAMP, TIMESTAMPTZ, UUID, VARCHAR
from expressions.typed import Call, ColumnRef, Expr, has_query_text, walk
from nodes.sql.conditions.predicates import column_of
from nodes.sql.naming import ViewInUse
from nodes.sql.statements import functions_in, parse

Node = Any
CHANGING = VOLATILE | {"nextval", "timeofday", "clock_timestamp", "statement_timestamp"}
LOOKED_UP = (BOOL, BYTEA, DATE, NUMERIC, TEXT, TIME, TIMESTAMP, TIMESTAMPTZ, UUID, VARCHAR)


def looked_up(
    node: Node, views: Mapping[str, ViewInUse], scan: Scan, conditions: Sequence[Expr]
) -> tuple[ColumnId, ...]:
    """The columns that the conditions compare with other tables.

    None where no key and no index begins with one, or where something may have another value each time it is asked.
    """
    called = functions_in(node)
    for view in views.values():
        for one in view.reached.values():
            called |= functions_in(parse(one.definition.query)[0].node)
    if not called.isdisjoint(CHANGING):
        return ()
    pairs = [pair for condition in conditions if (pair := column_compared(condition, scan)) is not None]
    found = tuple(dict.fromkeys(column for column, _ in pairs))
    return found if any(first in found for first in leading_columns(scan)) else ()


def names(expr: Expr, scan: Scan) -> bool:
    """True if the expression says anything of the table that is written."""
    return any(isinstance(part, ColumnRef) and part.relation == scan.number for part in walk(expr))


def column_compared(condition: Expr, scan: Scan) -> tuple[ColumnId, Expr] | None:
    """A column of the written table, and the expression over the other tables that it equals."""
    if not isinstance(condition, Call) or condition.name != "=":
        return None
    for side, other in (condition.args, reversed(condition.args)):
        column = column_of(side)
        if column is None or column.relation != scan.number or names(other, scan) or has_query_text(other):
            continue
        if _is_key_of(column, other):
            return ColumnId(column.column_id), other
    return None


def _is_key_of(column: ColumnRef, other: Expr) -> bool:
    """True if values of the expression are values of the column, and equal ones have one key."""
    if column.type in INTEGERS:
        return other.type in INTEGERS
    return column.type in LOOKED_UP and other.type in (column.type, TEXT if column.type is VARCHAR else column.type)


def leading_columns(scan: Scan) -> list[ColumnId]:
    """The first columns of the primary key and of the indexes."""
    return [scan.descriptor.primary_key[0], *(index.columns[0].column for index in scan.descriptor.public_indexes)]
