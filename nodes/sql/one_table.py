"""SELECT of columns of one table under a condition, each row by itself: what a node computes without PostgreSQL. Pure.
Of a query that sorts, groups or computes only the way to its rows is known."""

from collections.abc import Mapping, Sequence
from typing import Any

from catalog.descriptor import Descriptor
from expressions.analysis.analyzer import Analyzer
from expressions.analysis.building import Parameters
from expressions.analysis.scopes import Relation, Scan, Scope
from expressions.dates.zones import PLAIN, TimeStyle
from expressions.errors import SqlError, unsupported
from expressions.typed import ColumnRef, is_simple, modifier_of
from nodes.sql.admission import nodes_in
from nodes.sql.column_names import implied_name, star_of
from nodes.sql.conditions.predicates import conjuncts
from nodes.sql.naming import SCHEMAS, table_of
from nodes.sql.plans import SelectPlan
from nodes.sql.statements import Statement
from nodes.wire.columns import Columns, Output

Node = Any
PLAIN_CLAUSES = frozenset({"target_list", "from_clause", "where_clause", "limit_option", "op"})


def is_of_columns(select: Node) -> bool:
    if any(field.name not in PLAIN_CLAUSES for field, _ in select.ListFields()) or select.op not in (0, 1):
        return False
    (*items,) = select.from_clause
    is_one = len(items) == 1 and items[0].HasField("range_var") and not len(items[0].range_var.alias.colnames)
    return is_one and all(item.res_target.val.HasField("column_ref") for item in select.target_list)


def one_table(select: Node, tables: Mapping[str, Descriptor], parameters: Parameters, style: TimeStyle) -> SelectPlan:
    """The plan of a query of one table. Raises `SqlError` for any other, or one that is not understood."""
    if len(select.from_clause) != 1 or not select.from_clause[0].HasField("range_var"):
        raise unsupported("a query of more than one table")
    named = select.from_clause[0].range_var
    scan = Scan(0, table_of(tables, named), place=(named.location,))
    scope = Scope(None, [Relation(0, named.alias.aliasname or named.relname, scan=scan)])
    where = None
    if select.HasField("where_clause"):
        if any(node.DESCRIPTOR.name == "SubLink" for node in nodes_in(select.where_clause)):
            raise unsupported("a query of more than one table")
        where = Analyzer(parameters, style=style).condition(select.where_clause, scope, "WHERE")
        scan.conditions += conjuncts(where)
    if not is_of_columns(select):
        return SelectPlan(scan, where, (), Columns())
    outputs = [output for item in select.target_list for output in _shown(item.res_target, scope)]
    targets = tuple(column for column, _ in outputs)
    is_local = where is None or is_simple(where)
    return SelectPlan(scan, where, targets, Columns([output for _, output in outputs], style), is_local)


def _shown(target: Node, scope: Scope) -> Sequence[tuple[ColumnRef, Output]]:
    (relation,), star = scope.relations, star_of(target.val)
    if star is None:
        parts = [part.string.sval for part in target.val.column_ref.fields]
        columns = {target.name or implied_name(target.val): scope.resolve(parts, target.location)}
    elif star in ("", relation.name):
        columns = {name: relation.column(name) for name in relation.names()}
    else:
        raise unsupported("a star of another relation")
    found = []
    for name, column in columns.items():
        assert isinstance(column, ColumnRef)
        found.append((column, Output(name, column.type, column.origin, modifier_of(column))))
    return found


def point_in(
    statement: Statement, tables: Mapping[str, Descriptor], parameters: Parameters, style: TimeStyle = PLAIN
) -> SelectPlan | None:
    """The plan of a SELECT of one row, by constants or parameters for its key; None for any other statement. It is kept
    with the statement for these versions. `parameters` get their types."""
    versions = tuple([(d.table_id, d.version) for d in tables.values()])
    key = "point", versions, tuple([t.name for t in parameters.types]), style
    if key not in statement.plans:
        before = list(parameters.types)
        plan = _point(statement, tables, parameters, style)
        if plan is None:
            parameters.types[:] = before
        statement.remember(key, (plan, list(parameters.types)))
    plan, types = statement.plans[key]
    if plan is None or len(types) > parameters.count_max:
        return None
    parameters.types[:] = types
    return plan  # type: ignore[no-any-return]


def _point(
    statement: Statement, tables: Mapping[str, Descriptor], parameters: Parameters, style: TimeStyle
) -> SelectPlan | None:
    select = statement.node
    if statement.kind != "select" or not select.HasField("where_clause") or not is_of_columns(select):
        return None
    named = select.from_clause[0].range_var
    if named.schemaname not in SCHEMAS or named.relname not in tables:
        return None
    try:
        plan = one_table(select, tables, parameters, style)
    except SqlError:
        return None  # PostgreSQL says what is wrong
    pinned = plan.scan.pinned_key
    assert plan.where is not None, "a query with WHERE"
    return plan if plan.is_local and pinned is not None and len(conjuncts(plan.where)) == len(pinned) else None
