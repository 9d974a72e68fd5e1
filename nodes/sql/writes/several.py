"""Statements that write in the WITH of another one: a plan for each, in their order.

    WITH a AS (SELECT ..), b AS (DELETE .. RETURNING x), c AS (SELECT .. FROM b) INSERT INTO t SELECT .. FROM c
    b       WITH a AS (SELECT ..) DELETE .. RETURNING x
    main    WITH a AS (SELECT ..), c AS (SELECT .. FROM b) INSERT INTO t SELECT .. FROM c     b is what it has returned

A query of WITH is worked out in each part that names it, in one snapshot; one whose value would not be the same each
time is refused.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from postgast import walk

from catalog.elements import TableId
from catalog.text.sql_names import quoted
from catalog.values.types import type_name
from expressions.errors import unsupported
from expressions.functions.volatile import VOLATILE
from expressions.sqltypes import length_of_modifier
from nodes.sql.extent import Extent
from nodes.sql.naming import ViewInUse
from nodes.sql.plans import Part, QueryPlan, SeveralPlan, WritingPlan
from nodes.sql.statements import Statement, parse
from nodes.sql.writes.pieces import VERBS, Clauses, Pieces, listed
from nodes.sql.writes.source_text import Within
from nodes.wire.columns import Output

Node = Any
KINDS = {"insert_stmt": "insert", "update_stmt": "update", "delete_stmt": "delete"}
CHANGING = VOLATILE | {"nextval", "timeofday"}
ONE_BY_ONE = "send them one after the other, in one transaction"
PlanOf = Callable[[str, Node, Within], WritingPlan]
QueryOf = Callable[[], QueryPlan]


@dataclass(eq=False)
class Parts:
    statement: Statement
    clauses: Clauses
    queries: list[Pieces] = field(default_factory=list)
    names: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.first = 0
        """The word behind the WITH, when all of its statements were met."""

    def __iter__(self) -> Iterator[tuple[Node, str, Within]]:
        """Each query of WITH that writes, with the kind of its tree's node. `returned` tells what it gives."""
        clauses = self.clauses
        for item in self.statement.node.with_clause.ctes:
            cte = item.common_table_expr
            begin = clauses.index(cte.location)
            opening, end = clauses.words.brackets(clauses.next(begin, len(clauses.words.tokens), "as"))
            self.first, which = end + 1, cte.ctequery.WhichOneof("node")
            if which == "select_stmt":
                self.queries.append((clauses.slice(begin, end + 1),))
                continue
            before = self._with(opening + 1, getattr(cte.ctequery, which))
            own = (clauses.slice(0, end + 1), f" SELECT * FROM {quoted(cte.ctename)}")
            yield cte, which, Within(clauses, end, before, tuple(self.names), own)

    def returned(self, cte: Node, part: Part, rows: str) -> None:
        """The part gives these rows: the next ones may name it."""
        columns = ", ".join(quoted(output.name) for output in part.outputs)
        self.queries.append((f"{quoted(cte.ctename)} ({columns}) AS ({rows})",))
        self.names.append(part.name)

    @property
    def main(self) -> Within:
        return Within(self.clauses, len(self.clauses.words.tokens), self._listed(), tuple(self.names))

    def _listed(self) -> Pieces:
        return ("WITH ", *listed(self.queries), " ") if self.queries else ()

    def _with(self, begin: int, node: Node) -> Pieces:
        if not node.HasField("with_clause"):
            return self._listed()
        own = node.with_clause.recursive
        verb = self.clauses.back(self.clauses.index(node.relation.location), VERBS[node.DESCRIPTOR.name])
        listed_here = (self.clauses.slice(begin + (2 if own else 1), verb),)
        return ("WITH RECURSIVE " if own else "WITH ", *listed([*self.queries, listed_here]), " ")


def several(
    statement: Statement, clauses: Clauses, plan_of: PlanOf, query_of: QueryOf, views: Mapping[str, ViewInUse]
) -> SeveralPlan:
    """The plans of all parts. Raises 0A000 for what is not done in one statement."""
    _refuse(statement.node, views)
    found: list[Part] = []
    written: set[TableId] = set()
    parts, extent = Parts(statement, clauses), Extent()
    for cte, which, within in parts:
        for _ in parts.queries:
            extent.with_query(cte.location)
        plan = plan_of(KINDS[which], getattr(cte.ctequery, which), within)
        _refuse_twice(plan, written)
        part = Part(f"m{len(found)}", plan, _outputs(plan, cte))
        found.append(part)
        if part.outputs:
            nulls = ", ".join(f"NULL::{_name_of(output)}" for output in part.outputs)
            parts.returned(cte, part, f"SELECT {nulls}")
    if statement.kind == "writing select":
        return SeveralPlan(tuple(found), query_of())
    main = plan_of(statement.kind, statement.node, parts.main)
    _refuse_twice(main, written)
    return SeveralPlan(tuple(found), main)


def _refuse(node: Node, views: Mapping[str, ViewInUse]) -> None:
    """Raises 0A000 for parts that are not done in one statement, before one is planned."""
    clause = node.with_clause
    if clause.recursive:
        raise unsupported("WITH RECURSIVE before statements that write", clause.location, hint=ONE_BY_ONE)
    for item in clause.ctes:
        cte = item.common_table_expr
        which = cte.ctequery.WhichOneof("node")
        if which == "select_stmt":
            _refuse_changing(item, views)
        elif which not in KINDS:
            raise unsupported("MERGE inside WITH", cte.location, hint="INSERT .. ON CONFLICT does most of it")


def _outputs(plan: WritingPlan, cte: Node) -> tuple[Output, ...]:
    if plan.returning is None:
        return ()
    columns, names, found = plan.returning.columns, [name.string.sval for name in cte.aliascolnames], []
    for place, (of, field_) in enumerate(zip(columns.types, columns.fields, strict=True)):
        if of.sql_type is None:
            raise unsupported(f'RETURNING of {of} inside WITH ("{field_.name}")', cte.location)
        found.append(Output(names[place] if place < len(names) else field_.name, of, modifier=field_.modifier))
    return tuple(found)


def _name_of(output: Output) -> str:
    assert output.type.sql_type is not None
    return type_name(output.type.sql_type, length_of_modifier(output.type, output.modifier))


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


def _refuse_twice(plan: WritingPlan, written: set[TableId]) -> None:
    """PostgreSQL does one of two changes of a row, and does not say which."""
    if plan.descriptor.table_id in written:
        raise unsupported(f"writing {plan.descriptor.name} twice in one statement", hint=ONE_BY_ONE)
    written.add(plan.descriptor.table_id)
