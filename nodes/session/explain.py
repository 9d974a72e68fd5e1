"""EXPLAIN: how a statement would reach its rows, in PostgreSQL's manner of saying it."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from catalog.descriptor import Descriptor
from expressions.analysis.building import Parameters
from expressions.analysis.scopes import Scan
from expressions.errors import unsupported
from expressions.rows import shown
from expressions.sqltypes import OF_SQL_TYPE, TEXT, parameter_type
from expressions.typed import Context, PyValue, is_simple, value_text
from nodes.catalog_queries.compiled import Facts
from nodes.clients.portals import Portal
from nodes.context import Environment
from nodes.execution.point_read import PointRead
from nodes.execution.ways import access_of, whole_access
from nodes.sql.conditions.lookups import Lookup, lookups
from nodes.sql.conditions.predicates import VALUES_MAX, Bound, column_bounds
from nodes.sql.one_table import point_in
from nodes.sql.plans import DeletePlan, InsertPlan, MergePlan, Plan, UpdatePlan
from nodes.sql.readable import InPlace, in_place
from nodes.sql.statements import Statement
from nodes.sql.uses import Link, LinkedScan, is_searched
from nodes.sql.writes.row_texts import is_by_key
from nodes.store.name_resolution import NamedRelations
from nodes.wire.messages import Field
from nodes.wire.results import Result

Node = Any
VALUES_SHOWN = 5
IN_PLACE = "Query in PostgreSQL"


def explain(
    env: Environment, portal: Portal, named: NamedRelations, context: Context, facts: Facts, plan: Plan | None
) -> Result:
    """The plan as lines of text, that of a statement that writes; nothing is run."""
    lines = _select_lines(env, portal, named, context, facts) if plan is None else plan_lines(env, plan, context)
    return Result("EXPLAIN", (Field("QUERY PLAN", TEXT.oid, -1),), [(line.encode(),) for line in lines])


def refuse(options: Sequence[Node], statement: Statement) -> None:
    for option in options:
        if option.def_elem.defname not in ("costs", "verbose", "summary"):
            raise unsupported(f"EXPLAIN ({option.def_elem.defname.upper()})")
    if statement.kind not in ("select", "insert", "update", "delete", "merge"):
        named = statement.node.DESCRIPTOR.name.removesuffix("Stmt")
        what = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", named).lower() if statement.kind == "ddl" else statement.kind
        raise unsupported(f"EXPLAIN of {what}")


def _select_lines(env: Environment, portal: Portal, named: NamedRelations, context: Context, facts: Facts) -> list[str]:
    statement, parameters = portal.statement, Parameters([parameter_type(oid) for oid in portal.oids])
    point = point_in(statement, named.tables, parameters, context.style)
    if point is not None and PointRead.of(env, point) is not None:
        return _scan_lines(env, point.scan, context)
    place = in_place(statement, named.tables, named.views, env.reader.functions, parameters, facts, context.style)
    refusal = next(iter(place.refusals.values()), None)
    if refusal is not None:
        refusal.offset += place.shift
        raise refusal
    return _place_lines(env, place, context) if place.uses else ["Result"]


def plan_lines(env: Environment, plan: Plan, context: Context) -> list[str]:
    match plan:
        case InsertPlan():
            source = ["Values"]
            if plan.source is not None:
                scans = [_scan_lines(env, scan, context) for scan in plan.source.scans]
                source = [IN_PLACE, *(line for scan in scans for line in _indented(scan))] if scans else ["Result"]
            return [f"Insert on {plan.descriptor}", *_indented(source)]
        case UpdatePlan() | DeletePlan() | MergePlan():
            word = type(plan).__name__.removesuffix("Plan")
            return [f"{word} on {plan.descriptor}", *_indented(_found_lines(env, plan, context))]
    raise unsupported("EXPLAIN of this")


def _found_lines(env: Environment, plan: UpdatePlan | DeletePlan | MergePlan, context: Context) -> list[str]:
    if not isinstance(plan, MergePlan) and is_by_key(plan):
        return _scan_lines(env, plan.scan, context)
    ways = {id(scan): _scan_lines(env, scan, context) for scan in plan.scans}
    scan = plan.scan
    if plan.looked_up and access_of(env, scan, context).points is None:
        named = ", ".join(scan.descriptor.column(column).name for column, _ in plan.looked_up)
        ways[id(scan)].append(f"  By Key: by {named}, when the other tables' rows are at most {VALUES_MAX}")
    return [IN_PLACE, *(line for lines in ways.values() for line in _indented(lines))]


def _place_lines(env: Environment, place: InPlace, context: Context) -> list[str]:
    scans = [use.scan for use in place.uses]
    ways = {scan.number: whole_access(env, scan, context) for scan in scans}
    linked = [scan for scan in scans if isinstance(scan, LinkedScan)]
    found = lookups(linked, ways, context)
    names = {scan.number: scan.descriptor.name for scan in scans}
    listed = []
    for scan in linked:
        lines = (
            _scan_lines(env, scan, context)
            if scan.number not in found
            else _lookup_lines(scan, found[scan.number], names)
        )
        if is_searched(scan) and scan.number not in found and ways[scan.number].is_everything:
            lines.append("  Searched for each row around it: no key or index has a column that it is compared by")
        listed += _indented(lines)
    return [IN_PLACE, *listed]


def _lookup_lines(scan: LinkedScan, lookup: Lookup, names: Mapping[int, str]) -> list[str]:
    name = lookup.index.name if lookup.index is not None else scan.descriptor.key_name
    conditions = []
    for part in lookup.parts:
        value = "a constant"
        if isinstance(part.value, Link):
            source = part.value.source
            value = part.value.sql if source is None else f"{names[part.value.other]}.{source.name}"
        conditions.append(f"{part.column.name} = {value}")
    return [f"Index Scan using {name} on {scan.descriptor}", f"  Index Cond: ({' AND '.join(conditions)})"]


def _indented(lines: list[str]) -> list[str]:
    return [f"{'  ->  ' if number == 0 else '        '}{line}" for number, line in enumerate(lines)]


def _scan_lines(env: Environment, scan: Scan, context: Context) -> list[str]:
    way = whole_access(env, scan, context)
    name = scan.descriptor.key_name if way.index is None else way.index.name
    is_searched_by = way.index is not None or bool(way.columns)
    lines = [f"{f'Index Scan using {name}' if is_searched_by else 'Seq Scan'} on {scan.descriptor}"]
    if way.columns:
        bounds = column_bounds(scan.descriptor, scan.conditions, context)
        conditions = " AND ".join(_condition(scan.descriptor, c, bounds[c]) for c in way.columns)
        lines.append(f"  Index Cond: ({conditions})")
    if way.index is not None and way.index.where is not None:
        lines.append(f"  Partial Index: WHERE {shown(scan.descriptor, way.index.where)}")
    unbound = [c for c in scan.conditions if not is_simple(c)]
    if scan.conditions and (unbound or len(scan.conditions) > len(way.columns)):
        lines.append("  Filter: the other conditions")
    lines.append(f"  Storages: {', '.join(str(s) for s in way.storages)}; key ranges: {len(way.ranges)}")
    read = [c.name for c in scan.descriptor.public_columns if c.id in scan.used]
    lines.append(f"  Columns: {', '.join(read) if read else 'none'}")
    return lines


def _condition(descriptor: Descriptor, column_id: Any, bound: Bound) -> str:
    column = descriptor.column(column_id)

    def text(value: PyValue) -> str:
        shown = value_text(OF_SQL_TYPE[column.type], value)
        return "NULL" if shown is None else f"'{shown.decode()}'" if isinstance(value, str) else shown.decode()

    if bound.values is not None:
        listed = sorted(text(v) for v in bound.values)
        if len(listed) == 1:
            return f"{column.name} = {listed[0]}"
        more = ", .." if len(listed) > VALUES_SHOWN else ""
        return f"{column.name} IN ({', '.join(listed[:VALUES_SHOWN])}{more})"
    parts = []
    if bound.low is not None:
        parts.append(f"{column.name} >{'=' if bound.low[1] else ''} {text(bound.low[0])}")
    if bound.high is not None:
        parts.append(f"{column.name} <{'=' if bound.high[1] else ''} {text(bound.high[0])}")
    return " AND ".join(parts)
