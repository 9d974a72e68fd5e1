"""Calls: of functions, aggregates and window functions, and of what looks like none of them, such as current_user."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from postgast import pg_query_pb2 as pb

from catalog.values.times import SECOND_DIGITS_MAX
from expressions.analysis import documents
from expressions.analysis.aggregates import Aggregates, grouping
from expressions.analysis.comparisons import Comparisons
from expressions.analysis.scopes import Scope
from expressions.analysis.tree import function_name, location_of
from expressions.errors import DATATYPE_MISMATCH, TOO_MANY_ARGUMENTS, SqlError, unsupported
from expressions.functions import allowed
from expressions.sqltypes import (
    BOOL,
    DATE,
    INT4,
    INTERVAL,
    JSON,
    NAME,
    REGTYPE,
    TEXT,
    TIME,
    TIMESTAMP,
    TIMESTAMPTZ,
    UNKNOWN,
    Type,
)
from expressions.typed import Call, ColumnRef, Context, Expr, Literal, is_constant, lazy_call
from expressions.values import arithmetic

Node = Any
ARGUMENTS_MAX = 100

SESSION_VALUES = {
    "version": "version", "current_database": "database", "current_catalog": "database", "current_schema": "schema",
    "current_user": "user", "session_user": "user", "current_role": "user", "user": "user",
}  # fmt: skip
OF_CONSTANTS = ("set_config", "like_escape")


_OF_PATHS = "use ->, #> and jsonb_array_elements, or @> for a question"
_OF_NUMBERED = "rows bear no number of their transaction: an identity column, or a time, tells what came later"
ZONES = "SET timezone takes every name of the time zone database, and hours east of UTC"
_OF_RECORDS = "use ->> and casts for each column"
REFUSED = {
    **dict.fromkeys(("jsonb_path_query", "jsonb_path_query_array", "jsonb_path_query_first", "jsonb_path_exists",
        "jsonb_path_match", "jsonb_path_query_tz", "jsonb_path_exists_tz"), _OF_PATHS),
    **dict.fromkeys(("to_tsvector", "to_tsquery", "plainto_tsquery", "phraseto_tsquery", "websearch_to_tsquery",
        "ts_rank", "ts_headline"), "there is no text search: use LIKE, ILIKE or ~"),
    **dict.fromkeys(("txid_current", "txid_current_if_assigned", "txid_current_snapshot", "pg_current_xact_id",
        "pg_current_xact_id_if_assigned", "pg_current_snapshot", "pg_snapshot_xmin"), _OF_NUMBERED),
    **dict.fromkeys(("pg_timezone_names", "pg_timezone_abbrevs", "pg_timezone_abbrevs_zone",
        "pg_timezone_abbrevs_abbrevs"), ZONES),
    "setseed": "what random() gives cannot be repeated: keep numbers that are to stay the same in a table",
    **{f"{of}_{end}": _OF_RECORDS for of in ("json", "jsonb")
       for end in ("populate_record", "populate_recordset", "to_record", "to_recordset")},
}  # fmt: skip
"""Functions that a node has not, or not among values, and what to use instead."""


OF_NOW = {"current_timestamp": TIMESTAMPTZ, "localtimestamp": TIMESTAMP, "localtime": TIME}
"""What the grammar has words for, with a precision or without."""


OF_TWO_COLUMNS = frozenset({"json_each", "jsonb_each", "json_each_text", "jsonb_each_text"})
OF_ANY_TYPES = {"num_nulls": INT4, "num_nonnulls": INT4, "pg_typeof": REGTYPE, "format": TEXT, "to_char": TEXT,
    "overlaps": BOOL}  # fmt: skip
"""Functions that take values of any types, and what they give."""


class Calls(Comparisons):
    """The analysis of calls; that of their arguments is the subclass's."""

    windows: dict[str, Node]
    merge_action: ColumnRef | None = None
    """What merge_action() is, in the RETURNING of a MERGE."""
    last_set: int = -1
    """Where the last function among values stands that gives rows."""

    @abstractmethod
    def condition(self, node: Node, scope: Scope, clause: str) -> Expr:
        """A boolean expression that contains no aggregate."""

    def _sqlvalue_function(self, node: Node, scope: Scope) -> Expr:
        name = pb.SQLValueFunctionOp.Name(node.op).removeprefix("SVFOP_").lower()
        now = lazy_call("now", (), TIMESTAMPTZ, arithmetic.now, node.location)
        if name == "current_date":
            return self.cast(now, DATE, node.location)
        of = OF_NOW.get(name.removesuffix("_n"))
        if of is not None:
            digits = min(node.typmod, SECOND_DIGITS_MAX) if name.endswith("_n") else None
            return self.of_length(self.cast(now, of, node.location), digits, is_explicit=True, offset=node.location)
        if name in SESSION_VALUES:
            return session_value(SESSION_VALUES[name], node.location, TEXT if name == "version" else NAME)
        raise unsupported(name.removesuffix("_n"), node.location)

    def _func_call(self, node: Node, scope: Scope) -> Expr:
        name = function_name(node)
        if node.func_variadic:
            raise unsupported("VARIADIC", node.location)
        if (
            name in allowed.AGGREGATES
            or name in documents.AGGREGATES
            or name in allowed.WINDOW_ONLY
            or name in ("percentile_cont", "percentile_disc", "mode")
        ):
            return Aggregates(self).call(name, node, scope)
        if node.agg_star or node.agg_distinct or node.HasField("over") or len(node.agg_order):
            raise SqlError("42809", f"{name} is not an aggregate function", node.location)
        if len(node.args) > ARGUMENTS_MAX:
            message = f"cannot pass more than {ARGUMENTS_MAX} arguments to a function"
            raise SqlError(TOO_MANY_ARGUMENTS, message, node.location)
        if name == "make_interval":
            return Call(name, self._fields(node, scope), INTERVAL, offset=node.location)
        if name in documents.BUILT:
            given = [self.known(self.value_or_row(arg, scope)) for arg in node.args]
            return Call(name, tuple(given), documents.BUILT[name], strict=False, offset=node.location)
        args = [self.expr(arg, scope) for arg in node.args]
        if name in SESSION_VALUES and not args:
            return session_value(SESSION_VALUES[name], node.location, TEXT if name == "version" else NAME)
        if name == "pg_backend_pid" and not args:
            return self.cast(session_value("pid", node.location), INT4, node.location)
        if name == "pg_is_in_recovery" and not args:
            return Literal(False, BOOL, node.location)
        if name in ("concat", "concat_ws", "quote_literal", "quote_nullable"):
            args = [self.output_text(a) for a in args]
        if name in OF_ANY_TYPES:
            given = [self.known(arg) for arg in args]
            return Call(name, tuple(given), OF_ANY_TYPES[name], strict=False, offset=node.location)
        if name in OF_TWO_COLUMNS:
            raise unsupported(f"function {name} among values", node.location, hint="it may stand in FROM")
        if name in REFUSED:
            raise unsupported(f"function {name}", node.location, hint=REFUSED[name])
        if name in ("date_add", "date_subtract") and len(args) == 2:
            start = self.coerce(args[0], TIMESTAMPTZ)
            return self.operator(
                "+" if name == "date_add" else "-", (start, self.coerce(args[1], INTERVAL)), node.location
            )
        if name in allowed.SETS:
            rows = self.set_of(name, args, node.location)
            self.last_set = node.location
            return Call("unnest", (rows,), rows.type, offset=node.location)
        if name == "octet_length" and args:
            args[0] = self.padded(args[0])
        if name == "timezone" and len(args) == 1 and args[0].type in (TIMESTAMP, TIMESTAMPTZ):
            return self.cast(args[0], TIMESTAMP if args[0].type is TIMESTAMPTZ else TIMESTAMPTZ, node.location)
        if name == "array_fill" and args and args[0].type is UNKNOWN:
            message = "could not determine polymorphic type because input has type unknown"
            raise SqlError(DATATYPE_MISMATCH, message, args[0].offset, hint="cast it")
        call = self.function(name, allowed.FUNCTIONS.get(name, ()), args, node.location)
        if name == "to_timestamp" and len(args) == 2:  # a local time, in the zone of the session
            return self.cast(call, TIMESTAMPTZ, node.location)
        if name in OF_CONSTANTS and not is_constant(call):
            raise unsupported(f"{name} of a column", node.location, hint="use a constant or a parameter")
        return call

    def _merge_support_func(self, node: Node, scope: Scope) -> Expr:
        if self.merge_action is None:
            message = "MERGE_ACTION() can only be used in the RETURNING list of a MERGE command"
            raise SqlError("42601", message, node.location)
        return replace(self.merge_action, offset=node.location)

    def row_of(self, node: Node, scope: Scope) -> list[tuple[str, Expr]] | None:
        """The fields of a row by their names: of ROW(..), or of a relation that stands for its rows. None of others."""
        kind = node.WhichOneof("node")
        if kind == "row_expr":
            fields: list[Expr] = []
            for arg in node.row_expr.args:
                whole = self.row_of(arg, scope) if _is_star(arg) else None
                fields += [self.value_or_row(arg, scope)] if whole is None else [field for _, field in whole]
            return [(f"f{place}", field) for place, field in enumerate(fields, 1)]
        if kind != "column_ref":
            return None
        names = [part.string.sval for part in node.column_ref.fields if part.WhichOneof("node") == "string"]
        is_star = len(names) < len(node.column_ref.fields)
        if len(names) != 1 or (not is_star and scope.find(names[0], node.column_ref.location) is not None):
            return None
        relation = scope.relation(names[0])
        return None if relation is None else [(name, relation.column(name)) for name in relation.names()]

    def value_or_row(self, node: Node, scope: Scope) -> Expr:
        """The expression of a node; a row as its document, and NULL where an outer join found none."""
        fields = self.row_of(node, scope)
        if fields is None:
            return self.expr(node, scope)
        place, values = location_of(node, node.WhichOneof("node")), [self.known(field) for _, field in fields]
        return Call("row", tuple(values), JSON, strict=False, offset=place)

    def _fields(self, node: Node, scope: Scope) -> tuple[Expr, ...]:
        """The arguments of make_interval, each with its name or without."""
        given = [arg.named_arg_expr.arg if arg.WhichOneof("node") == "named_arg_expr" else arg for arg in node.args]
        return tuple(self.known(self.expr(arg, scope)) for arg in given)

    def set_of(self, name: str, args: Sequence[Expr], offset: int) -> Call:
        """A function that gives rows. Its type is that of a row."""
        return self.function(name, allowed.SETS[name], args, offset)

    def _grouping_func(self, node: Node, scope: Scope) -> Expr:
        return grouping([self.known(self.expr(arg, scope)) for arg in node.args], node.location)


def _is_star(node: Node) -> bool:
    return bool(node.WhichOneof("node") == "column_ref" and node.column_ref.fields[-1].WhichOneof("node") == "a_star")


def session_value(name: str, offset: int, of: Type = TEXT) -> Call:
    def compute(context: Context) -> str | None:
        return context.session[name]

    return lazy_call("session", (), of, compute, offset)
