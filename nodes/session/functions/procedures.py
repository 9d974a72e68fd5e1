"""CALL: a node has no procedures. The store parses the call and refuses it with its own error (42883, 42809)."""

from collections.abc import Sequence

from expressions.errors import WRONG_OBJECT_TYPE, SqlError, unsupported
from nodes.context import Environment
from nodes.execution.describing import describe
from nodes.sql.admission import CRUD, admitted
from nodes.sql.edits import Compiled, text_of
from nodes.sql.readable import InPlace
from nodes.sql.statements import Statement

NO_PROCEDURES = "A node has no procedures: send their statements, in one transaction."


async def refusal(env: Environment, statement: Statement, oids: Sequence[int], style: Sequence[str]) -> SqlError:
    """The refusal of a CALL. Raises for an argument that the reader role may not use."""
    call = statement.node.funccall
    names = [part.string.sval for part in call.funcname]
    if names[0] == CRUD and len(names) > 1:
        hint = "To call a function, use SELECT."
        return SqlError(WRONG_OBJECT_TYPE, f"{'.'.join(names)} is not a procedure", call.location, hint=hint)
    if len(call.args):
        admitted(f"SELECT {', '.join(map(text_of, call.args))}", env.reader.functions)
    place = InPlace(Compiled(statement.text, statement.text, ()), (), statement.start)
    try:
        await describe(env, None, place, oids, style)
    except SqlError as error:
        if error.message.startswith("procedure "):
            error.hint = NO_PROCEDURES
        return error
    return unsupported("a call of a procedure", call.location, hint=NO_PROCEDURES)
