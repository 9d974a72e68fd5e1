"""SQL over one row's own columns: predicates of partial indexes, CHECK constraints, type changes.

    a user writes           age > 17 AND users.name <> 'root'
    a descriptor keeps      "#3" > 17 AND "#2" <> 'root'

Columns are kept by id, so a rename changes no expression. Nodes, fills, audits and the lab evaluate it at any time and
must get the same value: a call that depends on clock, session or chance is refused by name. PostgreSQL computes what is
not `is_local` (`storage.asking`).
"""

import datetime as dt
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

import postgast
from postgast import pg_query_pb2 as pb

from catalog.descriptor import Descriptor
from catalog.elements import ColumnId
from catalog.values.types import SqlType
from expressions import errors, grammar
from expressions.analysis.analyzer import Analyzer
from expressions.analysis.building import Parameters
from expressions.analysis.scopes import Relation, Scan, Scope, reference
from expressions.sqltypes import NO_MODIFIER, OF_SQL_TYPE, Type
from expressions.typed import Call, ColumnRef, Context, Expr, PyValue, evaluate, is_simple, walk

Node = Any
INVALID_DEFINITION = "42P17"
BEFORE = "SELECT "
MARK = "#"
COMPILED_MAX = 1024

OF_THE_SESSION = {
    "session": "a value of the session",
    "current_setting": "a setting of the session",
    "set_config": "a setting of the session",
}
"""What a session decides: calls by name, in words."""

CHANGING = {
    "now": "the time of the transaction",
    "transaction_timestamp": "the time of the transaction",
    "statement_timestamp": "the time of the transaction",
    "clock_timestamp": "the time",
    **OF_THE_SESSION,
    "random": "random()",
    "gen_random_uuid": "gen_random_uuid()",
    "uuidv4": "uuidv4()",
}
"""What gives another value the next time: calls by name, in words."""

Types = tuple[tuple[ColumnId, SqlType], ...]


JudgeDefault = Callable[[str, str, SqlType], str]
"""PostgreSQL's word on the default of a column of this name and type: the text that it keeps. Raises `SqlError`, with a
place in the text, for what it does not take."""
Judge = Callable[[Descriptor, str, SqlType], str]
"""PostgreSQL's word on an expression over the public columns of a table, by their names: the text that it keeps, whose
value is brought to a type as an assignment does. Raises `SqlError` with a place in the text for what it does not take,
and for what is not immutable."""

UNKNOWN_HERE = frozenset(
    {errors.UNDEFINED_FUNCTION, errors.AMBIGUOUS_FUNCTION, errors.UNDEFINED_OBJECT, errors.CANNOT_COERCE,
     errors.FEATURE_NOT_SUPPORTED}
)  # fmt: skip
"""Refusals of the analyser that say that it does not know something, and not that it is wrong."""

COMPUTED_HERE = "comparisons, arithmetic, CASE, COALESCE, IN, LIKE, length, lower, upper and casts may stand there"


def canonical(
    descriptor: Descriptor,
    expression: str | Node,
    *,
    returns: SqlType | None,
    what: str,
    offset: int = 0,
    judge: Judge | None = None,
) -> str:
    """The expression as a descriptor keeps it, brought to type `returns` as an assignment does (None: left as it is);
    raises `SqlError` with its place. `expression` is text at byte `offset` of the statement, or a node of its parse
    tree; `what` names its use in messages; `judge` is asked about what the analyser does not know."""
    node, shift = (expression, offset)
    if isinstance(expression, str):
        node, shift = parsed(expression, offset), offset - len(BEFORE)
    try:
        expr = typed(node, _public_scope(descriptor), what)
        _refuse_all(expr, what)
        target = None if returns is None else OF_SQL_TYPE[returns]
        if target is not None and expr.type is not target:
            _refuse_type(expr, target, what)
            # the node as an explicit cast, so that the kept text alone says what its value is
            (cast,) = grammar.parse(f"{BEFORE}CAST(NULL AS {target.name})").stmts
            wrapped = cast.stmt.select_stmt.target_list[0].res_target.val
            wrapped.type_cast.arg.CopyFrom(node)
            node = wrapped
    except errors.SqlError as error:
        is_unknown = error.sqlstate in UNKNOWN_HERE and not any(_messages(node, pb.SubLink))
        if judge is not None and returns is not None and is_unknown:
            return _judged(descriptor, node, returns, what, shift, judge)
        error.offset = error.offset + shift if error.offset >= 0 else error.offset
        if error.sqlstate in (errors.UNDEFINED_FUNCTION, errors.AMBIGUOUS_FUNCTION):
            raise errors.unsupported(f"{_text_of(node)} in {what}", error.offset, hint=COMPUTED_HERE) from error
        raise
    scope = _public_scope(descriptor)
    return _respelled(node, lambda names: f"{MARK}{_id_of(scope, names)}")


OF_GENERATED_COLUMNS = re.compile(r"(a )?column generation expression")
"""The use that PostgreSQL names: it is asked by way of a generated column."""


def _judged(descriptor: Descriptor, node: Node, returns: SqlType, what: str, shift: int, judge: Judge) -> str:
    text = _text_of(node)
    try:
        found = judge(descriptor, text, returns)
    except errors.SqlError as error:
        place = place_in(text, node, error.offset)
        names_use = OF_GENERATED_COLUMNS.search(error.message) is not None
        message = OF_GENERATED_COLUMNS.sub(what, error.message) if names_use else error.message
        if error.sqlstate == INVALID_DEFINITION:
            message = f"functions in {what} must be marked IMMUTABLE: the same row must give the same value at any time"
        if error.sqlstate == errors.DATATYPE_MISMATCH and place < 0:
            of = error.message.rpartition(" is of type ")[2]
            message = f"{what} must be of type {OF_SQL_TYPE[returns]}, not of type {of}"
        raise errors.SqlError(error.sqlstate, message, place + shift if place >= 0 else -1, hint=error.hint) from error
    ids = {column.name: column.id for column in descriptor.public_columns}
    return _respelled(parsed(found), lambda names: f"{MARK}{ids[names[-1]]}")


def place_in(text: str, node: Node, offset: int) -> int:
    """The place in a statement, of which `node` is a part, that a byte of the part's text comes from."""
    places = dict(zip(_places(parsed(text)), _places(node), strict=False))
    return places.get(offset + len(BEFORE), -1) if offset >= 0 else -1


def _places(node: Node) -> list[int]:
    """The places of all that has one, in the order of the tree."""
    return [part.location for part in _all_messages(node) if "location" in part.DESCRIPTOR.fields_by_name]


def shown(descriptor: Descriptor, text: str) -> str:
    """The expression with the names that its columns bear in this version: for people, and valid SQL."""
    names = {f"{MARK}{c.id}": c.name for c in descriptor.columns}
    return _respelled(parsed(text), lambda ids: names[ids[-1]])


def value_of(descriptor: Descriptor, text: str, columns: Mapping[ColumnId, PyValue]) -> PyValue:
    """The value of a kept expression for one row. Raises `SqlError` (22012, 22003, ..) when it has none."""
    return evaluate(compiled(descriptor, text), columns, _NOTHING)


def evaluator(descriptor: Descriptor, text: str) -> Callable[[Mapping[ColumnId, PyValue]], PyValue]:
    expr = compiled(descriptor, text)
    return lambda columns: evaluate(expr, columns, _NOTHING)


@lru_cache(COMPILED_MAX)
def columns_of(text: str) -> frozenset[ColumnId]:
    return frozenset(_id_named(ref.fields[-1].string.sval) for ref in _messages(parsed(text), pb.ColumnRef))


def is_local(descriptor: Descriptor, text: str) -> bool:
    """True for a kept expression that is computed here; PostgreSQL has to be asked for the value of any other one."""
    return _known(descriptor, text) is not None


MOMENTS = frozenset({"now", "transaction_timestamp", "statement_timestamp", "clock_timestamp"})
_MOMENT_TYPES = {
    pb.SVFOP_CURRENT_DATE: "date",
    pb.SVFOP_CURRENT_TIMESTAMP: "timestamptz",
    pb.SVFOP_LOCALTIMESTAMP: "timestamp",
    pb.SVFOP_LOCALTIME: "time",
}


def at_moment(text: str, moment: dt.datetime) -> str:
    """The expression with this moment, in UTC, where it reads the time."""
    node = _copy(parsed(text))
    constant = f"'{moment.astimezone(dt.UTC).isoformat()}'::timestamptz"
    for part in [one for one in _all_messages(node) if isinstance(one, pb.Node)]:
        kind = part.WhichOneof("node")
        if kind == "func_call" and part.func_call.funcname[-1].string.sval in MOMENTS:
            part.CopyFrom(parsed(constant))
        elif kind == "sqlvalue_function" and part.sqlvalue_function.op in _MOMENT_TYPES:
            part.CopyFrom(parsed(f"({constant})::{_MOMENT_TYPES[part.sqlvalue_function.op]}"))
    return _text_of(node)


def functions_of(text: str) -> frozenset[str]:
    """The functions that an expression calls by name; in another schema than pg_catalog with its name."""
    return frozenset(name for name, _ in _calls_in(parsed(text)))


def called_in(node: Node) -> Iterator[tuple[str, int]]:
    """The functions that stand in an expression, the outermost first, with their places; `current_user` is one."""
    yield from _calls_in(node)
    for value in _messages(node, pb.SQLValueFunction):
        yield pb.SQLValueFunctionOp.Name(value.op).removeprefix("SVFOP_").lower(), value.location


def _calls_in(node: Node) -> Iterator[tuple[str, int]]:
    for call in _messages(node, pb.FuncCall):
        names = [part.string.sval for part in call.funcname]
        yield ".".join(names[1:] if names[0] == "pg_catalog" and len(names) > 1 else names), call.location


def compiled(descriptor: Descriptor, text: str, scan: Scan | None = None) -> Expr:
    """The typed form of a local kept expression; with `scan` its columns are those of that use of the table in the
    query."""
    if scan is not None:
        shown = {c: reference(scan, descriptor.column(c)) for c in columns_of(text)}
        columns = {c: replace(ref, modifier=NO_MODIFIER) for c, ref in shown.items()}  # no rule depends on a length
        return typed(parsed(text), _Ids(columns), "expression")
    expr = _known(descriptor, text)
    assert expr is not None, f"PostgreSQL computes {text}"
    return expr


OPERATIONS = frozenset({"a_expr", "bool_expr", "null_test", "boolean_test"})
INFIX_CALLS = frozenset({"timezone", "is_normalized", "overlaps"})
"""Functions that the grammar makes of words between operands: AT TIME ZONE, .."""


@lru_cache(maxsize=16_384)
def is_operation(text: str) -> bool:
    """True for an expression that has to stand in brackets where only a value may stand, as behind DEFAULT."""
    node = parsed(text)
    call = node.func_call
    is_infix = call.funcformat == pb.COERCE_SQL_SYNTAX and call.funcname[-1].string.sval in INFIX_CALLS
    return node.WhichOneof("node") in OPERATIONS or is_infix


def parsed(text: str, offset: int = 0) -> Node:
    """The parse tree of an expression that stands by itself. Raises 42601 with its place."""
    try:
        statements = grammar.parse(BEFORE + text).stmts
    except postgast.PgQueryError as error:
        characters = max((error.cursorpos or 1) - 1 - len(BEFORE), 0)
        place = offset + len(text[:characters].encode())
        raise errors.SqlError(errors.SYNTAX_ERROR, error.message, place) from error
    except errors.SqlError as error:
        raise errors.SqlError(error.sqlstate, error.message, offset, hint=error.hint) from error
    select = statements[0].stmt.select_stmt
    target = select.target_list[0].res_target if len(select.target_list) == 1 else None
    fields = {field.name for field, _ in select.ListFields()} - {"target_list", "limit_option", "op"}
    if len(statements) != 1 or target is None or target.name or target.indirection or fields:
        raise errors.SqlError(errors.SYNTAX_ERROR, f"not one expression: {text}", offset)
    return target.val


_NOTHING = Context()


def _known(descriptor: Descriptor, text: str) -> Expr | None:
    known = descriptor.fact(_expressions)
    if text not in known:
        known[text] = _compiled(text, tuple((c, descriptor.column(c).type) for c in sorted(columns_of(text))))
    return known[text]


def _expressions(descriptor: Descriptor) -> dict[str, Expr | None]:
    """Those that were asked for in this version, compiled; None for one that is not local."""
    return {}


@lru_cache(COMPILED_MAX)
def _compiled(text: str, types: Types) -> Expr | None:
    columns = {c: ColumnRef(f"c{c}", OF_SQL_TYPE[of], f"{MARK}{c}", column_id=c) for c, of in types}
    try:
        expr = typed(parsed(text), _Ids(columns), "expression")
    except errors.SqlError:
        return None  # PostgreSQL has taken it: a function or a type that is unknown here
    return expr if is_simple(expr) else None


class _Ids(Scope):
    def __init__(self, columns: Mapping[ColumnId, ColumnRef]) -> None:
        super().__init__()
        self.columns = columns

    def find(self, name: str, offset: int) -> Expr | None:
        return self.columns.get(_id_named(name))


def _id_named(name: str) -> ColumnId:
    assert name.startswith(MARK), f"{name!r} is no column id: the expression was never made canonical"
    return ColumnId(int(name.removeprefix(MARK)))


def _public_scope(descriptor: Descriptor) -> Scope:
    return Scope(None, [Relation(0, descriptor.name, scan=Scan(0, descriptor))])


def _id_of(scope: Scope, names: list[str]) -> int:
    found = scope.resolve(names, -1)
    assert isinstance(found, ColumnRef), names
    return found.column_id


def typed(node: Node, scope: Scope, what: str, *, is_known: bool = True) -> Expr:
    """The expression of a node, for the use that `what` names; `is_known`: with a type. Raises `SqlError`."""
    refuse_queries(node, what)
    analyzer = Analyzer(Parameters(count_max=0))
    try:
        expr = analyzer.expr(node, scope)
        return analyzer.known(expr) if is_known else expr
    except errors.SqlError as error:
        if error.sqlstate == errors.UNDEFINED_PARAMETER:
            raise errors.SqlError(error.sqlstate, f"a parameter cannot stand in {what}", error.offset) from None
        raise


def refuse_queries(node: Node, what: str) -> None:
    for query in _messages(node, pb.SubLink):
        raise errors.unsupported(f"a subquery in {what}", query.location, hint="it may read the row's own columns only")


def _refuse_all(expr: Expr, what: str) -> None:
    """Refuses, by name, what is no matter of one row or does not keep its value."""
    calls = [part for part in walk(expr) if isinstance(part, Call)]
    for call in calls:
        if call.name in CHANGING:
            message = f"{CHANGING[call.name]} cannot stand in {what}: the same row must give the same value at any time"
            raise errors.SqlError(INVALID_DEFINITION, message, call.offset)
    for call in calls:
        if call.compute is None:
            types = ", ".join(str(arg.type) for arg in call.args)
            raise errors.unsupported(f"{call.name}({types}) in {what}", call.offset, hint=COMPUTED_HERE)


def _refuse_type(expr: Expr, target: Type, what: str) -> None:
    try:
        Analyzer().coerce(expr, target, assignment=target is not OF_SQL_TYPE[SqlType.BOOLEAN])
    except errors.SqlError as error:
        message = f"{what} must be of type {target}, not of type {expr.type}"
        raise errors.SqlError(errors.DATATYPE_MISMATCH, message, error.offset, hint="write a cast") from None


def _respelled(node: Node, name_of: Callable[[list[str]], str]) -> str:
    """The expression's text with every column called by `name_of` its names. Raises 0A000 when text can't say it."""
    copy = _copy(node)
    for ref in list(_messages(copy, pb.ColumnRef)):
        name = name_of([part.string.sval for part in ref.fields])
        del ref.fields[1:]
        ref.fields[0].string.sval = name
    text = _text_of(copy)
    if _without_places(parsed(text)) != _without_places(copy):
        raise errors.unsupported(f"this spelling (it would be kept as {text})", hint="write it in a simpler way")
    return text


def _text_of(node: Node) -> str:
    statement = grammar.parse(f"{BEFORE}NULL")
    statement.stmts[0].stmt.select_stmt.target_list[0].res_target.val.CopyFrom(node)
    return str(postgast.deparse(statement)).removeprefix(BEFORE)


def _copy(node: Node) -> Node:
    copy = parsed("NULL")
    copy.CopyFrom(node)
    return copy


def _without_places(node: Node) -> Node:
    copy = _copy(node)
    for message in _all_messages(copy):
        for name in ("location", "rexpr_list_start", "rexpr_list_end", "list_start", "list_end"):
            if name in message.DESCRIPTOR.fields_by_name:
                message.ClearField(name)
    return copy


def _messages(node: Node, of: type[Any]) -> Iterator[Node]:
    return (message for message in _all_messages(node) if isinstance(message, of))


def _all_messages(node: Node) -> Iterator[Node]:
    yield node
    for field, value in node.ListFields():
        if field.message_type is not None:
            for inner in value if field.is_repeated else (value,):
                yield from _all_messages(inner)
