"""Statements about the session itself: transactions, settings, what PostgreSQL has and a node has not."""

from __future__ import annotations

import re
from typing import Any

from postgast import pg_query_pb2 as pb

from expressions import errors
from expressions.dates.zones import hours_east
from expressions.sqltypes import TEXT
from nodes.catalog_views.relations import RELATIONS
from nodes.clients.protocols import Client
from nodes.notifications.listening import ALL as EVERY_CHANNEL
from nodes.session.block import Block
from nodes.session.schema.without_effect import undefined
from nodes.settings.variables import READ_ONLY, READ_ONLY_AT_FIRST, Variables
from nodes.sql import show_tables
from nodes.sql.statements import Statement
from nodes.store.name_cache import Directory
from nodes.wire.messages import Field
from nodes.wire.results import Result

Node = Any
ISOLATION_LEVELS = ("serializable", "repeatable read", "read committed", "read uncommitted")
LISTS_OF_NAMES = ("search_path", "temp_tablespaces")
LISTS = ("datestyle", "createrole_self_grant", "local_preload_libraries")
_PLAIN_NAME = re.compile(r"[a-z_][a-z0-9_$]*")
_HOURS_EAST = re.compile(r"\s*([+-]?)(\d{1,2})(?::(\d{2}))?\s*")
EXPLAINED = (Field("QUERY PLAN", TEXT.oid, -1),)


class Utility:
    def __init__(self, directory: Directory, client: Client, variables: Variables, block: Block) -> None:
        self.directory, self.client, self.variables, self.block = directory, client, variables, block

    async def run(self, statement: Statement) -> Result:
        match statement.kind:
            case "transaction":
                return Result(await self._transaction(statement.node))
            case "set":
                return Result(self._set(statement.node))
            case "show":
                return await self._show(statement.node)
            case "discard":
                return await self._discard(statement.node)
            case "deallocate":
                name, prepared = statement.node.name, self.client.statements.prepared
                if statement.node.isall or not name:
                    prepared.clear()
                    return Result("DEALLOCATE ALL")
                if prepared.pop(name, None) is None:
                    raise errors.SqlError(errors.INVALID_STATEMENT_NAME, f'prepared statement "{name}" does not exist')
                return Result("DEALLOCATE")
            case "constraints set":
                if statement.node.deferred:
                    self.client.notice("no constraint is deferred: each statement is judged when it ends")
                return Result("SET CONSTRAINTS")
            case "vacuum":
                return await self._vacuum(statement.node)
        raise errors.unsupported(statement.kind.upper())

    async def _vacuum(self, node: Node) -> Result:
        """VACUUM and ANALYZE of tables that must exist: a node has no dead rows of its own, and counts none."""
        word = "VACUUM" if node.is_vacuumcmd else "ANALYZE"
        if node.is_vacuumcmd and self.block.is_explicit:
            raise errors.SqlError(errors.ACTIVE_TRANSACTION, "VACUUM cannot run inside a transaction block")
        for item in node.rels:
            name = item.vacuum_relation.relation.relname
            if await self.block.has_table(name) or name in RELATIONS:
                continue
            if not self.directory.may_be_view(name):  # it was just looked up
                raise undefined(name)
            message = f'skipping "{name}" --- cannot {word.lower()} non-tables or special system tables'
            self.client.notice(message, "WARNING", "01000")
        self.client.notice(f"{word} has nothing to do here: the store does it by itself")
        return Result(word)

    def fields(self, statement: Statement) -> tuple[Field, ...] | None:
        if statement.kind == "show":
            return self._show_fields(statement.node)
        return EXPLAINED if statement.kind == "explain" else None

    def ends_block(self, statement: Statement) -> bool:
        if statement.kind != "transaction":
            return False
        return _kind(statement.node) in ("COMMIT", "ROLLBACK", "ROLLBACK_TO")

    # -- transactions -------------------------------------------------------------------------------------------

    async def _transaction(self, node: Node) -> str:
        kind = _kind(node)
        if node.chain:
            raise errors.unsupported("AND CHAIN")
        match kind:
            case "BEGIN" | "START":
                self.block.begin(is_read_only=self._is_read_only(node.options))
                return "BEGIN" if kind == "BEGIN" else "START TRANSACTION"
            case "COMMIT":
                return await self.block.commit()
            case "ROLLBACK":
                return await self.block.rollback()
            case "SAVEPOINT" | "RELEASE" | "ROLLBACK_TO":
                return await self.block.savepoint(kind.replace("_", " "), node.savepoint_name)
        raise errors.unsupported(f"{kind.replace('_', ' ')} (two-phase commit)")

    def _is_read_only(self, options: Any) -> bool | None:
        """READ ONLY or READ WRITE, None when neither is stated. Every isolation level is run as SERIALIZABLE."""
        is_read_only: bool | None = None
        for option in options:
            element = option.def_elem
            if element.defname == "transaction_read_only":
                is_read_only = bool(element.arg.a_const.ival.ival)
            elif element.defname == "transaction_isolation":
                level = element.arg.a_const.sval.sval
                if level.lower() not in ISOLATION_LEVELS:
                    raise errors.SqlError("22023", f'unrecognized isolation level "{level}"')
        return is_read_only

    # -- settings -----------------------------------------------------------------------------------------------

    def _set(self, node: Node) -> str:
        kind = pb.VariableSetKind.Name(node.kind)
        if kind == "VAR_SET_MULTI":
            return self._set_transaction(node)
        if kind == "VAR_RESET_ALL":
            self.variables.reset_all()
            return "RESET"
        if kind in ("VAR_RESET", "VAR_SET_DEFAULT"):
            self.variables.reset(node.name, is_local=self._is_local(node))
            return "RESET" if kind == "VAR_RESET" else "SET"
        words = [_word(arg) for arg in node.args]
        if node.name.lower() in LISTS_OF_NAMES:
            words = [word if _PLAIN_NAME.fullmatch(word) else '"' + word.replace('"', '""') + '"' for word in words]
        elif len(words) > 1 and node.name.lower() not in LISTS:
            raise errors.SqlError(errors.INVALID_PARAMETER_VALUE, f"SET {node.name} takes only one argument")
        self.variables.set(node.name, ", ".join(words), is_local=self._is_local(node))
        return "SET"

    def _is_local(self, node: Node) -> bool:
        """SET LOCAL ends with the transaction: with itself when there is none."""
        if node.is_local and not self.block.is_open:
            self.client.notice(
                "SET LOCAL can only be used in transaction blocks", "WARNING", errors.NO_ACTIVE_TRANSACTION
            )
        return bool(node.is_local)

    def _set_transaction(self, node: Node) -> str:
        is_read_only = self._is_read_only(node.args)
        if node.name == "SESSION CHARACTERISTICS":
            name = READ_ONLY_AT_FIRST
        elif node.name == "TRANSACTION":
            if not self.block.is_explicit:
                message = "SET TRANSACTION can only be used in transaction blocks"
                self.client.notice(message, "WARNING", errors.NO_ACTIVE_TRANSACTION)
                return "SET"
            name = READ_ONLY
        else:
            raise errors.unsupported(f"SET {node.name}")
        if is_read_only is not None:
            self.variables.set(name, "on" if is_read_only else "off")
        return "SET"

    async def _show(self, node: Node) -> Result:
        rows: list[tuple[str | None, ...]]
        if node.name == "tables":
            rows = [*show_tables.rows_of(await self.directory.tables())]
        elif node.name == "all":
            rows = [*self.variables.all()]
        else:
            rows = [(self.variables.get(node.name),)]
        cells = [tuple(None if cell is None else cell.encode() for cell in row) for row in rows]
        return Result("SHOW", self._show_fields(node), list(cells))

    def _show_fields(self, node: Node) -> tuple[Field, ...]:
        if node.name == "tables":
            return tuple(Field(name, TEXT.oid, -1) for name in show_tables.HEADINGS)
        if node.name == "all":
            return tuple(Field(name, TEXT.oid, -1) for name in ("name", "setting", "description"))
        return (Field(self.variables.canonical(node.name), TEXT.oid, -1),)

    async def _discard(self, node: Node) -> Result:
        mode = pb.DiscardMode.Name(node.target)
        if mode == "DISCARD_SEQUENCES":
            self.block.owner.numbers.forget()
        if mode not in ("DISCARD_ALL", "DISCARD_TEMP"):
            return Result(mode.replace("_", " "))
        if self.block.is_open:
            raise errors.SqlError("25001", f"{mode.replace('_', ' ')} cannot run inside a transaction block")
        await self.block.new_tables.give_up_temporary()
        if mode == "DISCARD_TEMP":
            return Result("DISCARD TEMP")
        self.variables.reset_all()
        self.block.owner.numbers.forget()
        self.client.statements.prepared.clear()
        self.client.statements.cursors.clear()
        await self.block.release_unused()
        await self.block.locks.give_all()
        self.block.listening.ask(EVERY_CHANNEL, listens=False, savepoint=0)
        self.block.listening.end(committed=True)
        return Result("DISCARD ALL")


def _kind(node: Node) -> str:
    return str(pb.TransactionStmtKind.Name(node.kind)).removeprefix("TRANS_STMT_")


def _word(node: Node) -> str:
    if node.WhichOneof("node") == "type_cast":  # SET TIME ZONE INTERVAL '-08:00' HOUR TO MINUTE
        text = node.type_cast.arg.a_const.sval.sval
        hours = _HOURS_EAST.fullmatch(text)
        if node.type_cast.type_name.names[-1].string.sval != "interval" or hours is None:
            raise errors.unsupported("this value in SET")
        sign, whole, minutes = hours.groups()
        return hours_east((int(whole) + int(minutes or 0) / 60) * (-1 if sign == "-" else 1)).name
    if node.WhichOneof("node") != "a_const":
        raise errors.unsupported("this value in SET")
    const = node.a_const
    match const.WhichOneof("val"):
        case "ival":
            return str(const.ival.ival)
        case "fval":
            return str(const.fval.fval)
        case "boolval":
            return "on" if const.boolval.boolval else "off"
    return str(const.sval.sval)
