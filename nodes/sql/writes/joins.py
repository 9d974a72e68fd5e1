"""Conditions of a statement over several tables that say which keys the rows of the written one have. Pure. Of UPDATE t
.. FROM u WHERE t.id = u.id the ids of u are gathered first; when they are few, only these rows are read."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from postgast import pg_query_pb2 as pb

from catalog.descriptor import Descriptor
from catalog.elements import Column, ColumnId
from expressions.functions.volatile import VOLATILE
from expressions.sqltypes import (
    BOOL,
    BYTEA,
    DATE,
    INTEGERS,
    NUMERIC,
    OF_SQL_TYPE,
    TEXT,
    TIME,
    TIMESTAMP,
    TIMESTAMPTZ,
    UUID,
    VARCHAR,
    Type,
)
from nodes.sql.admission import nodes_in
from nodes.sql.naming import ViewInUse
from nodes.sql.statements import functions_in, parse
from nodes.sql.writes.others import named_in
from nodes.sql.writes.pieces import Clauses, Slice

Node = Any
CHANGING = VOLATILE | {"nextval", "timeofday", "statement_timestamp"}
LOOKED_UP = (BOOL, BYTEA, DATE, NUMERIC, TEXT, TIME, TIMESTAMP, TIMESTAMPTZ, UUID, VARCHAR)


@dataclass(frozen=True, slots=True)
class Condition:
    """One of the conditions that AND joins. `column` is one of the written table that equals `other`."""

    text: Slice
    is_of_written: bool
    column: Column | None = None
    other: Slice | None = None


def conditions_in(
    clauses: Clauses, words: tuple[int, int], condition: Node, descriptor: Descriptor, alias: str
) -> list[Condition]:
    """The conditions in these words; none where it does not show where each stands."""
    is_and = condition.HasField("bool_expr") and condition.bool_expr.boolop == pb.AND_EXPR
    nodes, parts = list(condition.bool_expr.args) if is_and else [condition], clauses.conjuncts(*words)
    if len(nodes) != len(parts):
        return []
    columns = {column.name: column for column in descriptor.public_columns}
    return [_condition(clauses, *part, node, columns, alias) for part, node in zip(parts, nodes, strict=True)]


def _condition(
    clauses: Clauses, first: int, end: int, node: Node, columns: Mapping[str, Column], alias: str
) -> Condition:
    text, is_of_written = clauses.slice(first, end), bool(named_in([node], alias, columns))
    equals = [place for place, word in clauses.outside(first, end) if word == "="]
    compared = node.a_expr if node.HasField("a_expr") and node.a_expr.kind == pb.AEXPR_OP else None
    if not is_of_written or compared is None or compared.name[-1].string.sval != "=" or len(equals) != 1:
        return Condition(text, is_of_written)
    sides = ((compared.lexpr, first, equals[0]), (compared.rexpr, equals[0] + 1, end))
    for (mine, _, _), (other, start, stop) in (sides, sides[::-1]):
        parts = [part.string.sval for part in mine.column_ref.fields]
        column = columns.get(parts[-1]) if parts and (len(parts) == 1 or parts[-2] == alias) else None
        is_query = any(one.DESCRIPTOR.name == "SubLink" for one in nodes_in(other))
        if column is not None and not is_query and not named_in([other], alias, columns):
            return Condition(text, is_of_written, column, clauses.slice(start, stop))
    return Condition(text, is_of_written)


def is_the_same_again(node: Node, views: Mapping[str, ViewInUse]) -> bool:
    """False where something may have another value each time it is asked."""
    called = functions_in(node)
    for view in views.values():
        for one in view.reached.values():
            called |= functions_in(parse(one.definition.query)[0].node)
    return called.isdisjoint(CHANGING)


def looked_up(descriptor: Descriptor, compared: Sequence[tuple[Column, Type]]) -> tuple[tuple[ColumnId, Type], ...]:
    """The columns that are compared with values of these types, as far as keys can be made of those; none where no key
    and no index begins with one."""
    found: dict[ColumnId, Type] = {}
    for column, of in compared:
        if _is_key_of(column, of):
            found.setdefault(column.id, of)
    return tuple(found.items()) if leads(descriptor, [descriptor.column(column_id) for column_id in found]) else ()


def leads(descriptor: Descriptor, columns: Sequence[Column]) -> bool:
    """True if a key or a public index begins with one of the columns."""
    leading = [descriptor.primary_key[0], *(index.columns[0].column for index in descriptor.public_indexes)]
    return any(column.id in leading for column in columns)


def _is_key_of(column: Column, of: Type) -> bool:
    """True if values of the type are values of the column, and equal ones have one key."""
    own = OF_SQL_TYPE[column.type]
    if own in INTEGERS:
        return of in INTEGERS
    return own in LOOKED_UP and of in (own, TEXT if own is VARCHAR else own)
