"""Columns that a grouped query may name: those it groups by, and those of a table whose whole key it groups by."""

from collections.abc import Sequence

from expressions.analysis.aggregates import GROUPING, aggregates_in
from expressions.analysis.scopes import Scan, Scope
from expressions.errors import GROUPING_ERROR, SqlError
from expressions.typed import Call, ColumnRef, Expr, Fragment, walk
from nodes.sql.queries.grouping_sets import Groups
from nodes.sql.queries.query import Target


def check_groups(
    scope: Scope,
    targets: Sequence[Target],
    groups: Groups | None,
    having: Expr | None,
    order: Sequence[tuple[Expr | int, str]],
) -> None:
    """Every column outside an aggregate must be grouped, or belong to a table whose whole key is. Raises 42803."""
    exprs = [t.expr for t in targets] + [k for k, _ in order if not isinstance(k, int)]
    exprs += [having] if having is not None else []
    places = [t.offset for t in targets] + [-1] * (len(exprs) - len(targets))
    if groups is None and having is None and not any(True for e in exprs for _ in aggregates_in(e)):
        return
    mine = {r.scan.number if r.scan else r.number for r in scope.relations}
    grouped = frozenset(groups.exprs if groups else ())
    common = frozenset(groups.common if groups else ())
    added: dict[Expr, None] = {}
    determined = {r.scan.number for r in scope.relations if r.scan and is_determined(r.scan, common)}
    for expr in exprs:
        refuse_others(expr, grouped)
    for expr, place in zip(exprs, places, strict=True):
        for loose in ungrouped(expr, grouped, mine):
            if loose.relation not in determined:
                name = qualified(loose, scope)
                how = "must appear in the GROUP BY clause or be used in an aggregate function"
                shown_at = loose.offset if loose.offset >= 0 else place  # * gives its columns no place
                raise SqlError(GROUPING_ERROR, f'column "{name}" {how}', shown_at)
            added[loose] = None
    if groups is not None:
        for column in added:
            groups.add(column)


def refuse_others(expr: Expr, grouped: frozenset[Expr]) -> None:
    """Refuses GROUPING(..) of anything that is not grouped by."""
    for part in walk(expr):
        args = part.parts if isinstance(part, Fragment) and part.parts[0] == GROUPING else ()
        if not all(isinstance(arg, str) or arg in grouped for arg in args):
            message = "arguments to GROUPING must be grouping expressions of the associated query level"
            places = (e.offset for arg in args if not isinstance(arg, str) and arg not in grouped for e in walk(arg))
            raise SqlError(GROUPING_ERROR, message, max(places))


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
