"""Functions that act on the session or on others, and stand alone: `SELECT pg_notify('news', 'text')`. Pure. PostgreSQL
calls a function in a query when it likes, for any number of rows. What acts beyond the query is called once."""

from typing import Any

from nodes.sql.standing_alone import CHANNELS, FUNCTIONS
from nodes.wire.messages import Field

Node = Any
VOID_OID, VOID_LENGTH = 2278, 4


def lone_call(select: Node) -> Node | None:
    """The function call that a SELECT consists of; None for any other."""
    clauses = ("where_clause", "with_clause", "having_clause", "limit_count", "limit_offset", "larg", "into_clause")
    is_plain = not any(map(select.HasField, clauses)) and not len(select.group_clause) and not len(select.sort_clause)
    if not is_plain or len(select.target_list) != 1:
        return None
    value = select.target_list[0].res_target.val
    if len(select.from_clause) == 1:
        return _only_function(select.from_clause[0], value)
    if len(select.from_clause) or value.WhichOneof("node") != "func_call":
        return None
    return value.func_call


def _only_function(source: Node, target: Node) -> Node | None:
    is_star = target.WhichOneof("node") == "column_ref" and target.column_ref.fields[-1].WhichOneof("node") == "a_star"
    if not is_star or source.WhichOneof("node") != "range_function":
        return None
    functions = source.range_function.functions
    first = functions[0].list.items[0] if len(functions) == 1 else None
    return first.func_call if first is not None and first.WhichOneof("node") == "func_call" else None


def name_of(call: Node) -> str:
    """The function's name; empty when it is in a schema of somebody else's."""
    parts = [part.string.sval for part in call.funcname]
    return parts[-1] if parts[:-1] in ([], ["pg_catalog"]) else ""


def is_session_call(select: Node) -> bool:
    call = lone_call(select)
    return (
        call is not None and name_of(call) in FUNCTIONS and (not len(select.from_clause) or name_of(call) == CHANNELS)
    )


def field_of(select: Node) -> Field:
    call = lone_call(select)
    assert call is not None
    name = name_of(call)
    gives = FUNCTIONS[name].gives
    shown = select.target_list[0].res_target.name or name
    return Field(shown, VOID_OID, VOID_LENGTH) if gives is None else Field(shown, gives.oid, gives.typlen)
