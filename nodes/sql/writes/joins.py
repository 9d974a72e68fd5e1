"""The query that finds the rows of an UPDATE or DELETE over several tables, and the short way where these find keys.

    UPDATE t SET a = u.b FROM u WHERE t.id = u.id AND u.c

    the query     SELECT DISTINCT ON (id) ..  FROM t, u  WHERE t.id = u.id AND u.c     reads all of t
    the short way gathers  u.id, u.b  of the rows of u with c; when they are few, only rows of t with these ids are read

Both have the same conditions, so they find the same rows; what is gathered is worked out once, and used.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from catalog.elements import ColumnId
from expressions.analysis.scopes import Relation, Scan, Scope, reference
from expressions.functions.volatile import is_volatile
from expressions.sqltypes import BOOL, BYTEA, DATE, INTEGERS, NUMERIC, TEXT, TIME, TIMESTAMP, TIMESTAMPTZ, UUID, VARCHAR
from expressions.typed import Call, ColumnRef, Expr, has_query_text, joined, replaced, walk
from nodes.sql.conditions.predicates import column_of, conjuncts
from nodes.sql.plans import Join, Lookup, Returning
from nodes.sql.queries.query import Output, Parts

JOINED = "j"
"""The engine's name for the rows that a statement changes, joined with those of other tables."""
GATHERED = "g"
"""The engine's name for the rows of the other tables, once they are gathered."""
LOOKED_UP = (BOOL, BYTEA, DATE, NUMERIC, TEXT, TIME, TIMESTAMP, TIMESTAMPTZ, UUID, VARCHAR)
Columns = list[tuple[str, Expr]]


def join_of(
    scan: Scan,
    scope: Scope,
    before: Parts,
    others: Parts,
    where: Expr | None,
    assignments: dict[ColumnId, Expr],
    returning: Returning | None,
) -> Join | None:
    """The query that finds the rows; None where each row can be looked at by itself."""
    shown = () if returning is None else returning.targets
    if not (before or others or any(map(has_query_text, shown))):
        return None
    scan.used.update(scan.descriptor.primary_key)
    rows = _Rows(scan, scope.relations)
    answers = [rows.seen(expr, assignments) for expr in shown]
    key_types = [Output("", reference(scan, column).type) for column in scan.descriptor.key_columns]
    outputs = (*key_types, *(Output("", expr.type) for expr in (*assignments.values(), *answers)))
    columns, conditions = rows.columns(assignments), [] if where is None else conjuncts(where)
    query = _Query(scan, tuple(assignments), tuple(answers), is_distinct=bool(others))
    parts = query.parts(before, (scan.sql, ", ", *others) if others else (scan.sql,), columns, conditions)
    lookup = _lookup(query, scope, before, others, columns, conditions) if others else None
    return Join(parts, outputs, lookup)


@dataclass(frozen=True, slots=True)
class _Query:
    """The columns of the query, for each row: its key, the values it gets, and those of RETURNING."""

    scan: Scan
    assigned: tuple[ColumnId, ...]
    answers: tuple[Expr, ...]
    is_distinct: bool
    """Whether a row may be found more than once; the first one counts, then."""

    def parts(self, before: Parts, tables: Parts, columns: Columns, conditions: Sequence[Expr]) -> Parts:
        keys = [f"{JOINED}.{own_name(c.id)}" for c in self.scan.descriptor.key_columns]
        values = [f"{JOINED}.{_new(c)}" for c in self.assigned]
        found: list[Parts] = [*((name,) for name in (*keys, *values)), *((answer,) for answer in self.answers)]
        outer: Parts = tuple(joined((*part, f" AS o{place}") for place, part in enumerate(found)))
        once = f"DISTINCT ON ({', '.join(keys)}) " if self.is_distinct else ""
        inner = [(expr, f" AS {name}") for name, expr in columns]
        tail = (" FROM ", *tables, *_where(conditions), f") AS {JOINED}")
        return (*before, f"SELECT {once}", *outer, " FROM (SELECT ", *joined(inner), *tail)


class _Rows:
    """The columns of the joined rows, as many as RETURNING names: those of the table that is written, and of others."""

    def __init__(self, scan: Scan, relations: Sequence[Relation]) -> None:
        self.scan = scan
        self.relations = numbers_of(relations)
        self.others: dict[ColumnRef, str] = {}

    def seen(self, expr: Expr, assignments: dict[ColumnId, Expr]) -> Expr:
        """An expression of RETURNING over the joined rows: columns of the table have their new values."""

        def column(ref: ColumnRef) -> Expr:
            if ref.relation == self.scan.number:
                name = _new(ref.column_id) if ref.column_id in assignments else own_name(ref.column_id)
            elif ref.relation in self.relations:
                name = self.others.setdefault(ref, f"x{len(self.others)}")
            else:
                return ref
            return ColumnRef(f"{JOINED}.{name}", ref.type, ref.name, modifier=ref.modifier)

        return replaced(expr, column)

    def columns(self, assignments: dict[ColumnId, Expr]) -> Columns:
        own: Columns = [
            (own_name(c.id), reference(self.scan, c)) for c in self.scan.descriptor.columns if c.id in self.scan.used
        ]
        own += [(_new(column_id), expr) for column_id, expr in assignments.items()]
        return own + [(name, ref) for ref, name in self.others.items()]


def numbers_of(relations: Sequence[Relation]) -> frozenset[int]:
    """The numbers by which columns name these relations."""
    return frozenset(r.scan.number if r.scan else r.number for r in relations)


def _where(conditions: Sequence[Expr]) -> Parts:
    return (" WHERE ", *joined((("(", c, ")") for c in conditions), " AND ")) if conditions else ()


def own_name(column_id: int) -> str:
    return f"c{column_id}"


def _new(column_id: int) -> str:
    return f"a{column_id}"


# -- the short way ----------------------------------------------------------------------------------------------


def _lookup(
    query: _Query, scope: Scope, before: Parts, others: Parts, columns: Columns, conditions: Sequence[Expr]
) -> Lookup | None:
    """The short way; None where no key of the written table's, and none of an index, is compared with the others'."""
    scan = query.scan
    gathered = Gathered(numbers_of(scope.relations) - {scan.number})
    here, rest = [], []
    found: dict[ColumnId, Output] = {}
    keys: Columns = []
    for condition in conditions:
        pair = column_compared(condition, scan)
        if is_volatile(condition):  # true of some joined rows, not of some of the others'
            rest.append(condition)
        elif not names(condition, scan):
            here.append(condition)
        elif pair is not None and pair[0] not in found:
            column_id, other = pair
            keys.append((f"k{len(keys)}", other))
            found[column_id] = Output("", other.type)
            rest.append(condition)
        else:
            rest.append(condition)
    if not any(first in found for first in leading_columns(scan)):
        return None
    asks = [expr for _, expr in columns] + rest + list(query.answers)
    if before and any(map(has_query_text, asks)):
        return None  # a query of WITH would be worked out twice
    joined_columns = [(name, gathered.seen(expr)) for name, expr in columns]
    conditions_left = [gathered.seen(expr) for expr in rest]
    listed: Columns = [*keys, *((name, ref) for ref, name in gathered.columns.items())]
    gather: list[str | Expr] = [*before, "SELECT ", *joined((expr, f" AS {name}") for name, expr in listed)]
    gather += [" FROM ", *others]
    parts = query.parts((), (scan.sql, ", ", GATHERED), joined_columns, conditions_left)
    return Lookup((*gather, *_where(here)), tuple(found), tuple(found.values()), parts)


@dataclass
class Gathered:
    """The columns of the other tables that are gathered."""

    relations: frozenset[int]
    columns: dict[ColumnRef, str] = field(default_factory=dict)

    def seen(self, expr: Expr) -> Expr:
        """An expression over the written table and what was gathered."""

        def column(ref: ColumnRef) -> Expr:
            if ref.relation not in self.relations:
                return ref
            name = self.columns.setdefault(ref, f"y{len(self.columns)}")
            return ColumnRef(f"{GATHERED}.{name}", ref.type, ref.name, modifier=ref.modifier)

        return replaced(expr, column)


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
