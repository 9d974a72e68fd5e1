"""Statements that have a plan: those on rows, TRUNCATE and EXPLAIN. Alone each is its whole transaction
(`nodes.session.tries`); in a block 40001 goes to the client (`nodes.session.block`)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial

from expressions.analysis.building import PARAMETERS_MAX, Parameters
from expressions.errors import FEATURE_NOT_SUPPORTED, UNDEFINED_PARAMETER, SqlError, unsupported
from expressions.sqltypes import UNKNOWN, Type, parameter_type
from expressions.typed import Context, PyValue
from nodes.catalog_queries.asks import beside
from nodes.catalog_queries.statements import CatalogQueries, is_asked
from nodes.clients.portals import Portal
from nodes.clients.protocols import Client
from nodes.context import Environment
from nodes.execution.describing import describe, fields_of, shown_fields
from nodes.execution.fairness import LARGE_CHARS, in_thread, in_thread_if_large
from nodes.execution.in_place import Read
from nodes.execution.judging import judged
from nodes.execution.point_read import PointRead
from nodes.execution.writing import dml
from nodes.execution.writing.computing import computing_of
from nodes.execution.writing.copy_from import copy_from
from nodes.execution.writing.truncate import Emptying, truncate_within
from nodes.execution.writing.writer import Ambiguous
from nodes.foreign_keys.enforced import pin_others
from nodes.session import tracing
from nodes.session.block import Block
from nodes.session.explain import explain
from nodes.session.explain import refuse as refuse_explained
from nodes.session.functions.values import SessionValues
from nodes.session.points import Points
from nodes.session.tries import OnceMore, tried
from nodes.settings.variables import Variables
from nodes.sql.admission import nodes_in
from nodes.sql.copying import FROM, TO, check_copy_to, make_copy_plan
from nodes.sql.one_table import point_in
from nodes.sql.planner import make_plan
from nodes.sql.plans import InsertPlan, Plan, QueryPlan, SelectPlan, SeveralPlan, TruncatePlan
from nodes.sql.readable import InPlace, in_place
from nodes.sql.statements import Node, Statement, relations_in
from nodes.sql.writes.questions import Described, Undescribed
from nodes.sql.writes.source_text import Reading
from nodes.store.name_resolution import NamedRelations, Names
from nodes.store.refusals import checked
from nodes.store.transaction import Transaction
from nodes.wire.messages import Field
from nodes.wire.oids import view_number
from nodes.wire.parameters import array_bytes, values_of
from nodes.wire.results import Result
from storage.postgres import USERS_SETTINGS

READS = frozenset({"select", TO})
OF_CATALOG = frozenset({2205, 2206})  # regclass, regtype
"""Types of parameters that are names in the catalog: at the store they mean something else."""
REMEMBERED_OIDS = 32


class ForShadow(Exception):
    """The views that a statement reads ask the catalog, and nothing else."""


@dataclass(frozen=True, slots=True)
class Planned:
    """A statement as one transaction does it: by its plan, or by a query in PostgreSQL (`place`)."""

    portal: Portal
    transaction: Transaction
    named: NamedRelations
    context: Context
    plan: Plan | None
    place: InPlace | None = None


@dataclass(eq=False)
class PlannedStatements:
    env: Environment
    client: Client
    variables: Variables
    known: SessionValues
    block: Block
    points: Points

    def __post_init__(self) -> None:
        self.names = Names(self.env)
        self.catalog = CatalogQueries(self.env, self.variables, self.known, self.block)

    async def run(self, portal: Portal, *, alone: bool) -> Result:
        asks = portal.statement.asks
        if not (asks.relations or asks.functions) or not is_asked(portal.statement):
            try:
                return await self._run(portal, alone=alone)
            except ForShadow:
                pass  # by a view that it reads
        return await self.catalog.run(portal)

    async def _run(self, portal: Portal, *, alone: bool) -> Result:
        empties = portal.statement.kind not in READS and self.block.new_tables.empties_at_commit
        if alone and not self.block.is_open and not empties:
            return await self._alone(portal)
        transaction = self.block.current()
        if portal.statement.kind not in READS:
            transaction.will_write()
        async with self.block.refusing(), checked(transaction):
            one = await self._placed(await self._plan(transaction, portal), alone=False)
            is_of_no_table = one.place is not None and not one.place.uses
            if not is_of_no_table or transaction.connection is not None or portal.is_limited:
                return await self._performed(one, commit=False)

            async def once(beside: Transaction, _: bool) -> Result:
                """Beside the block, which has not asked the store yet: its snapshot is of its first table."""
                beside.started_at = transaction.started_at
                alone = replace(one, transaction=beside, named=NamedRelations({}, {}))
                result = await self._performed(alone, commit=True)
                if result.more is not None:
                    result.more = self.block.streamed(beside, result.more)
                return result

            return await tried(self.env, self.block, once, is_read_only=True)

    async def _alone(self, portal: Portal) -> Result:
        in_one_batch = True

        async def once(transaction: Transaction, fresh: bool) -> Result:
            nonlocal in_one_batch
            try:
                async with checked(transaction):
                    one = await self._placed(await self._plan(transaction, portal, fresh=fresh), alone=True)
                    result = await self._performed(one, commit=in_one_batch)
                    if one.plan is not None:
                        self.points.learn(portal.statement, tuple(portal.oids), one.plan)
            except Ambiguous as error:
                in_one_batch = False
                raise OnceMore from error
            if result.more is not None:
                result.more = self.block.streamed(transaction, result.more)
            elif not transaction.is_over:
                await transaction.commit()
            return result

        is_read_only = portal.statement.kind in READS
        return await tried(self.env, self.block, once, is_read_only=is_read_only, trace=portal.trace, data=portal.data)

    def users_settings(self) -> list[str]:
        return [self.variables.get(name) for name in USERS_SETTINGS]

    async def declare(self, portal: Portal, name: str, words: str) -> bool:
        """Declare a cursor at the store, for a query of rows; False if the node answers it."""
        if is_asked(portal.statement):
            return False
        transaction = self.block.current()
        try:
            async with self.block.refusing(), checked(transaction):
                one = await self._plan(transaction, portal)
                place, settings = await self._in_place(one), self.users_settings()
                await Read(self.env, transaction, portal, place, one.context, settings).declare(name, words)
                return True
        except ForShadow:
            return False

    async def _placed(self, one: Planned, *, alone: bool) -> Planned:
        """With the query for PostgreSQL, unless it writes, or is of a row that the node reads itself."""
        if one.plan is not None:
            return one
        place, trace = await self._in_place(one), one.portal.trace
        if trace is not None:
            tracing.planned(self.env, trace, one.transaction, one.named.descriptors(), place, one.context)
        if alone and place.may_take_long:
            await self.env.wait_for_room(one.transaction)
        return replace(one, place=place)

    async def _in_place(self, one: Planned) -> InPlace:
        portal, named = one.portal, one.named
        if not OF_CATALOG.isdisjoint(portal.oids):
            raise unsupported("a parameter that is a name in the catalog, beside rows", hint="pass it as a text")
        statement, key = portal.statement, (named.key, tuple(portal.oids), self.variables.style)
        known = statement.place
        if known is not None and known[0] == key:
            return known[1]  # type: ignore[no-any-return]
        place = await self._compiled(statement, named, types_of(tuple(portal.oids)), one.context.parameters)
        if not place.is_of_session:
            statement.place = (key, place)
        return place

    async def _compiled(
        self,
        statement: Statement,
        named: NamedRelations,
        types: Sequence[Type],
        values: Sequence[PyValue] | None,
        *,
        count_max: int | None = None,
    ) -> InPlace:
        """A query for PostgreSQL. It may name `count_max` parameters, else as many as there are types."""
        functions, facts, style = self.env.reader.functions, self.catalog.facts(parameters=values), self.variables.style
        if statement.kind == TO:
            check_copy_to(statement.node, named.tables, named.views)
        refuse_unknown(statement, len(types) if count_max is None else count_max)
        parameters = Parameters(list(types))
        try:
            return await in_thread_if_large(
                named.text_with(statement),
                lambda: in_place(statement, named.tables, named.views, functions, parameters, facts, style),
            )
        except SqlError as error:
            raise await self.names.explained(error, named.tables) from None

    async def _performed(self, one: Planned, *, commit: bool) -> Result:
        portal, transaction, context, plan, place = one.portal, one.transaction, one.context, one.plan, one.place
        if place is not None:
            expected = portal.prepared.fields or shown_fields(place.columns)
            read = Read(self.env, transaction, portal, place, context, self.users_settings(), expected)
            try:
                result = await read.result(commit=commit)
            except SqlError as error:
                raise await self._explained(error, place, one.named) from None
            for name, value, is_local in place.sets if result.rows else ():
                self.known.set_config(name, value, is_local=is_local)
            portal.prepared.check_result(result.fields)
            return result
        assert plan is not None
        portal.prepared.check_result(plan_fields(plan))
        if isinstance(plan, SelectPlan):
            way = self._way(portal.statement, plan)
            assert way is not None, "a row by its key"
            return await way.read(transaction, way.key_of(context.parameters), context.formats, commit=commit)
        assert not isinstance(plan, QueryPlan | TruncatePlan), "they stand beside others, and are done otherwise"
        if not OF_CATALOG.isdisjoint(portal.oids):
            raise unsupported("a parameter that is a name in the catalog, beside rows", hint="pass it as a text")
        reading = partial(self._reading, one)
        computing, texts = await computing_of(self.env, portal, plan, self.users_settings(), reading)
        if portal.data is None:
            if isinstance(plan, SeveralPlan):
                assert texts is not None
                return await dml.several(self.env, transaction, plan, context, computing, texts)
            return await dml.perform(self.env, transaction, plan, context, computing, commit=commit)
        assert isinstance(plan, InsertPlan)
        return await copy_from(self.env, transaction, plan, context, portal.data, self.client.notice, computing)

    def _reading(self, one: Planned) -> Reading:
        portal, named = one.portal, one.named
        functions = self.env.reader.functions
        parameters = Parameters(list(types_of(tuple(portal.oids))), count_max=len(portal.oids))
        facts = replace(self.catalog.facts(parameters=one.context.parameters), is_bare=portal.data is not None)
        return Reading(functions, named.tables, named.views, parameters, self.variables.style, facts)

    async def fields(self, statement: Statement, parameters: Parameters) -> tuple[Field, ...] | None:
        """The columns of a statement's result; None when it has none. The types of its parameters are noted."""
        if not is_asked(statement):
            try:
                return await self._fields(statement, parameters)
            except ForShadow:
                pass
        return await self.catalog.fields(statement, parameters)

    async def _fields(self, statement: Statement, parameters: Parameters) -> tuple[Field, ...] | None:
        async def once(transaction: Transaction, fresh: bool) -> tuple[Field, ...] | None:
            async with checked(transaction):
                named = await self.named(transaction, statement, fresh=fresh)
                if statement.kind == "select":
                    return await self.columns(transaction, statement, named, parameters)
                return plan_fields(await self._made(transaction, statement, named, parameters))

        if self.block.transaction is None:
            return await tried(self.env, self.block, once, is_read_only=True)
        async with self.block.refusing():
            return await once(self.block.transaction, False)

    async def columns(
        self, transaction: Transaction, statement: Statement, named: NamedRelations, parameters: Parameters
    ) -> tuple[Field, ...]:
        """The columns of a query of rows, by the store: with those of tables that they show. Notes the types of its
        parameters. Raises `ForShadow`."""
        refuse_catalog(named)
        await self._learn_places(named)
        point = self._point(statement, named, parameters)
        if point is not None:
            return point.columns.fields
        declared, settings = list(parameters.types), self.users_settings()
        key = named.key, tuple(declared), tuple(settings)
        known = statement.described
        if known is None or known[0] != key:
            place = await self._compiled(statement, named, declared, None, count_max=parameters.count_max)
            oids = [0 if of is UNKNOWN else of.oid for of in declared]
            try:
                found = await describe(self.env, transaction, place, oids, settings)
            except SqlError as error:
                raise await self._explained(error, place, named) from None
            known = key, found, place.columns
            if not place.is_of_session:
                statement.described = known
        parameters.types[:] = types_of(known[1].parameters)
        return fields_of(known[1].columns, shown_fields(known[2]))

    async def columns_of_view(
        self, transaction: Transaction, query: Statement, named: NamedRelations
    ) -> tuple[Field, ...]:
        try:
            if not is_asked(query):
                return await self.columns(transaction, query, named, Parameters(count_max=0))
        except ForShadow:
            pass
        return await self.catalog.fields(query, Parameters(count_max=0))

    def _point(self, statement: Statement, named: NamedRelations, parameters: Parameters) -> SelectPlan | None:
        types = list(parameters.types)
        plan = point_in(statement, named.tables, parameters, self.variables.style)
        if plan is None or self._way(statement, plan) is not None:
            return plan
        parameters.types[:] = types
        return None

    def _way(self, statement: Statement, plan: SelectPlan) -> PointRead | None:
        """The plan compiled, which is kept with the statement; None for one that is left to PostgreSQL."""
        known = statement.place
        if known is not None and known[0] is plan and known[1].env is self.env:
            return known[1]  # type: ignore[no-any-return]
        way = PointRead.of(self.env, plan)
        if way is not None:
            statement.place = (plan, way)
        return way

    async def _explained(self, error: SqlError, place: InPlace, named: NamedRelations) -> SqlError:
        return await self.names.explained(place.explained(error), named.tables)

    async def columns_in_block(self, portal: Portal) -> tuple[Field, ...]:
        transaction = self.block.current()
        parameters = Parameters(list(types_of(tuple(portal.oids))), count_max=len(portal.values))
        try:
            async with self.block.refusing(), checked(transaction):
                named = await self.named(transaction, portal.statement, fresh=False)
                return await self.columns(transaction, portal.statement, named, parameters)
        except ForShadow:
            what, hint = "reading pg_catalog in a statement that writes", "read it first, by itself"
            raise unsupported(what, hint=hint) from None

    async def truncate(self, portal: Portal) -> Result:
        """TRUNCATE: by itself in bounded transactions (R9), in a block in the block's own."""
        if portal.statement.node.restart_seqs:
            self.client.notice("the numbers of identity columns go on: setval has them begin elsewhere")
        if self.block.is_open:
            transaction = self.block.current()
            transaction.will_write()
            async with self.block.refusing(), checked(transaction):
                plan = (await self._plan(transaction, portal)).plan
                assert isinstance(plan, TruncatePlan)
                await truncate_within(self.env, transaction, plan)
            return Result("TRUNCATE TABLE", has_written=True)
        emptying = Emptying()

        async def some(transaction: Transaction, fresh: bool) -> bool:
            """One bounded transaction; False when it was the last one."""
            async with checked(transaction):
                plan = (await self._plan(transaction, portal, fresh=fresh)).plan
                assert isinstance(plan, TruncatePlan)
                return await emptying.some(self.env, transaction, plan)

        while await tried(self.env, self.block, some):
            pass
        return Result("TRUNCATE TABLE")

    async def explain(self, options: Sequence[Node], portal: Portal) -> Result:
        async def once(transaction: Transaction, fresh: bool) -> Result:
            async with checked(transaction):
                named = await self.named(transaction, portal.statement, fresh=fresh)
                style, now = self.variables.style, transaction.started_at
                values = values_of(portal.oids, portal.values, (), style, now)
                context = Context(values, now, self.known, style)
                refuse_catalog(named)
                refuse_explained(options, portal.statement)
                plan = None
                if portal.statement.kind != "select":
                    parameters = Parameters(list(types_of(tuple(portal.oids))))
                    plan = await self._made(transaction, portal.statement, named, parameters)
                explained = await in_thread_if_large(
                    named.text_with(portal.statement),
                    lambda: explain(self.env, portal, named, context, self.catalog.facts(), plan),
                )
            await transaction.check()
            return explained

        return await tried(self.env, self.block, once, is_read_only=True)

    async def _plan(self, transaction: Transaction, portal: Portal, *, fresh: bool = False) -> Planned:
        parameters = Parameters(list(types_of(tuple(portal.oids))), count_max=len(portal.values))
        transaction.trace = portal.trace
        named = await self.named(transaction, portal.statement, fresh=fresh)
        style, now, plan = self.variables.style, transaction.started_at, None
        if portal.statement.kind not in READS:
            plan = await self._made(transaction, portal.statement, named, parameters)
            await pin_others(self.env, transaction, plan, fresh=fresh)
        else:
            refuse_catalog(named)
            await self._learn_places(named)
            plan = self._point(portal.statement, named, parameters)
        read = partial(values_of, portal.oids, portal.values, portal.formats, style, now)
        values = read() if array_bytes(portal.oids, portal.values) <= LARGE_CHARS else await in_thread(read)
        is_long = len(portal.statement.text) > LARGE_CHARS or sum(len(v) for v in portal.values if v) > LARGE_CHARS
        context = Context(values, now, self.known, style, portal.result_formats, is_long=is_long)
        if portal.trace is not None and plan is not None:
            tracing.planned(self.env, portal.trace, transaction, named.descriptors(), plan, context)
        return Planned(portal, transaction, named, context, plan)

    async def named(self, transaction: Transaction, statement: Statement, *, fresh: bool) -> NamedRelations:
        """The versions that the transaction uses of its tables, and its views; a name that none bears is left out."""
        own = self.block.new_tables.tables
        private = {table.name for table in self.block.new_tables.temporary.among(own)} if own else frozenset()
        for named in relations_in(statement.node) if private & statement.tables else ():
            if named.schemaname == "public" and named.relname in private:
                message = f"public.{named.relname} beside a temporary table {named.relname} is not supported"
                hint = "drop or rename the temporary table first"
                raise SqlError(FEATURE_NOT_SUPPORTED, message, named.location, hint=hint)
        return await self.names.relations(transaction, statement.tables, own, fresh=fresh)

    async def _learn_places(self, named: NamedRelations) -> None:
        """Have results say of which tables' and views' columns they are, as the catalog numbers these."""
        own = {table.table_id for table in self.block.new_tables.tables.values()}
        tables = [table for table_id, table in named.descriptors().items() if table_id not in own]
        views = [view.definition for view in named.views.values()]
        shown = [(view_number(view.view_id), view.name, [column.name for column in view.columns]) for view in views]
        await self.env.shadow.learn(tables, shown)

    async def _made(
        self, transaction: Transaction, statement: Statement, named: NamedRelations, parameters: Parameters
    ) -> Plan:
        style, make = self.variables.style, make_copy_plan if statement.kind == FROM else make_plan
        tables, views, text = named.tables, named.views, named.text_with(statement)
        has_returning = any(field.name == "returning_clause" for field, _ in statement.node.ListFields())
        if has_returning or statement.kind in ("select", "writing select"):
            await self._learn_places(named)
        types, answers = list(parameters.types), list[Described]()
        functions, facts = self.env.reader.functions, self.catalog.facts(parameters=None)
        reading = Reading(functions, tables, views, Parameters(types), style, facts)
        while True:
            parameters.types[:] = types
            made = partial(make, statement, tables, parameters, style, views=views, reading=reading, answers=answers)
            try:
                try:
                    return await in_thread_if_large(text, made)
                except Undescribed as lacking:
                    refuse_unknown(statement, parameters.count_max)
                    own, user, settings = self.block.new_tables.tables, self.known["user"], self.users_settings()
                    answers.append(await judged(self.env, lacking, tables, views, settings, user, own))
            except SqlError as error:
                raise await self.names.explained(error, tables) from None


def refuse_catalog(named: NamedRelations) -> None:
    """Raises `ForShadow` where views ask the catalog, and 0A000 where they ask it beside rows."""
    reached = [view for one in named.views.values() for view in one.reached.values()]
    if not any(view.asks.is_of_catalog for view in reached):
        return
    tables = [*named.tables.values(), *named.descriptors().values()]
    if tables:
        raise beside("the catalog, in a view,", tables[0].name)
    raise ForShadow


def refuse_unknown(statement: Statement, count: int) -> None:
    """Raises 42P02 for a parameter that is not given: the node has parameters of its own behind those."""
    if count >= PARAMETERS_MAX or "$" not in statement.text:
        return
    for node in nodes_in(statement.node):
        if node.DESCRIPTOR.name == "ParamRef" and node.number > count:
            raise SqlError(UNDEFINED_PARAMETER, f"there is no parameter ${node.number}", node.location)


def types_of(oids: tuple[int, ...]) -> tuple[Type, ...]:
    """The types of a statement's parameters: of a few they are remembered, as it is executed again and again."""
    return _remembered(oids) if len(oids) <= REMEMBERED_OIDS else _types(oids)


def _types(oids: tuple[int, ...]) -> tuple[Type, ...]:
    return tuple(map(parameter_type, oids))


_remembered = lru_cache(maxsize=512)(_types)


def plan_fields(plan: Plan) -> tuple[Field, ...] | None:
    if isinstance(plan, SelectPlan | QueryPlan):
        return plan.columns.fields
    if isinstance(plan, SeveralPlan):
        return plan_fields(plan.main)
    returning = getattr(plan, "returning", None)
    return None if returning is None else returning.columns.fields
