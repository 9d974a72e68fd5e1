"""Plans of statements, once their tables are known: made from the parse tree under one version of each table. A plan
holds names, types and no data, so it serves every execution of its text until a table has another version. What is not
understood here the store describes: `make_plan` raises `Undescribed`, and is called again with its answer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from postgast import pg_query_pb2 as pb

from catalog.descriptor import Descriptor
from expressions.analysis.building import Parameters
from expressions.dates.zones import PLAIN, TimeStyle
from expressions.errors import INDETERMINATE_TYPE, WRONG_OBJECT_TYPE, SqlError, unsupported
from expressions.sqltypes import TEXT, UNKNOWN, Type
from nodes.sql.naming import NO_VIEWS, ViewInUse, table_of
from nodes.sql.one_table import one_table
from nodes.sql.plans import InsertPlan, Plan, QueryPlan, SeveralPlan, TruncatePlan, WritingPlan
from nodes.sql.statements import Statement, parameters_in, writes_in_with
from nodes.sql.writes.merges import Merges
from nodes.sql.writes.questions import Described, columns_of, outputs_of
from nodes.sql.writes.row_texts import texts_of, with_scans
from nodes.sql.writes.several import several
from nodes.sql.writes.source_text import Reading, Within

Node = Any
NOTHING = Described((), ())


@dataclass(eq=False)
class Planner(Merges):
    def plan(self, kind: str, node: Node) -> Plan:
        if kind in ("writing select", "insert", "update", "delete") and writes_in_with(node):
            self.judged()
            clauses = self.reading.clauses(self.statement.text, self.statement.start)
            return several(self.statement, clauses, self._part, self._query, self.views)
        return self._plan(kind, node)

    def _part(self, kind: str, node: Node, within: Within) -> WritingPlan:
        """The plan of one of several statements, which may name what those before it have returned."""
        known = self.known if not within.own else None if node.HasField("returning_clause") else NOTHING
        planner = Planner(
            self.catalog, self.parameters, self.style, self.views, self.statement, self.reading, self.answers, within,
            known,
        )  # fmt: skip
        plan = planner._plan(kind, node)
        assert isinstance(plan, WritingPlan)
        return plan

    def _query(self) -> QueryPlan:
        """The SELECT behind others in a WITH."""
        outputs = outputs_of(self.judged().columns)
        return QueryPlan((), outputs, columns_of(outputs, self.style))

    def _plan(self, kind: str, node: Node) -> Plan:
        match kind:
            case "select":
                return one_table(node, self.catalog, self.parameters, self.style)
            case "insert":
                return self.insert(node)
            case "update":
                return self.update(node)
            case "delete":
                return self.delete(node)
            case "merge":
                return self.merge(node)
            case "truncate":
                return self.truncate(node)
        raise unsupported(kind)

    def truncate(self, node: Node) -> TruncatePlan:
        if pb.DropBehavior.Name(node.behavior) == "DROP_CASCADE":
            raise unsupported("TRUNCATE .. CASCADE", hint="name the tables that refer to these, too")
        for item in node.relations:
            if self.is_view(item.range_var):
                raise SqlError(WRONG_OBJECT_TYPE, f'"{item.range_var.relname}" is not a table', item.range_var.location)
        return TruncatePlan(tuple(table_of(self.catalog, item.range_var) for item in node.relations))


def make_plan(
    statement: Statement,
    catalog: Mapping[str, Descriptor],
    parameters: Parameters,
    style: TimeStyle = PLAIN,
    planner: type[Planner] = Planner,
    views: Mapping[str, ViewInUse] = NO_VIEWS,
    reading: Reading | None = None,
    answers: Sequence[Described] = (),
) -> Plan:
    """The statement's plan for these versions; kept with the statement. `parameters` get their types. Raises
    `Undescribed` for a text that the store has to describe; `answers` are its answers so far."""
    versions = tuple([(d.table_id, d.version) for d in catalog.values()])
    key: tuple[Any, ...] = (versions, tuple([t.name for t in parameters.types]), style)
    if views:
        key = (*key, tuple([view.key for view in views.values()]))
    known = statement.plans.get(key)
    if known is not None and len(known[1]) <= parameters.count_max:
        parameters.types[:] = known[1]
        return known[0]  # type: ignore[no-any-return]
    reading = reading or Reading(None, catalog, views, Parameters(), style)
    made = planner(catalog, parameters, style, views, statement, reading, iter(answers))
    plan: Plan = made.plan(statement.kind, statement.node)
    if UNKNOWN in parameters.types:
        refuse_unnamed(statement, parameters.types)
    settled = [TEXT if t is UNKNOWN else t for t in parameters.types]
    parameters.types[:] = settled
    if isinstance(plan, WritingPlan | SeveralPlan) and not (isinstance(plan, InsertPlan) and plan.copy is not None):
        first = len(settled) + 1
        texts = texts_of(statement, plan, replace(reading, parameters=Parameters(settled)), first)
        plan = with_scans(plan, texts)
        if not texts.is_of_session:
            statement.place = (plan, first, texts)
    statement.remember(key, (plan, settled))
    return plan


def refuse_unnamed(statement: Statement, types: Sequence[Type]) -> None:
    """Raises 42P18 for a parameter without a type that the statement does not name: nobody knows what it is."""
    named = parameters_in(statement.node)
    for number, of in enumerate(types, start=1):
        if of is UNKNOWN and number not in named:
            raise SqlError(INDETERMINATE_TYPE, f"could not determine data type of parameter ${number}")
