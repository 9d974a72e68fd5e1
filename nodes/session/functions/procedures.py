"""CALL: a node has no procedures, so it refuses each as PostgreSQL refuses one that does not exist.

CALL refresh(1)    42883   procedure refresh(integer) does not exist
CALL lower('A')    42809   lower(unknown) is not a procedure: it is a function
"""

from typing import Any

from postgast import pg_query_pb2 as pb

from expressions.analysis.building import Parameters
from expressions.analysis.scopes import Scope
from expressions.errors import TOO_MANY_ARGUMENTS, UNDEFINED_FUNCTION, UNDEFINED_SCHEMA, WRONG_OBJECT_TYPE, SqlError
from expressions.typed import Context
from nodes.session.arguments import analysed, analyzer_of

Node = Any
IN_CALL = "CALL arguments"


def refusal(node: Node, parameters: Parameters, context: Context) -> SqlError:
    """The refusal of a CALL, with the types of its arguments. Raises for an argument that has none."""
    call = node.funccall
    parts = [part.string.sval for part in call.funcname]
    types = [str(analysed(analyzer_of(parameters, context), arg, IN_CALL).type) for arg in call.args]
    shown = f"{'.'.join(parts)}({', '.join(types)})"
    if _is_function(call, parameters, context):
        hint = "To call a function, use SELECT."
        return SqlError(WRONG_OBJECT_TYPE, f"{shown} is not a procedure", call.location, hint=hint)
    hint = "A node has no procedures: send their statements, in one transaction."
    return SqlError(UNDEFINED_FUNCTION, f"procedure {shown} does not exist", call.location, hint=hint)


def _is_function(call: Node, parameters: Parameters, context: Context) -> bool:
    """True if a node has a function of that name which takes these arguments."""
    try:
        analyzer_of(parameters, context).expr(pb.Node(func_call=call), Scope())
    except SqlError as error:
        if error.sqlstate in (UNDEFINED_SCHEMA, TOO_MANY_ARGUMENTS):
            raise
        return error.sqlstate != UNDEFINED_FUNCTION
    return True
