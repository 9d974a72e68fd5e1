"""Statements that write in the WITH of another one: a plan for each, in their order.

    WITH a AS (SELECT ..), b AS (DELETE .. RETURNING x), c AS (SELECT .. FROM b) INSERT INTO t SELECT .. FROM c

    b       WITH a AS (SELECT ..) DELETE .. RETURNING x
    main    WITH a AS (SELECT ..), c AS (SELECT .. FROM b) INSERT INTO t SELECT .. FROM c     b is what it has returned

So a query of WITH is worked out in each part that names it. Those are all of one snapshot, and none sees what another
part writes; one whose value would not be the same each time is refused.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from postgast import walk

from catalog.elements import TableId
from expressions.errors import DUPLICATE_ALIAS, SqlError, unsupported
from expressions.functions.volatile import VOLATILE
from expressions.sqltypes import NAMED
from nodes.sql.naming import ViewInUse
from nodes.sql.plans import Part, QueryPlan, SeveralPlan, WritingPlan
from nodes.sql.queries.from_clause import renamed
from nodes.sql.queries.with_queries import Known
from nodes.sql.statements import parse, writes_in_with
from nodes.wire.columns import Output

Node = Any
KINDS = {"insert_stmt": "insert", "update_stmt": "update", "delete_stmt": "delete"}
CHANGING = VOLATILE | {"nextval", "timeofday"}
ONE_BY_ONE = "send them one after the other, in one transaction"
PlanOf = Callable[[str, Node, dict[str, Known]], QueryPlan | WritingPlan]


def several(kind: str, node: Node, plan_of: PlanOf, views: Mapping[str, ViewInUse]) -> SeveralPlan:
    """The plans of all parts. Raises 0A000 for what is not done in one statement."""
    clause = node.with_clause
    if clause.recursive:
        raise unsupported("WITH RECURSIVE before statements that write", clause.location, hint=ONE_BY_ONE)
    parts: list[Part] = []
    queries: list[Node] = []
    known: dict[str, Known] = {}
    names: set[str] = set()
    written: set[TableId] = set()
    for item in clause.ctes:
        cte = item.common_table_expr
        if cte.ctename in names:
            message = f'WITH query name "{cte.ctename}" specified more than once'
            raise SqlError(DUPLICATE_ALIAS, message, cte.location)
        names.add(cte.ctename)
        which = cte.ctequery.WhichOneof("node")
        if which == "select_stmt":
            _refuse_changing(item, views)
            queries.append(item)
            continue
        if which not in KINDS:
            raise unsupported("MERGE inside WITH", cte.location, hint="INSERT .. ON CONFLICT does most of it")
        inner = getattr(cte.ctequery, which)
        if writes_in_with(inner):
            message = "WITH clause containing a data-modifying statement must be at the top level"
            raise SqlError("0A000", message, cte.location)
        plan = plan_of(KINDS[which], _with_queries(inner, queries, own=inner.with_clause.ctes), known)
        assert not isinstance(plan, QueryPlan)
        _refuse_twice(plan, written)
        outputs = _outputs(plan, cte)
        name = f"m{len(parts)}"
        parts.append(Part(name, plan, outputs or ()))
        known = {**known, cte.ctename: None if outputs is None else (name, outputs)}
    main = plan_of(kind, _with_queries(node, queries), known)
    _refuse_twice(main, written)
    return SeveralPlan(tuple(parts), main)


def _with_queries(node: Node, queries: Sequence[Node], own: Sequence[Node] = ()) -> Node:
    """The statement with these queries in its WITH, and those of its own."""
    changed = type(node)()
    changed.CopyFrom(node)
    listed = [*queries, *own]
    is_recursive = bool(len(own)) and node.with_clause.recursive
    changed.ClearField("with_clause")
    for query in listed:
        changed.with_clause.ctes.add().CopyFrom(query)
    changed.with_clause.recursive = is_recursive
    if not listed:
        changed.ClearField("with_clause")
    return changed


def _outputs(plan: WritingPlan, cte: Node) -> tuple[Output, ...] | None:
    """The columns that a part returns; None when it returns nothing."""
    if plan.returning is None:
        return None
    for target, field in zip(plan.returning.targets, plan.returning.columns.fields, strict=True):
        if target.type.sql_type is None or target.type in NAMED:
            raise unsupported(f'RETURNING of {target.type} inside WITH ("{field.name}")', cte.location)
    found = [
        Output(field.name, target.type, modifier=field.modifier)
        for target, field in zip(plan.returning.targets, plan.returning.columns.fields, strict=True)
    ]
    return renamed(found, [name.string.sval for name in cte.aliascolnames], cte.ctename, cte.location)


def _refuse_changing(query: Node, views: Mapping[str, ViewInUse]) -> None:
    """Raises 0A000 for a query that has another value each time, or reads a view that has."""
    for _, message in walk(query):
        if message.DESCRIPTOR.name == "FuncCall" and message.funcname[-1].string.sval in CHANGING:
            what = f"{message.funcname[-1].string.sval}() in a query of WITH beside statements that write"
            raise unsupported(what, message.location, hint=ONE_BY_ONE)
        if message.DESCRIPTOR.name == "RangeTableSample":
            what = "TABLESAMPLE in a query of WITH beside statements that write"
            raise unsupported(what, message.location, hint=ONE_BY_ONE)
        if message.DESCRIPTOR.name == "RangeVar" and message.relname in views:
            for view in views[message.relname].reached.values():
                [statement] = parse(view.definition.query)
                _refuse_changing(statement.node, {})


def _refuse_twice(plan: QueryPlan | WritingPlan, written: set[TableId]) -> None:
    """PostgreSQL does one of two changes of a row, and does not say which."""
    if isinstance(plan, QueryPlan):
        return
    if plan.descriptor.table_id in written:
        raise unsupported(f"writing {plan.descriptor.name} twice in one statement", hint=ONE_BY_ONE)
    written.add(plan.descriptor.table_id)
