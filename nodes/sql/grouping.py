"""Columns that a grouped query may name: those it groups by, and those of a table whose whole key it groups by."""

from collections.abc import Sequence

from expressions.aggregates import aggregates_in
from expressions.errors import GROUPING_ERROR, SqlError
from expressions.scopes import Scan, Scope
from expressions.typed import Call, ColumnRef, Expr, Fragment
from nodes.sql.query import Target


def check_groups(
    scope: Scope,
    targets: Sequence[Target],
    groups: list[Expr] | None,
    having: Expr | None,
    order: Sequence[tuple[Expr | int, str]],
) -> None:
    """Every column outside an aggregate must be grouped, or belong to a table whose whole key is. Raises 42803."""
    exprs = [t.expr for t in targets] + [k for k, _ in order if not isinstance(k, int)]
    exprs += [having] if having is not None else []
    if groups is None and having is None and not any(True for e in exprs for _ in aggregates_in(e)):
        return
    mine = {r.scan.number if r.scan else r.number for r in scope.relations}
    grouped = frozenset(groups or ())
    added = dict.fromkeys(groups or ())
    determined = {r.scan.number for r in scope.relations if r.scan and is_determined(r.scan, grouped)}
    for expr in exprs:
        for loose in ungrouped(expr, grouped, mine):
            if loose.relation not in determined:
                name = qualified(loose, scope)
                how = "must appear in the GROUP BY clause or be used in an aggregate function"
                raise SqlError(GROUPING_ERROR, f'column "{name}" {how}', loose.offset)
            added[loose] = None
    if groups is not None:
        groups[:] = added


def is_determined(scan: Scan, grouped: frozenset[Expr]) -> bool:
    """True if the whole key of the table is grouped, so that a group has one value of each column."""
    keys = {e.column_id for e in grouped if isinstance(e, ColumnRef) and e.relation == scan.number}
    key = scan.descriptor.declared_key
    return bool(key) and keys.issuperset(key)


def ungrouped(expr: Expr, groups: frozenset[Expr], mine: set[int]) -> list[ColumnRef]:
    """Columns of this query's relations that stand outside aggregates and grouped expressions."""
    if expr in groups or (isinstance(expr, Fragment) and expr.is_aggregate):
        return []
    if isinstance(expr, ColumnRef):
        return [expr] if expr.relation in mine else []
    inner: Sequence[Expr] = ()
    if isinstance(expr, Call):
        inner = expr.args
    elif isinstance(expr, Fragment):
        inner = [p for p in expr.parts if not isinstance(p, str)]
    return [loose for part in inner for loose in ungrouped(part, groups, mine)]


def qualified(column: ColumnRef, scope: Scope) -> str:
    """The column as an error names it, with its table."""
    owner = next((r for r in scope.relations if (r.scan.number if r.scan else r.number) == column.relation), None)
    return f"{owner.name}.{column.name}" if owner else column.name
