"""CREATE, DROP and ALTER VIEW: a view is analysed here, and stored while no schema change is being submitted. No
version is published and nothing is waited for. In an explicit transaction it is as with other schema changes: what
stands before it is committed first, or it is refused."""

from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import postgast
from postgast import pg_query_pb2 as pb

from catalog.text.sql_names import quoted
from catalog.view_definition import ViewDefinition
from expressions import errors, grammar
from nodes.catalog_queries.asks import asked_of
from nodes.clients.protocols import Client
from nodes.session.block import Block
from nodes.session.database_thread import of_catalog
from nodes.session.tries import tried
from nodes.sql.column_names import star_of
from nodes.sql.edits import Words
from nodes.sql.naming import DEPTH_MAX, SCHEMAS, too_deep
from nodes.sql.statements import Statement, parse, tables_in, tag_of
from nodes.sql.uses import followed
from nodes.sql.views import definition_of
from nodes.store.refusals import checked
from nodes.store.transaction import Transaction
from nodes.wire.results import Result

if TYPE_CHECKING:
    from nodes.session.planned import PlannedStatements

Node = Any
T = TypeVar("T")
QUERY_BYTES_MAX = 64 * 1024


def is_about_view(statement: Statement) -> bool:
    node, kind = statement.node, statement.node.DESCRIPTOR.name
    if kind == "DropStmt":
        return bool(node.remove_type == pb.OBJECT_VIEW)
    if kind == "RenameStmt":
        return bool(node.rename_type == pb.OBJECT_VIEW)
    return bool(kind == "ViewStmt")


class ViewStatements:
    def __init__(self, client: Client, who: str, block: Block, planned: "PlannedStatements") -> None:
        self.client, self.who, self.block, self.planned = client, who, block, planned

    async def change(self, statement: Statement) -> Result:
        kind, tag = statement.node.DESCRIPTOR.name, tag_of(statement)
        if self.block.is_explicit:
            self.block.refuse_read_only(tag)
            await self.block.commit_before(tag, f"{tag} inside a transaction is not supported")
        else:
            await self.block.end_before(tag)
        if kind == "ViewStmt":
            from changes.submission.stored_views import create

            node = statement.node
            _refuse_clauses(node)
            definition = await self._defined(statement)
            await of_catalog(statement, partial(create, definition, replaces=node.replace, who=self.who))
        elif kind == "DropStmt":
            await self._drop(statement)
        else:
            await self._rename(statement)
        if self.block.is_explicit:
            self.block.current()
        return Result(tag)

    # -- CREATE VIEW --------------------------------------------------------------------------------------------

    async def _defined(self, statement: Statement) -> ViewDefinition:
        node = statement.node
        select = node.query.select_stmt
        words = Words(statement.text)
        first = words.after(words.index(node.view.location - statement.start), "as")
        own, tables = words.blanked([(0, first - 1)]), frozenset(tables_in(select))
        query = Statement("select", select, own, statement.start, tables, asks=asked_of(select))
        private = {table.name for table in self.block.new_tables.temporary.among(self.block.new_tables.tables)}
        if private & query.tables:
            name = min(private & query.tables)
            raise errors.unsupported("a view of a temporary table", hint=f"{name} is this session's own")
        names, style = [item.string.sval for item in node.aliases], self.planned.variables.style
        text = _text_of(_named(select, names))

        async def once(transaction: Transaction, fresh: bool) -> ViewDefinition:
            async with checked(transaction):
                named = await self.planned.named(transaction, query, fresh=fresh)
                if any(view.depth >= DEPTH_MAX for view in named.views.values()):
                    raise too_deep(node.view.relname)
                columns = await self.planned.columns_of_view(transaction, query, named)
                found = followed(select, named.tables, named.views, None, style)
                return definition_of(node.view.relname, names, text, columns, found, style)

        return await tried(self.block.env, self.block, once, is_read_only=True)

    # -- DROP VIEW, ALTER VIEW ----------------------------------------------------------------------------------

    async def _drop(self, statement: Statement) -> None:
        from changes.submission.stored_views import drop

        node = statement.node
        for item in node.objects:
            _check_schema(".".join(word.string.sval for word in item.list.items[:-1]))
        names = list(dict.fromkeys(str(item.list.items[-1].string.sval) for item in node.objects))
        cascades = pb.DropBehavior.Name(node.behavior) == "DROP_CASCADE"
        work = partial(drop, names, forgiving=node.missing_ok, cascades=cascades, who=self.who)
        for notice in await of_catalog(statement, work):
            self.client.notice(notice)

    async def _rename(self, statement: Statement) -> None:
        from changes.submission.stored_views import rename

        node = statement.node
        _check_schema(node.relation.schemaname)
        work = partial(rename, node.relation.relname, node.newname, forgiving=node.missing_ok, who=self.who)
        notice = await of_catalog(statement, work)
        if notice is not None:
            self.client.notice(notice)


def _refuse_clauses(node: Node) -> None:
    clauses = {
        "a TEMPORARY view": node.view.relpersistence == "t",
        "an UNLOGGED view": node.view.relpersistence == "u",
        "a view WITH options": bool(len(node.options)),
        "WITH CHECK OPTION": pb.ViewCheckOption.Name(node.with_check_option)
        not in ("VIEW_CHECK_OPTION_UNDEFINED", "NO_CHECK_OPTION"),
    }
    for clause, is_there in clauses.items():
        if is_there:
            raise errors.unsupported(clause, node.view.location)
    _check_schema(node.view.schemaname)
    if len(node.view.relname.encode()) > 63:
        raise errors.SqlError(errors.PROGRAM_LIMIT, "the name is too long: at most 63 bytes", node.view.location)


def _check_schema(schema: str) -> None:
    if schema not in SCHEMAS:
        raise errors.SqlError(
            errors.UNDEFINED_SCHEMA, f'schema "{schema}" does not exist', hint="All views are in the schema public."
        )


def _named(select: Node, names: list[str]) -> Node:
    if not names:
        return select
    tree = grammar.parse(f"SELECT * FROM (SELECT 1) AS named({', '.join(map(quoted, names))})")
    outer = tree.stmts[0].stmt.select_stmt
    outer.from_clause[0].range_subselect.subquery.select_stmt.CopyFrom(select)
    inner = outer.from_clause[0].range_subselect.subquery.select_stmt
    is_plain = not (len(inner.sort_clause) or len(inner.group_clause) or inner.HasField("larg")) and all(
        not target.res_target.name and star_of(target.res_target.val) is None for target in inner.target_list
    )
    if not is_plain or len(inner.target_list) < len(names):
        return outer
    for target, name in zip(inner.target_list, names, strict=False):
        target.res_target.name = name
    return inner


def _text_of(select: Node) -> str:
    tree = grammar.parse("SELECT 1")
    tree.stmts[0].stmt.select_stmt.CopyFrom(select)
    text = str(postgast.deparse(tree))
    if len(text.encode()) > QUERY_BYTES_MAX:
        raise errors.SqlError(errors.PROGRAM_LIMIT, f"the query of a view has at most {QUERY_BYTES_MAX} bytes")
    parse(text)
    return text
