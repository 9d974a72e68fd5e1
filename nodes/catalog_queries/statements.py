"""The catalog queries of one session: each alone at the shadow, whatever block it stands in. It makes the tables that
the transaction itself has made there, runs the text as the owner of what is shown (READ COMMITTED, read only, at most 5
s), and rolls all of it back."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from psycopg import pq

from catalog.text.sql_names import literal, quoted
from expressions import grammar
from expressions.analysis.building import Parameters
from expressions.errors import NOT_IN_PREREQUISITE_STATE, WRONG_OBJECT_TYPE, SqlError, unsupported
from expressions.sqltypes import UNKNOWN, parameter_type
from nodes.catalog_queries.asks import MORE
from nodes.catalog_queries.brought import as_rows, of_shadow, rows_of
from nodes.catalog_queries.compiled import RELATIONS_OF, Facts, compiled
from nodes.catalog_queries.functions import admit
from nodes.catalog_queries.shadow import ANSWER_BYTES_MAX, STATEMENT_S, too_large, unanswered
from nodes.catalog_views.relations import RELATIONS
from nodes.clients.portals import Portal
from nodes.context import Environment
from nodes.execution.held_rows import bytes_of
from nodes.execution.in_place import copy_command
from nodes.people.rights import WRITE_RIGHT
from nodes.session.block import Block
from nodes.session.functions.values import DATABASE, SessionValues
from nodes.settings.variables import Variables
from nodes.sql.copying import TO, refuse_no_query
from nodes.sql.edits import Compiled, in_brackets
from nodes.sql.naming import NOT_HERE
from nodes.sql.statements import Statement, functions_in
from nodes.store.pipeline import DescribeCommand, StoreConnection, StoreConnectionLost, StoreError, UsersCommand
from nodes.store.refusals import UsersError
from nodes.store.relay import CHUNK_ROWS_OF_NUMBERS, Relay
from nodes.wire.columns import BINARY_FORMAT, TEXT_FORMAT, each
from nodes.wire.messages import Field
from nodes.wire.results import Result, Row
from storage.shadow.alters import OWNER, Alters, script
from storage.shadow.position import SHOWS_SQL
from storage.shadow.shown import SCHEMA, shown_table

Sets = list[tuple[str, str | None, bool]]

SETTINGS = ("search_path", "TimeZone", "DateStyle", "IntervalStyle", "bytea_output", "extra_float_digits")
"""Those of the client that say how values are read and written."""
OWNER_NAME = "schemalab"
BEGIN = "BEGIN ISOLATION LEVEL READ COMMITTED", SHOWS_SQL


def is_asked(statement: Statement) -> bool:
    """True if a statement is for the shadow. Raises 0A000 for one over the catalog and over rows."""
    statement.asks.refuse_both()
    return statement.asks.is_of_catalog


@dataclass(eq=False)
class CatalogQueries:
    env: Environment
    variables: Variables
    known: SessionValues
    block: Block

    async def run(self, portal: Portal) -> Result:
        """The rows. Raises 0A000 when they are not what the client was told."""
        copy = portal.statement if portal.statement.kind == TO else None
        if copy is not None:
            portal = portal.about(_query_of(copy))
        async with self.env.shadow.session(self.known["user"]) as session:
            text, sets = await self._begin(session, portal.statement)
            try:
                if copy is not None:
                    result = await self._copied(session, text, copy, portal.statement)
                else:
                    fields, _ = await self._described(session, text, portal.statement, portal.oids)
                    portal.prepared.check_result(fields)
                    result = Result("SELECT", fields, await self._rows(session, text, portal, len(fields)))
            finally:
                await self._end(session)
        for name, value, is_local in sets if result.rows else ():
            self.known.set_config(name, value, is_local=is_local)
        return result

    async def fields(self, statement: Statement, parameters: Parameters) -> tuple[Field, ...]:
        """The columns of the result. The types of the parameters are noted."""
        oids = [0 if of is UNKNOWN else of.oid for of in parameters.types]
        async with self.env.shadow.session(self.known["user"]) as session:
            text, _ = await self._begin(session, statement)
            try:
                fields, found = await self._described(session, text, statement, oids)
            finally:
                await self._end(session)
        for number, oid in enumerate(found, start=1):
            if parameters.type_of(number) is UNKNOWN:
                parameters.settle(number, parameter_type(oid))
        return fields

    # -- the text --------------------------------------------------------------------------------------------------

    async def _text(self, session: StoreConnection, statement: Statement) -> tuple[Compiled, Sets]:
        functions = await self.env.shadow.functions(session)
        text = statement.text
        select = grammar.parse(text).stmts[0].stmt.select_stmt
        admit(select, functions)
        called = functions_in(select) & RELATIONS_OF.keys()
        relations = {}
        for relation in statement.asks.relations | {RELATIONS_OF[name] for name in called}:
            query = await self._query(relation)
            if query is not None:
                relations[relation] = query
        facts = self.facts(relations)
        return compiled(text, select, facts), facts.sets

    def facts(self, relations: Mapping[str, str] | None = None, parameters: Sequence[object] | None = ()) -> Facts:
        may_write = self.known[WRITE_RIGHT] == "t"
        return Facts(
            self.known["user"], DATABASE, OWNER_NAME, self.known["version"], int(self.known["pid"]), may_write,
            self.variables.get, self.variables.would_show, self.variables.shown,
            relations or {}, parameters, is_of_rows=relations is None,
        )  # fmt: skip

    async def _query(self, relation: str) -> str | None:
        hint = NOT_HERE.get(relation)
        if hint is not None or relation in MORE or ("." not in relation and relation not in RELATIONS):
            raise unsupported(f"reading {relation}", hint=hint)
        rows = await rows_of(self.env, self.known, relation)
        return of_shadow(relation, DATABASE, OWNER_NAME) if rows is None else as_rows(relation, rows)

    # -- the transaction at the shadow -----------------------------------------------------------------------------

    async def _begin(self, session: StoreConnection, statement: Statement) -> tuple[Compiled, Sets]:
        found = await self._text(session, statement)
        shadow = self.env.shadow
        digest = await shadow.published()
        try:
            is_behind = not shadow.shows((await _script(session, *BEGIN))[-1], digest)
        except StoreError:
            is_behind = True  # it may not be there yet, or not have all that it needs
        if is_behind:
            await self._end(session)
            await shadow.follow()
            await _script(session, *BEGIN)
        await self._make_own_tables(session)
        words = [f"SET LOCAL statement_timeout = '{STATEMENT_S}s'", "SET TRANSACTION READ ONLY"]
        for name in SETTINGS:
            value = self.variables.get(name)
            words.append(f"SET LOCAL {name} = {value if name == 'search_path' and value else literal(value)}")
        try:
            await _script(session, *words, f"SET LOCAL ROLE {OWNER}")
        except StoreError as error:
            await self._end(session)
            raise SqlError(NOT_IN_PREREQUISITE_STATE, f"the catalog cannot be asked: {error}") from error
        return found

    async def _make_own_tables(self, session: StoreConnection) -> None:
        """The tables that the transaction has made, and temporary ones, are there for this query only."""
        own = {table.table_id: table for table in self.block.new_tables.tables.values()}
        if not own:
            return
        others = {table.table_id: table for table in await self.env.directory.tables()} | own
        shown = {i: shown_table(table, others) for i, table in others.items()}
        new = {i: table for i, table in shown.items() if table is not None}
        old = {i: table for i, table in new.items() if i not in own}
        made = self.block.new_tables
        for table in made.temporary.among(made.tables):
            if table.table_id in new:
                new[table.table_id] = replace(new[table.table_id], schema="pg_temp")
        public = {i: table for i, table in new.items() if table.schema == SCHEMA}
        sql = ["SET LOCAL search_path = public, pg_temp", *script(Alters(old, public, {}, ()).steps())]
        sql += ["SET LOCAL search_path = pg_temp, public", *script(Alters(public, new, {}, ()).steps())]
        try:
            await _script(session, *sql)
        except StoreError as error:
            await self._end(session)
            hint = f"commit first ({error})"
            raise unsupported("the catalog with the tables of this transaction", hint=hint) from error

    async def _end(self, session: StoreConnection) -> None:
        if not session.is_lost:
            await _script(session, "ROLLBACK")

    async def _described(
        self, session: StoreConnection, text: Compiled, statement: Statement, oids: Sequence[int]
    ) -> tuple[tuple[Field, ...], tuple[int, ...]]:
        command = DescribeCommand(text.text, oids=tuple(oids), offset_of=partial(_offset, text, statement))
        try:
            [described] = await session.run([command])
        except StoreError as error:
            raise _error_of(error, command) from error
        fields = tuple(
            Field(
                (described.fname(place) or b"").decode(),
                described.ftype(place),
                described.fsize(place),
                described.ftable(place),
                described.ftablecol(place),
                described.fmod(place),
            )
            for place in range(described.nfields)
        )
        return fields, tuple(described.param_type(place) for place in range(described.nparams))

    async def _rows(self, session: StoreConnection, text: Compiled, portal: Portal, count: int) -> list[Row]:
        """The rows in the formats that the client wants. libpq takes one for all: where they differ it is asked twice,
        and gives the same rows in the same order."""
        wanted = each(portal.result_formats, count)
        if len(set(wanted)) < 2:
            return await self._executed(session, text, portal, wanted[0] if wanted else TEXT_FORMAT)
        texts = await self._executed(session, text, portal, TEXT_FORMAT)
        binaries = await self._executed(session, text, portal, BINARY_FORMAT)
        if len(texts) != len(binaries):
            raise SqlError(NOT_IN_PREREQUISITE_STATE, "the catalog has changed meanwhile: ask again")
        return [
            [binary if form == BINARY_FORMAT else text for form, text, binary in zip(wanted, *pair, strict=True)]
            for pair in zip(texts, binaries, strict=True)
        ]

    async def _executed(self, session: StoreConnection, text: Compiled, portal: Portal, wanted: int) -> list[Row]:
        """All rows in one format."""
        formats = each(tuple(portal.formats), len(portal.values)) if portal.values else ()
        command = UsersCommand(
            text.text,
            tuple(portal.values),
            oids=tuple(portal.oids),
            formats=formats,
            result_format=wanted,
            offset_of=partial(_offset, text, portal.statement),
        )
        return await self._taken(session, command, Relay(CHUNK_ROWS_OF_NUMBERS))

    async def _copied(self, session: StoreConnection, text: Compiled, copy: Statement, query: Statement) -> Result:
        """The data that the store writes for a COPY of a query."""
        relation = None if copy.node.HasField("query") else _name_of(copy.node.relation)
        if relation is not None:
            sql = f"SELECT FROM pg_class WHERE oid = to_regclass({literal(relation)}) AND relkind = 'v'"
            if (await _script(session, sql))[0].ntuples:
                message = f'cannot copy from view "{copy.node.relation.relname}"'
                raise SqlError(WRONG_OBJECT_TYPE, message, hint="Try the COPY (SELECT ...) TO variant.")
        relay = Relay()
        command = copy_command(copy, UsersCommand(text.text, offset_of=partial(_offset, text, query)))
        rows = await self._taken(session, command, relay)
        return Result("COPY", None, rows, copy=relay.copy)

    async def _taken(self, session: StoreConnection, command: UsersCommand, relay: Relay) -> list[Row]:
        """All rows of a command. They are counted as they arrive, so that too many end the question."""
        rows, size, command = list[Row](), 0, replace(command, relay=relay)
        relay.begin(asyncio.get_running_loop().create_task(session.run([command])))
        try:
            while (some := await relay.next()) is not None:
                size += sum(map(bytes_of, some))
                if size > ANSWER_BYTES_MAX:
                    raise too_large()
                rows += some
            await relay.finish()
        except StoreError as error:
            raise _error_of(error, command) from error
        finally:
            await relay.drop()
        return rows


async def _script(session: StoreConnection, *words: str) -> "list[pq.abc.PGresult]":
    try:
        return await session.run([UsersCommand(one) for one in words])
    except StoreConnectionLost as lost:
        raise unanswered(lost) from lost


def _query_of(copy: Statement) -> Statement:
    """The query of COPY .. TO STDOUT of a relation of the catalog, or of a query."""
    node = copy.node
    refuse_no_query(node)
    if node.HasField("query"):
        text, begin = in_brackets(copy.text)
    else:
        names = ", ".join(quoted(item.string.sval) for item in node.attlist) or "*"
        text, begin = f"SELECT {names} FROM {_name_of(node.relation)}", 0
    return Statement("select", node, text, copy.start + begin, asks=copy.asks)


def _name_of(relation: Any) -> str:
    return ".".join(quoted(name) for name in (relation.schemaname, relation.relname) if name)


def _offset(text: Compiled, statement: Statement, position: int) -> int:
    return statement.start + len(text.original[: text.position(position) - 1].encode())


def _error_of(error: StoreError, command: UsersCommand) -> SqlError:
    return unanswered(error) if isinstance(error, StoreConnectionLost) else UsersError(error, command)
