"""Why a change failed: the rules that rows break, and a query for these rows. Violations of other clauses than C6
follow from the cause, and are shown only when no rule is broken."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from decimal import Decimal
from typing import Any

from catalog.descriptor import Descriptor
from catalog.elements import FOREIGN_KEY, REFERENCED, Column, ColumnId, Constraint, Index
from catalog.text.sql_names import quoted
from catalog.values.numerics import precision_and_scale
from catalog.values.times import SECOND_DIGITS_MAX
from catalog.values.types import INT_LIMITS, MOMENTS, SqlType
from changes.ddl.columns import constant
from changes.pages.failure_codes import place_of, sqlstate_of
from changes.plan.model import Plan
from expressions.errors import PROGRAM_LIMIT
from expressions.rows import shown
from storage import encoding
from storage.reads import reads

Json = dict[str, Any]
ROWS_SHOWN = 10
ALIKE = "rows_alike"
NUMBER = re.compile(r"-?\d+(\.\d+)?")


def failure(plan: Plan, violations: Sequence[Mapping[str, Any]], error: Mapping[str, Any] | None) -> Json | None:
    """Why a change failed or cannot continue; None when nothing is wrong."""
    if error is None:
        return None
    # one for each rule that is broken, in the order in which a row that breaks several is refused
    kinds: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for one in violations:
        kinds.setdefault((one["clause"], one["element"]), []).append(one)
    rules = {kind: of for kind, of in kinds.items() if kind[0] == "C6"} or kinds
    found = [_cause(plan, element, of) for (_, element), of in rules.items()]
    return {
        "message": error["message"],
        "particulars": error["message"].partition("\n")[2],
        "sqlstate": error.get("sqlstate", ""),
        "causes": sorted(found, key=lambda one: place_of(one["sqlstate"])),
    }


def _cause(plan: Plan, element: str, violations: Sequence[Mapping[str, Any]]) -> Json:
    """One broken rule: `heads` and `rows` are a table, `whys` its rows in words. `is_least`: `total` is a minimum.
    `kind` is "cast" for values that another type lacks, "condition" for rows that a partial index cannot decide."""
    versions = [step.published for step in plan.publishes]
    named = sorted(violations[:ROWS_SHOWN], key=_by_key)
    offenders = [one["offender"] for one in named if one.get("offender")]
    # the columns of the table: of the row's key, of the other row's, and of the values. Those of the key once only
    first = offenders[0] if offenders else {"key": {}, "other": None, "values": {}}
    cause = {
        "element": element,
        "name": element.partition(" ")[2],
        "table": plan.table,
        "sqlstate": sqlstate_of(violations, versions),
        "total": violations[0].get("total", len(violations)),
        "is_least": violations[0].get("is_least", False),
        "kind": "",
        "whys": [one["why"] for one in named],
        "heads": {"key": list(first["key"]), "other": list(first["other"] or {}), "values": list(first["values"])},
        "rows": [[*one["key"].values(), *(one["other"] or {}).values(), *one["values"].values()] for one in offenders],
        "columns": [],
        "rule": "",
        "query": None,
    }
    if cause["sqlstate"] == PROGRAM_LIMIT:  # an entry that is too long breaks no rule of the schema
        return cause
    return cause | _of_rule(plan, versions, element)


def _by_key(violation: Mapping[str, Any]) -> tuple[list[tuple[int, Decimal, str]], str]:
    cells = (violation.get("offender") or {"key": {}})["key"].values()
    return [_place_of(str(cell)) for cell in cells], violation["why"]


def _place_of(literal: str) -> tuple[int, Decimal, str]:
    if NUMBER.fullmatch(literal):
        return 0, Decimal(literal), ""
    return 1, Decimal(0), literal


def _of_rule(plan: Plan, versions: Sequence[Descriptor], element: str) -> Json:
    kind, _, name = element.partition(" ")
    for version in reversed(versions):
        own = [one for one in version.constraints if one.rule != REFERENCED]
        named: Sequence[Index | Constraint] = version.indexes if kind == "index" else own
        rule = next((one for one in named if one.name == name), None)
        if isinstance(rule, Index) and rule.unique:
            return _unique(plan, version, rule)
        if isinstance(rule, Constraint):
            return _constraint(plan, version, rule)
        if isinstance(rule, Index) and rule.where:
            return {"kind": "condition", "rule": shown(version, rule.where)}
        column = next((one for one in version.columns if one.name == name), None)
        if kind == "column" and column is not None and column.derived is not None:
            return _cast(plan, version, column)
        if kind == "column" and column is not None:
            return {"columns": [column.name]} | _query(plan, version, [column.id], f"{quoted(column.name)} IS NULL")
    return {}


def _unique(plan: Plan, version: Descriptor, index: Index) -> Json:
    """A window counts rows alike; rows with a NULL never collide."""
    names = [version.column(column).name for column in index.column_ids]
    listed = ", ".join(map(quoted, names))
    where = [f"{quoted(name)} IS NOT NULL" for name in names]
    where += [f"({shown(version, index.where)})"] if index.where else []
    read = ", ".join(dict.fromkeys(map(quoted, [*_key_of(version), *names])))
    count = ALIKE if ALIKE not in read else f"{ALIKE}_there"
    inner = (
        f"SELECT {read}, count(*) OVER (PARTITION BY {listed}) AS {count}\n"
        f"  FROM {_source(plan, version, reads(index))}\n"
        f"  WHERE {' AND '.join(where)}"
    )
    query = f"SELECT * FROM (\n  {inner}\n) AS alike\nWHERE {count} > 1\nORDER BY {listed}"
    rule = f"WHERE {shown(version, index.where)}" if index.where else ""
    return {"columns": names, "rule": rule, "query": None if plan.base is None else query}


def _constraint(plan: Plan, version: Descriptor, constraint: Constraint) -> Json:
    names = [version.column(column).name for column in constraint.columns]
    if constraint.expression is not None:
        rule = shown(version, constraint.expression)
        return {"columns": names, "rule": rule} | _query(plan, version, reads(constraint), f"NOT ({rule})")
    if constraint.rule == FOREIGN_KEY:
        return {"columns": names} | _dangling(plan, version, constraint)
    nulls = " OR ".join(f"{quoted(name)} IS NULL" for name in names)
    return {"columns": names} | _query(plan, version, reads(constraint), nulls)


def _cast(plan: Plan, version: Descriptor, twin: Column) -> Json:
    """Values that the new type lacks; the column has its name after the rollback."""
    assert twin.derived is not None, twin
    source = (plan.base or version).column(twin.derived.source)
    text = f"{quoted(source.name)}::text"
    is_none = f"NOT pg_input_is_valid({text}, '{twin.type.value}')"
    if twin.type is SqlType.NUMERIC and twin.length is not None:
        precision, scale = precision_and_scale(twin.length)
        is_large = f"abs(round({quoted(source.name)}::numeric, {scale})) >= 1e{precision - scale}"
        is_none = f"CASE WHEN {is_none} THEN true ELSE {is_large} END"
    elif twin.type in INT_LIMITS and source.type is SqlType.NUMERIC:
        limit = INT_LIMITS[twin.type]
        is_none = f"NOT coalesce(round({quoted(source.name)}) BETWEEN {-limit} AND {limit - 1}, true)"
    elif twin.type in MOMENTS and twin.length is not None:
        is_none = f"CASE WHEN {is_none} THEN true ELSE {_rounds_beyond(twin, twin.length, text)} END"
    elif twin.length is not None:
        is_none = f"length(rtrim({text}, ' ')) > {twin.length}"
    rule = {"kind": "cast", "columns": [source.name], "rule": twin.type_name}
    return rule | _query(plan, version, [source.id], is_none)


def _rounds_beyond(twin: Column, digits: int, text: str) -> str:
    """Condition for values that would be rounded up into the year 10000."""
    if twin.type is SqlType.TIME or digits == SECOND_DIGITS_MAX:
        return "false"
    return f"{text}::{twin.type.value} >= '9999-12-31 23:59:59.{'9' * digits}5'"


def _dangling(plan: Plan, version: Descriptor, foreign_key: Constraint) -> Json:
    tables = {version.table_id: version} | {partner.table_id: partner for partner in plan.partners}
    parent = tables.get(foreign_key.references) if foreign_key.references is not None else None
    if parent is None:
        return {}
    pairs = [
        (quoted(version.column(own).name), quoted(parent.column(there).name))
        for own, there in zip(foreign_key.columns, foreign_key.reference_columns, strict=True)
    ]
    alias = "referenced" if plan.table != "referenced" else "referenced_table"
    is_met = " AND ".join(f"{alias}.{there} = {quoted(plan.table)}.{own}" for own, there in pairs)
    where = " AND ".join(f"{own} IS NOT NULL" for own, _ in pairs)
    where += f"\n  AND NOT EXISTS (SELECT 1 FROM {quoted(parent.name)} AS {alias} WHERE {is_met})"
    rule = f"{parent.name} ({', '.join(parent.column(one).name for one in foreign_key.reference_columns)})"
    return {"rule": rule} | _query(plan, version, foreign_key.columns, where)


def _query(plan: Plan, version: Descriptor, columns: Collection[ColumnId], where: str) -> Json:
    if plan.base is None:
        return {"query": None}
    key = _key_of(version)
    names = dict.fromkeys([*key, *(version.column(column).name for column in sorted(columns))])
    read = f"SELECT {', '.join(map(quoted, names))}\nFROM {_source(plan, version, columns)}"
    order = f"\nORDER BY {', '.join(map(quoted, key))}" if key else ""
    return {"query": f"{read}\nWHERE {where}{order}"}


def _source(plan: Plan, version: Descriptor, columns: Collection[ColumnId]) -> str:
    table, there = quoted(plan.table), {column.id for column in plan.base.columns} if plan.base else set()
    added = [version.column(column) for column in sorted(columns) if column not in there]
    values = []
    for column in added:
        value = None if column.fill_value is None else encoding.decode(column.type, column.fill_value)[0]
        text = f"NULL::{column.type.value}" if value is None else constant(column.type, value)
        values.append(f"{text} AS {quoted(column.name)}")
    return f"(SELECT *, {', '.join(values)} FROM {table}) AS {table}" if values else table


def _key_of(version: Descriptor) -> list[str]:
    return [column.name for column in version.key_columns if not column.is_hidden]
