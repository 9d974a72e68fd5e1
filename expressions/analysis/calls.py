"""Calls: of functions, aggregates and window functions, and of what looks like none of them, such as current_user."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from postgast import pg_query_pb2 as pb

from catalog.values.times import SECOND_DIGITS_MAX
from expressions.analysis import from_zero
from expressions.analysis.aggregates import Aggregates, grouping
from expressions.analysis.comparisons import Comparisons
from expressions.analysis.composed import counted_nulls, formatted, overlapping, shown_date, type_of
from expressions.analysis.scopes import Scope, reference
from expressions.analysis.tree import function_name, location_of
from expressions.analysis.units import check_unit, check_zone, truncated_there
from expressions.documents import building as documents
from expressions.errors import DATATYPE_MISMATCH, TOO_MANY_ARGUMENTS, UNDEFINED_FUNCTION, SqlError, unsupported
from expressions.functions import allowed
from expressions.sqltypes import (
    BOOL,
    DATE,
    INT4,
    INTERVAL,
    JSON,
    NAME,
    NUMERIC,
    TEXT,
    TEXTUAL,
    TIME,
    TIMESTAMP,
    TIMESTAMPTZ,
    UNKNOWN,
    Type,
)
from expressions.typed import Call, ColumnRef, Context, Expr, Literal, is_constant, lazy_call
from expressions.values import arithmetic, privileges

Node = Any
ARGUMENTS_MAX = 100

SESSION_VALUES = {
    "version": "version", "current_database": "database", "current_catalog": "database", "current_schema": "schema",
    "current_user": "user", "session_user": "user", "current_role": "user", "user": "user",
}  # fmt: skip
OF_TIMES = ("extract", "date_part", "date_trunc", "timezone")
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


def is_numbered(args: Sequence[Expr]) -> bool:
    """True unless these are texts to PostgreSQL: one of them is, or all are constants without a type."""
    if any(arg.type in TEXTUAL for arg in args):
        return False
    return not all(isinstance(arg, Literal) and arg.type is UNKNOWN for arg in args)


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
        now = lazy_call("now", "", (), TIMESTAMPTZ, arithmetic.now, node.location)
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
        if name == "make_interval" and any(arg.WhichOneof("node") == "named_arg_expr" for arg in node.args):
            return self._make_interval(node, scope)
        if name in documents.BUILT:
            build, of = documents.BUILT[name]
            return build(self, [self.value_or_row(arg, scope) for arg in node.args], of, node.location)
        args = [self.expr(arg, scope) for arg in node.args]
        if name in SESSION_VALUES and not args:
            return session_value(SESSION_VALUES[name], node.location, TEXT if name == "version" else NAME)
        if name == "pg_backend_pid" and not args:
            return self.cast(session_value("pid", node.location), INT4, node.location)
        if name == "pg_is_in_recovery" and not args:
            return Literal(False, BOOL, node.location)
        if name in privileges.NAMES:
            args += self._of_who_asks(node.location)
        if name == "pg_has_role" and len(args) == 2:
            args += self._of_who_asks(node.location)[:1]
        if name in ("concat", "concat_ws", "quote_literal", "quote_nullable"):
            args = [self.output_text(a) for a in args]
        if name == "pg_typeof" and len(args) == 1:
            return type_of(self, args[0], node.location)
        if name == "to_char" and len(args) == 2 and args[0].type in (DATE, TIMESTAMP, TIMESTAMPTZ):
            return shown_date(self, args[0], args[1], node.location)
        if name in ("num_nulls", "num_nonnulls") and args:
            return counted_nulls(self, args, node.location, of_nulls=name == "num_nulls")
        if name == "overlaps" and len(args) == 4:
            return overlapping(self, args, node.location)
        if name in REFUSED or name in allowed.PAIRS:
            hint = REFUSED.get(name, "it may stand in FROM")
            where = " among values" if name in allowed.PAIRS else ""
            raise unsupported(f"function {name}{where}", node.location, hint=hint)
        if name == "format" and args:
            return formatted(self, args, node.location)
        if name == "generate_series" and args and args[0].type in (DATE, TIMESTAMP, TIMESTAMPTZ, NUMERIC):
            hint = "it may stand in FROM: SELECT g FROM generate_series(..) AS g"
            raise unsupported(f"generate_series of {args[0].type} among values", node.location, hint=hint)
        if name in ("date_add", "date_subtract") and len(args) == 2:
            start = self.coerce(args[0], TIMESTAMPTZ)
            return self.operator(
                "+" if name == "date_add" else "-", (start, self.coerce(args[1], INTERVAL)), node.location
            )
        if name == "make_timestamptz" and len(args) in (6, 7):
            local = self.function("make_timestamp", allowed.FUNCTIONS["make_timestamp"], args[:6], node.location)
            if len(args) == 6:
                return self.cast(local, TIMESTAMPTZ, node.location)
            check_zone(args[6])
            return self.function("timezone", allowed.FUNCTIONS["timezone"], (args[6], local), node.location)
        if name in allowed.SETS:
            rows = self.set_of(name, args, node.location)
            self.last_set = node.location
            return Call("unnest", "unnest({0})", (rows,), rows.type, offset=node.location)
        if name == "substring" and len(args) == 3 and not is_numbered(args[1:]):
            raise unsupported("substring(.. SIMILAR .. ESCAPE ..)", node.location, hint="use substring(.. FROM ..)")
        if name == "octet_length" and args:
            args[0] = self.padded(args[0])
        if name == "array_to_string" and args:
            self.refuse_styled_array(args[0].type, node.location)
        if name in OF_TIMES:
            if name == "date_trunc" and len(args) == 3:
                return truncated_there(self, args, node.location)
            if name == "timezone" and len(args) == 1 and args[0].type in (TIMESTAMP, TIMESTAMPTZ):
                return self.cast(args[0], TIMESTAMP if args[0].type is TIMESTAMPTZ else TIMESTAMPTZ, node.location)
            if name == "timezone" and args:
                check_zone(args[0])
            elif len(args) == 2:
                check_unit(name, args[0], args[1].type)
        if name == "array_fill" and args and args[0].type is UNKNOWN:
            message = "could not determine polymorphic type because input has type unknown"
            raise SqlError(DATATYPE_MISMATCH, message, args[0].offset, hint="cast it")
        args = from_zero.with_bounds(name, args)
        call = from_zero.places(name, args, self.function(name, allowed.FUNCTIONS.get(name, ()), args, node.location))
        if name == "to_timestamp" and len(args) == 2:  # a local time, in the zone of the session
            return self.cast(call, TIMESTAMPTZ, node.location)
        if name == "current_setting" and not is_constant(call):
            return self.function(name, allowed.SETTING_OF_A_COLUMN, args, node.location)
        if name in OF_CONSTANTS and not is_constant(call):
            raise unsupported(f"{name} of a column", node.location, hint="use a constant or a parameter")
        return call

    def _of_who_asks(self, offset: int) -> list[Expr]:
        """The session's user, and whether they may write."""
        return [session_value("user", offset), self.cast(session_value(privileges.MAY_WRITE, offset), BOOL, offset)]

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
        place = location_of(node, node.WhichOneof("node"))
        whole = documents.of_row(self, fields, place)
        test = self.is_there(node, scope)
        return whole if test is None else self.case([(test, whole)], Literal(None, JSON), JSON, place)

    def is_there(self, node: Node, scope: Scope) -> Expr | None:
        """The test for a row that an outer join has found: its key is not NULL. None where every row is there."""
        relation = (
            scope.relation(node.column_ref.fields[0].string.sval) if node.WhichOneof("node") == "column_ref" else None
        )
        if relation is None or not relation.is_nullable:
            return None
        offset, scan = node.column_ref.location, relation.scan
        if scan is None:
            hint = "name its columns, as in json_build_object('id', t.id)"
            raise unsupported("a whole row of a query that an outer join may not find", offset, hint=hint)
        column = scan.descriptor.column(scan.descriptor.primary_key[0])
        scan.used.add(column.id)
        key = reference(scan, column)
        return lazy_call("IS NOT NULL", "({0} IS NOT NULL)", (key,), BOOL, arithmetic.is_not_null, offset)

    def _make_interval(self, node: Node, scope: Scope) -> Expr:
        """make_interval(days => 10): what is not named is nothing."""
        fields = ("years", "months", "weeks", "days", "hours", "mins", "secs")
        given: dict[str, Expr] = {}
        for place, arg in enumerate(node.args):
            is_named = arg.WhichOneof("node") == "named_arg_expr"
            field = arg.named_arg_expr.name if is_named else fields[min(place, len(fields) - 1)]
            if field in given or field not in fields:
                message = f"function make_interval({field} => ..) does not exist"
                raise SqlError(UNDEFINED_FUNCTION, message, node.location)
            given[field] = self.expr(arg.named_arg_expr.arg if is_named else arg, scope)
        args = [given.get(field, Literal(0, INT4)) for field in fields]
        return self.function("make_interval", allowed.FUNCTIONS["make_interval"], args, node.location)

    def set_of(self, name: str, args: Sequence[Expr], offset: int) -> Call:
        """A function that gives rows, as the engine's list of them. Its type is that of a row."""
        return self.function(name, allowed.SETS[name], from_zero.with_bounds(name, args), offset)

    def pair_of(self, name: str, args: Sequence[Expr], offset: int) -> list[Call]:
        """A function that gives rows of two columns, as the engine's lists of both."""
        overloads = allowed.PAIRS[name]
        return [self.function(name, overloads[place::2], args, offset) for place in range(2)]

    def _grouping_func(self, node: Node, scope: Scope) -> Expr:
        return grouping([self.known(self.expr(arg, scope)) for arg in node.args], node.location)


def _is_star(node: Node) -> bool:
    return bool(node.WhichOneof("node") == "column_ref" and node.column_ref.fields[-1].WhichOneof("node") == "a_star")


def session_value(name: str, offset: int, of: Type = TEXT) -> Call:
    def compute(context: Context) -> str | None:
        return context.session[name]

    return lazy_call("session", "", (), of, compute, offset)
