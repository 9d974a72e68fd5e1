"""now() and its like in a text for PostgreSQL: the time at which the client's transaction began, as a parameter. Pure.
That may be earlier than the beginning of the store's transaction, and what the client wrote has the former's time."""

from typing import Any

from postgast import pg_query_pb2 as pb

from catalog.text.sql_names import quoted
from expressions.errors import unsupported
from nodes.sql.admission import Admitted
from nodes.sql.edits import Replacement

Node = Any

MARKER = "\x00moment\x00"
"""Stands for the parameter. A zero byte is in no text of a client."""
CALLS = frozenset({"now", "transaction_timestamp"})
TYPES = {
    "current_timestamp": "timestamptz",
    "localtimestamp": "timestamp",
    "localtime": "time",
    "current_time": "timetz",
    "current_date": "date",
}


def replaced_moments(query: Admitted) -> list[Replacement]:
    """The pieces to replace. A constant such as 'today' is the store's to read."""
    bare = {id_of(target.val) for target in query.of_kinds("ResTarget") if not target.name}
    in_from = {
        id_of(call): function
        for function in query.of_kinds("RangeFunction")
        for item in function.functions
        for call in item.list.items
        if call.WhichOneof("node") in ("func_call", "sqlvalue_function")
    }
    found = []
    for node in query.of_kinds("FuncCall", "SQLValueFunction"):
        kind, words = node.DESCRIPTOR.name, query.words
        name, precision = _name_of(node)
        if name == "age" and len(node.args) == 1:
            end = words.tokens[words.brackets(words.index(node.location))[0]].end
            found.append(Replacement(end, end, f"({MARKER}::pg_catalog.timestamptz)::pg_catalog.date, "))
        if (name not in TYPES and name not in CALLS) or (kind == "FuncCall" and len(node.args)):
            continue
        first = last = words.index(node.location)
        if kind == "FuncCall" or precision is not None:
            _, last = words.brackets(first)
        of = TYPES.get(name, "timestamptz") + ("" if precision is None else f"({precision})")
        value = f"({MARKER}::pg_catalog.timestamptz)::{of}"
        function = in_from.get((kind, node.location))
        if function is not None:
            if function.ordinality or len(function.functions) > 1:
                raise unsupported(f"{name} beside others in FROM", node.location)
            column = function.alias.aliasname or name
            value = f"(SELECT {value} AS {quoted(column)})" + (
                "" if function.alias.aliasname else f" AS {quoted(name)}"
            )
        shown = f' AS "{name}"' if (kind, node.location) in bare else ""
        found.append(words.replacement(first, last, f"{value}{shown}"))
    return found


def _name_of(node: Node) -> tuple[str, int | None]:
    if node.DESCRIPTOR.name == "FuncCall":
        return node.funcname[-1].string.sval, None
    name = str(pb.SQLValueFunctionOp.Name(node.op)).removeprefix("SVFOP_").lower()
    return name.removesuffix("_n"), node.typmod if name.endswith("_n") else None


def id_of(item: Node) -> tuple[str, int]:
    kind = item.WhichOneof("node")
    inner = getattr(item, kind) if kind is not None else item
    return inner.DESCRIPTOR.name, getattr(inner, "location", -1)
