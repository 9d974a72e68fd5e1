"""PREPARE, EXECUTE and DEALLOCATE: statements that are prepared by name in SQL, beside those of the protocol's Parse.
What a client was told of a result is a promise for both (`nodes.clients.portals`): PREPARE tells it at once."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from expressions.analysis.building import Parameters
from expressions.analysis.tree import type_of_name
from expressions.errors import DATATYPE_MISMATCH, INVALID_STATEMENT_NAME, SYNTAX_ERROR, SqlError, unsupported
from expressions.functions.casts import is_assigned
from expressions.sqltypes import TEXT, UNKNOWN, parameter_type
from expressions.typed import Context
from nodes.clients.portals import Portal, Prepared
from nodes.clients.protocols import Client
from nodes.context import Environment
from nodes.session.arguments import Arguments
from nodes.session.block import Block
from nodes.session.functions.values import SessionValues
from nodes.settings.variables import Variables
from nodes.sql.admission import place_of
from nodes.sql.statements import Statement

Node = Any
PREPARABLE = frozenset({"select", "insert", "update", "delete", "merge", "writing select", "crud"})


@dataclass(eq=False)
class NamedStatements:
    env: Environment
    client: Client
    variables: Variables
    known: SessionValues
    block: Block

    def inner(self, statement: Statement) -> tuple[Statement, list[int]]:
        """The statement of a PREPARE, and the types that it declares. Raises 42P05 when the name is taken."""
        self.client.statements.refuse_taken(statement.node.name)
        oids = [type_of_name(item.type_name).oid for item in statement.node.argtypes]
        if statement.within.kind not in PREPARABLE:
            what = "SELECT INTO" if statement.within.kind == "ddl" else f"this {statement.within.kind}"
            raise unsupported(f"PREPARE of {what}", hint="send it by itself")
        return statement.within, oids

    def keep(self, name: str, prepared: Prepared) -> None:
        prepared.is_described = prepared.is_of_sql = True
        self.client.statements.prepared[name] = prepared

    def find(self, name: str) -> Prepared:
        try:
            return self.client.statements.prepared[name]
        except KeyError:
            raise SqlError(INVALID_STATEMENT_NAME, f'prepared statement "{name}" does not exist') from None

    async def executed(self, node: Node) -> Portal:
        prepared = self.find(node.name)
        inner = prepared.statement
        if isinstance(inner, Statement) and inner.kind == "execute":  # it may be itself
            raise unsupported("EXECUTE of an EXECUTE", hint="send it by the protocol")
        given: Sequence[Node] = node.params
        if len(given) != len(prepared.oids):
            message = f'wrong number of parameters for prepared statement "{node.name}"'
            detail = f"Expected {len(prepared.oids)} parameters but got {len(given)}."
            raise SqlError(SYNTAX_ERROR, message, detail=detail)
        if not given:
            return Portal(prepared, [])
        context, owner = Context((), self.block.now, self.known, self.variables.style), self.block.owner
        parameters = Parameters(count_max=0)
        arguments = Arguments(self.env, owner, context, self.variables, given, "EXECUTE parameters", parameters)
        wanted = [parameter_type(oid) for oid in prepared.oids]
        wanted = [TEXT if of is UNKNOWN else of for of in wanted]
        types = await arguments.types()
        for number, (node, found, of) in enumerate(zip(given, types, wanted, strict=True), start=1):
            if found is not UNKNOWN and found is not of and not is_assigned(found, of):
                message = f"parameter ${number} of type {found} cannot be coerced to the expected type {of}"
                hint = "You will need to rewrite or cast the expression."
                raise SqlError(DATATYPE_MISMATCH, message, place_of(node), hint=hint)
        return Portal(prepared, await arguments.texts(wanted))
