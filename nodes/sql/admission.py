"""Statements of a user that PostgreSQL may run as the reader role, decided by their parse trees. Pure.

Relations have no schema or are of `public`; casts to reg* types but `regtype` are refused, as they look names up in the
store's own catalog. In a database of ours the rest is a matter of privileges (`storage.reader`). In any other PUBLIC
keeps its functions, so names are checked, also where a call looks like a column: `(x).f`, `t.f`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from postgast import pg_query_pb2 as pb

from expressions import grammar
from expressions.errors import (
    FEATURE_NOT_SUPPORTED,
    INSUFFICIENT_PRIVILEGE,
    STATEMENT_TOO_COMPLEX,
    SYNTAX_ERROR,
    UNDEFINED_FUNCTION,
    SqlError,
    unsupported,
)
from nodes.sql.edits import Words

Node = Any

CRUD = "crud"
"""The schema of requests, which stand alone (`nodes.crud`)."""
STATEMENTS = ("select_stmt", "insert_stmt", "update_stmt", "delete_stmt", "merge_stmt", "copy_stmt")
REG_TYPES = frozenset({
    "regclass", "regcollation", "regconfig", "regdictionary", "regnamespace", "regoper", "regoperator", "regproc",
    "regprocedure", "regrole",
})  # fmt: skip
COPYING = ("A_Expr", "A_Indirection")
SYMMETRIC = (pb.AEXPR_BETWEEN_SYM, pb.AEXPR_NOT_BETWEEN_SYM)
BETWEEN = {pb.AEXPR_BETWEEN: 2, pb.AEXPR_NOT_BETWEEN: 2, **dict.fromkeys(SYMMETRIC, 4)}
"""PostgreSQL writes the value before BETWEEN so often when it reads the text. Nested ones multiply."""
FIELDS = 8
"""As many are taken to be in a row whose fields are not counted."""
COPIES_MAX = 50_000
"""Nodes that a text may gain by that, beside four times its own."""
OF_RECORDS = frozenset(["record_send"])
"""Refused functions of a whole row whose names do not begin with `pg_`."""


INSTEAD = {
    **dict.fromkeys(("txid_current", "txid_current_if_assigned", "txid_current_snapshot", "pg_current_xact_id",
                     "pg_current_xact_id_if_assigned", "pg_current_snapshot"),
                    "an identity column numbers rows; a transaction has no number here"),
    **dict.fromkeys(("pg_timezone_names", "pg_timezone_abbrevs"), "SET timezone takes every name of the zones"),
}  # fmt: skip
"""Functions that tell of the store, and what there is instead."""


@dataclass(frozen=True, slots=True)
class FunctionNames:
    """The functions that a session finds without naming a schema: those that a text may call, and all others."""

    allowed: frozenset[str]
    refused: frozenset[str]


@dataclass(eq=False)
class Admitted:
    """A text that PostgreSQL may run. It is read once: tree, nodes and words serve all that is made of it."""

    text: str
    stmt: Node
    nodes: Mapping[str, Sequence[Node]]
    """Those of its tree that others ask for, by their kinds (`LISTED`)."""

    @cached_property
    def words(self) -> Words:
        return Words(self.text)

    def of_kinds(self, *kinds: str) -> Iterator[Node]:
        for kind in kinds:
            yield from self.nodes.get(kind, ())


def admitted(text: str, functions: FunctionNames | None = None) -> Admitted:
    """The text, read. Raises `SqlError` for one that must not run, `postgast.PgQueryError` for no SQL. Without
    `functions` the database checks calls by privileges."""
    tree = grammar.parse(text)
    if len(tree.stmts) != 1:
        raise SqlError(SYNTAX_ERROR, "cannot insert multiple commands into a prepared statement")
    stmt = tree.stmts[0].stmt
    _require_kind(stmt)
    found: dict[str, list[Node]] = {}
    copying = 0
    for node in nodes_in(stmt):
        kind = node.DESCRIPTOR.name
        copying += kind in COPYING and _copies(node) > 1
        if kind in CHECKS:
            CHECKS[kind](node, functions)
        if kind in LISTED:
            found.setdefault(kind, []).append(node)
    if copying > 1:
        _bound_copies(stmt)
    return Admitted(text, stmt, found)


def nodes_in(root: Node) -> Iterator[Node]:
    """Every message of a tree, the root first. The guard of the grammar bounds their number."""
    pending = [root]
    while pending:
        message = pending.pop()
        yield message
        for field, value in message.ListFields():
            if field.message_type is not None:
                pending += value if field.is_repeated else [value]


def _copies(node: Node) -> int:
    """The number of times that PostgreSQL writes an operand of a node. It does so before it looks for a cancel."""
    if node.DESCRIPTOR.name == "A_Indirection":
        is_star = node.indirection[-1].WhichOneof("node") == "a_star"
        return max(FIELDS, len(node.arg.row_expr.args)) if is_star else 1
    if node.kind == pb.AEXPR_IN:
        return sum(item.WhichOneof("node") not in ("a_const", "param_ref") for item in node.rexpr.list.items)
    return BETWEEN.get(node.kind, 1)


def _bound_copies(root: Node) -> None:
    """Raises 54001 for a text that PostgreSQL makes far longer than it is, such as BETWEEN in BETWEEN."""
    pending, count, copied = [(root, 1)], 0, 0
    while pending:
        node, times = pending.pop()
        kind = node.DESCRIPTOR.name
        count, copied = count + 1, copied + times
        more = times * max(1, _copies(node)) if kind in COPYING else times
        last = "rexpr" if kind == "A_Expr" and node.kind in SYMMETRIC else ""
        for field, value in node.ListFields():
            if field.message_type is not None:
                each = more if field.name in ("lexpr", "arg", last) else times
                pending += [(one, each) for one in (value if field.is_repeated else [value])]
    if copied > COPIES_MAX + 4 * count:
        message = "the statement is too long once its BETWEEN, IN and .* are written out"
        raise SqlError(STATEMENT_TOO_COMPLEX, message, hint="nest fewer of them in each other")


def place_of(node: Node) -> int:
    """The place where an expression begins."""
    places = (part.location for part in nodes_in(node) if "location" in part.DESCRIPTOR.fields_by_name)
    return min((place for place in places if place >= 0), default=-1)


def _require_kind(stmt: Node) -> None:
    kind = stmt.WhichOneof("node")
    if kind not in STATEMENTS:
        words = kind.removesuffix("_stmt").replace("_", " ").upper()
        raise SqlError(FEATURE_NOT_SUPPORTED, f"{words} is not a statement that reads or writes rows")
    if kind == "copy_stmt" and (stmt.copy_stmt.is_program or stmt.copy_stmt.filename):
        raise _denied("COPY to or from a file")


def _denied(what: str, location: int = -1) -> SqlError:
    return SqlError(INSUFFICIENT_PRIVILEGE, f"permission denied for {what}", location)


def _check_relation(node: Node, _: FunctionNames | None) -> None:
    if node.catalogname or node.schemaname not in ("", "public", "pg_temp"):
        raise _denied(f"schema {node.schemaname}", node.location)
    if node.relname.startswith("pg_") and node.schemaname != "public":
        raise _denied(f"table {node.relname}", node.location)


def _check_into(node: Node, _: FunctionNames | None) -> None:
    raise SqlError(FEATURE_NOT_SUPPORTED, "SELECT INTO makes a table", node.rel.location)


def _check_type(node: Node, _: FunctionNames | None) -> None:
    names = _strings(node.names)
    if names[-1:] and names[-1].removeprefix("_") in REG_TYPES:  # an array's type has the name with a line before it
        raise _denied(f"type {names[-1]}", node.location)
    if len(names) > 1 and names[0] not in ("pg_catalog", "pg_temp"):
        raise _denied(f"schema {names[0]}", node.location)


def _check_call(node: Node, functions: FunctionNames | None) -> None:
    names = _strings(node.funcname)
    if len(names) > 1 and names[0] == CRUD:
        hint = f"SELECT {CRUD}.{names[-1]}(..) stands alone: it is a request of its own"
        raise unsupported(f"{CRUD}.{names[-1]} within a query", node.location, hint)
    if len(names) > 1 and names[0] != "pg_catalog":
        raise _denied(f"schema {names[0]}", node.location)
    name = names[-1]
    if name in INSTEAD:
        raise unsupported(f"function {name}", node.location, hint=INSTEAD[name])
    if name in REG_TYPES or (functions is not None and name in functions.refused):
        raise _denied(f"function {name}", node.location)
    if functions is not None and name not in functions.allowed:
        raise SqlError(UNDEFINED_FUNCTION, f"function {name} does not exist", node.location)


def _check_indirection(node: Node, functions: FunctionNames | None) -> None:
    """(x).f calls f(x), whatever the type of x."""
    for name in _strings(node.indirection):
        if name in REG_TYPES or (functions is not None and name in functions.refused):
            raise _denied(f"function {name}")


def _check_column(node: Node, functions: FunctionNames | None) -> None:
    """t.f calls f(t) where t has no column f. A function of no or other arguments cannot be meant: `t.version`."""
    name = _strings(node.fields)[-1:]
    if functions is None or len(node.fields) < 2 or not name:
        return
    if name[0] in functions.refused and (name[0].startswith("pg_") or name[0] in OF_RECORDS):
        raise _denied(f"function {name[0]}", node.location)


def _strings(parts: Any) -> list[str]:
    return [part.string.sval for part in parts if part.WhichOneof("node") == "string"]


LISTED = frozenset({
    "ColumnRef", "CommonTableExpr", "FuncCall", "JoinExpr", "ParamRef", "RangeFunction", "RangeSubselect",
    "RangeTableSample", "RangeVar", "ResTarget", "SQLValueFunction", "SelectStmt",
})  # fmt: skip
CHECKS = {
    "RangeVar": _check_relation,
    "IntoClause": _check_into,
    "TypeName": _check_type,
    "FuncCall": _check_call,
    "A_Indirection": _check_indirection,
    "ColumnRef": _check_column,
}
