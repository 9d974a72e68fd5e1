"""Texts of expressions, from their parse trees, as libpg_query's deparser writes them: `a+b*c > 0` is `(a + (b * c)) >
0`. It knows what the lab's schemas compute, and raises `PgQueryError` for every other expression (`parser`)."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from django.utils.translation import gettext
from postgast import pg_query_pb2 as pb
from postgast.errors import PgQueryError

from expressions import grammar

Node = Any

OPERATIONS = ("a_expr", "bool_expr", "null_test", "boolean_test")
OF_CATALOG = {
    "bool": "boolean",
    "bpchar": "char",
    "float4": "real",
    "float8": "double precision",
    "int2": "smallint",
    "int4": "int",
    "int8": "bigint",
    "interval": "interval",
    "numeric": "numeric",
    "time": "time",
    "timestamp": "timestamp",
    "timestamptz": "timestamp with time zone",
    "timetz": "time with time zone",
    "varchar": "varchar",
}
"""Types that the grammar spells by words of its own, by their names in the catalog."""

BETWEEN = {
    pb.AEXPR_BETWEEN: "BETWEEN",
    pb.AEXPR_NOT_BETWEEN: "NOT BETWEEN",
    pb.AEXPR_BETWEEN_SYM: "BETWEEN SYMMETRIC",
    pb.AEXPR_NOT_BETWEEN_SYM: "NOT BETWEEN SYMMETRIC",
}
LIKE = {"~~": "LIKE", "!~~": "NOT LIKE", "~~*": "ILIKE", "!~~*": "NOT ILIKE"}
TESTS = {
    pb.IS_TRUE: "TRUE",
    pb.IS_NOT_TRUE: "NOT TRUE",
    pb.IS_FALSE: "FALSE",
    pb.IS_NOT_FALSE: "NOT FALSE",
    pb.IS_UNKNOWN: "UNKNOWN",
    pb.IS_NOT_UNKNOWN: "NOT UNKNOWN",
}


def deparse(tree: Node) -> str:
    select = tree.stmts[0].stmt.select_stmt if len(tree.stmts) == 1 else pb.SelectStmt()
    clauses = [field.name for field, _ in select.ListFields() if field.message_type]
    if clauses != ["target_list"] or len(select.target_list) != 1:
        raise _unread()
    return f"SELECT {_text(select.target_list[0].res_target.val)}"


def _text(node: Node) -> str:
    kind = node.WhichOneof("node")
    if kind not in WRITERS:
        raise _unread()
    return WRITERS[kind](getattr(node, kind))


def _operand(node: Node) -> str:
    """In parentheses where it is an operation itself, whatever binds closer."""
    return f"({_text(node)})" if node.WhichOneof("node") in OPERATIONS else _text(node)


def _list(nodes: Sequence[Node]) -> str:
    return ", ".join(map(_text, nodes))


def _constant(node: Node) -> str:
    match node.WhichOneof("val"):
        case "ival":
            return str(node.ival.ival)
        case "fval":
            return str(node.fval.fval)
        case "boolval":
            return "true" if node.boolval.boolval else "false"
        case "sval":
            return _quoted(node.sval.sval)
        case "bsval":
            return node.bsval.bsval[0] + _quoted(node.bsval.bsval[1:])
    return "NULL"


def _quoted(text: str) -> str:
    doubled = text.replace("'", "''")
    return f"E'{doubled.replace(BACKSLASH, BACKSLASH * 2)}'" if BACKSLASH in doubled else f"'{doubled}'"


def _name(text: str) -> str:
    """In quotes where it is a word of the grammar, or no plain word."""
    is_plain = re.fullmatch("[a-z_][a-z0-9_$]*", text) and not grammar.is_reserved(text)
    return text if is_plain else '"{}"'.format(text.replace('"', '""'))


def _column(node: Node) -> str:
    if any(not field.HasField("string") for field in node.fields):
        raise _unread()
    return ".".join(_name(field.string.sval) for field in node.fields)


def _operation(node: Node) -> str:
    name, kind = node.name[-1].string.sval, node.kind
    if kind == pb.AEXPR_OP and len(node.name) == 1:
        left = f"{_operand(node.lexpr)} " if node.HasField("lexpr") else ""
        return f"{left}{name} {_operand(node.rexpr)}"
    left = _text(node.lexpr)
    if kind == pb.AEXPR_IN:
        return f"{left} {'IN' if name == '=' else 'NOT IN'} ({_list(node.rexpr.list.items)})"
    if kind == pb.AEXPR_NULLIF:
        return f"NULLIF({left}, {_text(node.rexpr)})"
    if kind in BETWEEN:
        low, high = node.rexpr.list.items
        return f"{left} {BETWEEN[kind]} {_text(low)} AND {_text(high)}"
    if kind in (pb.AEXPR_LIKE, pb.AEXPR_ILIKE):
        return f"{left} {LIKE[name]} {_text(node.rexpr)}"
    if kind == pb.AEXPR_DISTINCT:
        return f"{_operand(node.lexpr)} IS DISTINCT FROM {_operand(node.rexpr)}"
    if kind == pb.AEXPR_NOT_DISTINCT:
        return f"{left} IS NOT DISTINCT FROM {_text(node.rexpr)}"
    raise _unread()


def _logic(node: Node) -> str:
    texts = [f"({_text(one)})" if _joins(one) else _text(one) for one in node.args]
    if node.boolop == pb.NOT_EXPR:
        return f"NOT {texts[0]}"
    return (" AND " if node.boolop == pb.AND_EXPR else " OR ").join(texts)


def _joins(node: Node) -> bool:
    return node.HasField("bool_expr") and node.bool_expr.boolop != pb.NOT_EXPR


def _null_test(node: Node) -> str:
    return f"{_text(node.arg)} IS {'' if node.nulltesttype == pb.IS_NULL else 'NOT '}NULL"


def _boolean_test(node: Node) -> str:
    subject = f"({_text(node.arg)})" if node.arg.HasField("bool_expr") else _text(node.arg)
    return f"{subject} IS {TESTS[node.booltesttype]}"


def _case(node: Node) -> str:
    subject = f" {_text(node.arg)}" if node.HasField("arg") else ""
    branches = "".join(f" WHEN {_text(one.case_when.expr)} THEN {_text(one.case_when.result)}" for one in node.args)
    otherwise = f" ELSE {_text(node.defresult)}" if node.HasField("defresult") else ""
    return f"CASE{subject}{branches}{otherwise} END"


def _min_max(node: Node) -> str:
    return f"{'GREATEST' if node.op == pb.IS_GREATEST else 'LEAST'}({_list(node.args)})"


def _call(node: Node) -> str:
    given = {field.name for field, _ in node.ListFields()}
    if given - {"funcname", "args", "funcformat", "location"} or node.funcformat != pb.COERCE_EXPLICIT_CALL:
        raise _unread()
    return f"{'.'.join(_name(one.string.sval) for one in node.funcname)}({_list(node.args)})"


def _cast(node: Node) -> str:
    text = _text(node.arg)
    is_wrapped = node.arg.WhichOneof("node") in OPERATIONS or node.arg.a_const.HasField("fval") or text.startswith("-")
    return f"({text})::{_type(node.type_name)}" if is_wrapped else f"{text}::{_type(node.type_name)}"


def _type(node: Node) -> str:
    names = [one.string.sval for one in node.names]
    if (
        node.array_bounds
        or node.setof
        or node.pct_type
        or "interval" in names
        or names[:-1] not in ([], ["pg_catalog"])
    ):
        raise _unread()
    word = OF_CATALOG.get(names[-1], ".".join(names)) if len(names) > 1 else _name(names[0])
    if not node.typmods:
        return word
    first, blank, rest = word.partition(" ")
    return f"{first}{blank}({_list(node.typmods)}){blank}{rest}"


def _unread() -> PgQueryError:
    return PgQueryError(gettext("In a browser the lab does not read this expression; a cluster does."))


BACKSLASH = "\\"
WRITERS: dict[str, Callable[[Node], str]] = {
    "a_const": _constant,
    "a_expr": _operation,
    "bool_expr": _logic,
    "boolean_test": _boolean_test,
    "case_expr": _case,
    "coalesce_expr": lambda node: f"COALESCE({_list(node.args)})",
    "column_ref": _column,
    "func_call": _call,
    "min_max_expr": _min_max,
    "null_test": _null_test,
    "param_ref": lambda node: f"${node.number}",
    "type_cast": _cast,
}
