"""Text into statements: what kind each is, which tables it names, and where it stands. PostgreSQL's own grammar
decides. The same text comes again and again, so the parse is kept with the text, the analysis with the versions of its
tables."""

import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import postgast
from postgast import pg_query_pb2 as pb

from changes.ddl.statements import is_ddl
from expressions import grammar
from expressions.errors import SYNTAX_ERROR, SqlError, unsupported
from nodes.catalog_queries.asks import NOTHING, Asks, asked_of
from nodes.catalog_views.relations import RELATIONS
from nodes.crud.calls import call_text, is_call
from nodes.sql.admission import nodes_in
from nodes.sql.edits import Words
from nodes.sql.session_calls import is_session_call

Node = Any
AS_OF = re.compile(r"\b(AS\s+OF\s+SYSTEM\s+TIME|FOR\s+SYSTEM_TIME)\b", re.IGNORECASE)
"""A read as of an older time, in CockroachDB and in SQL:2011; PostgreSQL has a syntax error at one of its words."""
CACHED_CHARS_MAX = 8192
PLANS_MAX = 8

KINDS = {
    "select_stmt": "select", "insert_stmt": "insert", "update_stmt": "update", "delete_stmt": "delete",
    "truncate_stmt": "truncate", "transaction_stmt": "transaction", "variable_set_stmt": "set",
    "variable_show_stmt": "show", "discard_stmt": "discard", "explain_stmt": "explain",
    "prepare_stmt": "prepare", "execute_stmt": "execute", "deallocate_stmt": "deallocate",
    "declare_cursor_stmt": "cursor", "listen_stmt": "listen", "vacuum_stmt": "vacuum",
    "call_stmt": "procedure",
}  # fmt: skip


@dataclass(eq=False, slots=True)
class Statement:
    """One statement of a text. Offsets in its parse tree, and its `start`, count bytes of the whole text."""

    kind: str
    node: Node
    text: str
    start: int = 0
    tables: frozenset[str] = frozenset()
    plans: dict[Any, Any] = field(default_factory=dict)
    point: Any = None
    """Its newest plan compiled, where that reads one row by its key (`nodes.session.points`)."""
    asks: Asks = NOTHING
    """What a SELECT asks the catalog."""
    place: Any = None
    """A plan of it, and its text for PostgreSQL or None (`nodes.session.planned`)."""
    described: Any = None
    """Versions, types of parameters and settings, and what the store says of it for these."""
    _within: "Statement | None" = None

    def remember(self, key: Any, plan: Any) -> None:
        """Keep what was made of it under these versions; old versions are forgotten first."""
        while len(self.plans) >= PLANS_MAX:
            self.plans.pop(next(iter(self.plans)))
        self.plans[key] = plan

    @property
    def within(self) -> "Statement":
        if self._within is None:
            begin = _begin_within(self.text)
            inner = self.text.encode()[begin:].decode()
            self._within = _of_node(self.node.query, inner, self.start + begin)
        return self._within


def _begin_within(text: str) -> int:
    """The byte at which the query begins: after PREPARE .. AS, DECLARE .. FOR, EXPLAIN (..) ANALYZE VERBOSE."""
    words, depth = Words(text), 0
    ends = {"prepare": ("as",), "declare": ("for",)}.get(words[0])
    for place, token in enumerate(words.tokens[1:], start=1):
        word = words[place]
        depth += {"(": 1, ")": -1}.get(word, 0)
        if depth == 0 and ends is None and word not in ("analyze", "analyse", "verbose", ")"):
            return int(token.start)
        if depth == 0 and ends is not None and word in ends:
            return int(words.tokens[place + 1].start)
    return 0


def public_text(statement: Statement, sql: str) -> str:
    """The text of a statement for other people: without what may be a password."""
    if isinstance(statement.node, pb.AlterRoleStmt):
        return "ALTER ROLE .."
    return "CREATE ROLE .." if isinstance(statement.node, pb.CreateRoleStmt) else sql


def parse(sql: str) -> list[Statement]:
    """The statements of a text. Raises 42601 with the place."""
    return _remembered(sql) if len(sql) <= CACHED_CHARS_MAX else _parse(sql)


@functools.lru_cache(maxsize=512)
def _remembered(sql: str) -> list[Statement]:
    return _parse(sql)


def _parse(sql: str) -> list[Statement]:
    try:
        tree = grammar.parse(sql)
    except postgast.PgQueryError as error:
        raise _refusal(error, sql) from None
    source = sql.encode()
    found = []
    for raw in tree.stmts:
        end = raw.stmt_location + raw.stmt_len if raw.stmt_len else len(source)
        words = source[raw.stmt_location : end]
        start = raw.stmt_location + len(words) - len(words.lstrip())
        found.append(_of_node(raw.stmt, words.decode().strip(), start))
    return found


def _refusal(error: postgast.PgQueryError, sql: str) -> SqlError:
    at = grammar.offset_of(error, sql)
    place = error.cursorpos - 1
    found = next((one for one in AS_OF.finditer(sql) if one.start() <= place < one.end()), None)
    if found is not None:
        hint = "Data as of an older time is not kept (L15). A transaction reads as of its own beginning."
        return unsupported(" ".join(found.group().upper().split()), at, hint)
    return SqlError(SYNTAX_ERROR, error.message, at)


def _of_node(stmt: Node, text: str, start: int) -> Statement:
    name = stmt.WhichOneof("node")
    node = getattr(stmt, name)
    if name == "select_stmt" and is_call(node):
        return Statement("crud", call_text(node), text, start)
    if name == "select_stmt" and first_query(node).HasField("into_clause"):
        return Statement("ddl", node, text, start)
    if name == "select_stmt" and is_session_call(node):
        return Statement("call", node, text, start)
    if name == "copy_stmt":
        kind, asks = ("copy from", NOTHING) if node.is_from else ("copy to", asked_of(node))
        return Statement(kind, node, text, start, frozenset(tables_in(stmt)), asks=asks)
    if name == "select_stmt" and writes_in_with(node):
        return Statement("writing select", node, text, start, frozenset(tables_in(stmt)))
    kind = KINDS.get(name) or ("ddl" if is_ddl(name) else name.removesuffix("_stmt").replace("_", " "))
    tables = frozenset(tables_in(stmt)) if kind in WITH_TABLES else frozenset()
    asks = asked_of(node) if kind == "select" else NOTHING
    return Statement(kind, node, text, start, tables, asks=asks)


def writes_in_with(node: Node) -> bool:
    """True if a statement has one in its WITH that writes."""
    ctes = node.with_clause.ctes if node.HasField("with_clause") else ()
    return any(item.common_table_expr.ctequery.WhichOneof("node") != "select_stmt" for item in ctes)


LEAVES = frozenset({"a_const", "column_ref", "param_ref", "string", "integer", "float", "boolean", "a_star"})
WITH_TABLES = frozenset({"select", "insert", "update", "delete", "merge", "truncate", "explain"})


def first_query(node: Node) -> Node:
    """The one of several queries that INTO stands in, where SELECT INTO makes a table of them."""
    while node.HasField("larg"):
        node = node.larg
    return node


def tables_in(stmt: Node) -> Iterator[str]:
    """Every name that may be a table's; names of WITH queries are among them and do no harm."""
    for named in relations_in(stmt):
        if named.schemaname == "public" or (not named.schemaname and named.relname not in RELATIONS):
            yield named.relname


def relations_in(stmt: Node) -> Iterator[Node]:
    pending = [stmt]
    while pending:
        message = pending.pop()
        if message.DESCRIPTOR.name == "RangeVar":
            yield message
        for field_, value in message.ListFields():
            if field_.message_type is None:
                continue
            is_node = field_.message_type.name == "Node"
            for inner in value if field_.is_repeated else (value,):
                kind = inner.WhichOneof("node") if is_node else None
                if kind is None:
                    pending.append(inner)
                elif kind not in LEAVES:
                    pending.append(getattr(inner, kind))


def parameters_in(stmt: Node) -> set[int]:
    return {node.number for node in nodes_in(stmt) if node.DESCRIPTOR.name == "ParamRef"}


def functions_in(stmt: Node) -> set[str]:
    return {node.funcname[-1].string.sval for node in nodes_in(stmt) if node.DESCRIPTOR.name == "FuncCall"}


# -- DDL, as its client sees it ---------------------------------------------------------------------------------

TAGS = {
    "CreateStmt": "CREATE TABLE",
    "CreateTableAsStmt": "CREATE TABLE AS",
    "SelectStmt": "SELECT INTO",
    "IndexStmt": "CREATE INDEX",
    "ViewStmt": "CREATE VIEW",
    "AlterOwnerStmt": "ALTER",
    "CreateSeqStmt": "CREATE SEQUENCE",
    "AlterSeqStmt": "ALTER SEQUENCE",
}


def tag_of(statement: Statement) -> str:
    """The command tag of a DDL statement, as PostgreSQL has it: a column is renamed by ALTER TABLE."""
    kind, node = statement.node.DESCRIPTOR.name, statement.node
    if kind == "DropStmt":
        return f"DROP {_object(node.remove_type)}"
    if kind == "AlterTableStmt":
        return f"ALTER {_object(node.objtype)}"
    if kind == "RenameStmt":
        renamed = _object(node.rename_type).replace("TABCONSTRAINT", "TABLE")
        return f"ALTER {renamed if renamed in ('TABLE', 'INDEX', 'VIEW') else _object(node.relation_type)}"
    return TAGS.get(kind, str(kind).removesuffix("Stmt").upper())


def is_several(node: Node) -> bool:
    """True for a DROP that is more than one change: of several objects, or with what depends on them."""
    return len(node.objects) > 1 or pb.DropBehavior.Name(node.behavior) == "DROP_CASCADE"


def is_copying(node: Node) -> bool:
    return node.DESCRIPTOR.name == "CreateStmt" and any(item.HasField("table_like_clause") for item in node.table_elts)


def _object(number: int) -> str:
    name = str(pb.ObjectType.Name(number)).removeprefix("OBJECT_").replace("_", " ")
    return "MATERIALIZED VIEW" if name == "MATVIEW" else name


def ddl_error(error: Any, statement: Statement) -> SqlError:
    """A refusal of the planner's, with its place in the text the client sent."""
    offset = -1
    if error.position:
        offset = statement.start + len(statement.text[: error.position - 1].encode())
    return SqlError(error.sqlstate, error.message, offset, hint=error.hint)
