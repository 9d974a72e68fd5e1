"""Reads what nodes of PostgreSQL's parse tree say by themselves: numbers, names, types and lengths."""

from collections.abc import Sequence
from typing import Any

from postgast import pg_query_pb2 as pb

from catalog.values.intervals import Interval
from catalog.values.numerics import modifier_named
from catalog.values.times import SECOND_DIGITS_MAX
from catalog.values.types import LENGTH_MAX, MOMENTS, BadValue, parse_interval, precision_named
from expressions.errors import PROGRAM_LIMIT, SqlError, unsupported
from expressions.functions.standing_alone import FUNCTIONS as STANDING_ALONE
from expressions.sqltypes import INT4, INT8, NUMERIC, Type, array_type_named, type_named
from expressions.typed import Literal, parse_value
from expressions.values import arithmetic

Node = Any
CRUD = "crud"
"""The schema of requests, which stand alone (`nodes.crud`)."""
LIST_MAX = 20_000
OF_A_PRECISION = {of.value: of for of in MOMENTS}
DIGITS_MAX = 100
"""Digits of a constant that may be an integer; with more of them it is a numeric."""


def number_literal(text: str, offset: int) -> Literal:
    """A number too long for an integer, or with a point or an exponent."""
    plain = text.replace("_", "")
    digits = plain.removeprefix("-")
    has_base = digits[:2].lower() in ("0x", "0o", "0b")
    if (has_base or digits.isdigit()) and len(digits) <= DIGITS_MAX:
        value = int(plain, 0 if has_base else 10)
        for of in (INT4, INT8):
            if -arithmetic.LIMITS[of] <= value < arithmetic.LIMITS[of]:
                return Literal(value, of, offset)
    return Literal(parse_value(NUMERIC, plain, offset), NUMERIC, offset)


def operator_name(parts: Sequence[Node]) -> str:
    return str(parts[-1].string.sval)


_OF_THE_STANDARD = ["information_schema", "_pg_expandarray"]
"""A function of information_schema that drivers ask for the columns of keys."""


def function_name(node: Node) -> str:
    parts = [part.string.sval for part in node.funcname]
    if len(parts) > 1 and parts[0] == CRUD:
        hint = f"SELECT {CRUD}.{parts[-1]}(..) stands alone: it is a request of its own"
        raise unsupported(f"{CRUD}.{parts[-1]} within a query", node.location, hint)
    if len(parts) > 1 and parts[0] not in ("pg_catalog", "public") and parts != _OF_THE_STANDARD:
        raise SqlError("3F000", f'schema "{parts[0]}" does not exist', node.location)
    if parts[-1] in STANDING_ALONE:
        hint = f"SELECT {parts[-1]}(..) stands alone"
        raise unsupported(f"{parts[-1]} within a query", node.location, hint)
    return str(parts[-1])


def type_of_name(node: Node) -> Type:
    name = node.names[-1].string.sval
    if len(node.array_bounds):
        if name == "interval" and len(node.typmods) and not is_of_all_digits(node):
            raise unsupported("a precision or fields of the intervals of an array", node.location)
        return array_type_named(name, node.location)
    return type_named(name, node.location, has_modifier=len(node.typmods) > 0 and name != "interval")


FULL_RANGE = 0x7FFF


def is_of_all_digits(node: Node) -> bool:
    """True for interval(6): with microseconds, as without a precision."""
    return numbers_of(node) == [FULL_RANGE, SECOND_DIGITS_MAX] and node.names[-1].string.sval == "interval"


def numbers_of(node: Node) -> list[int]:
    """The numbers in parentheses behind the name of a type. Raises 22023 for what is no whole number."""
    if any(item.a_const.WhichOneof("val") != "ival" for item in node.typmods):
        raise SqlError("22023", "invalid type modifier", node.location)
    return [int(item.a_const.ival.ival) for item in node.typmods]


def length_of_name(node: Node) -> int | None:
    """The `length` that a column of the type would have which a cast names. Raises 22023 where it cannot be."""
    name = node.names[-1].string.sval
    of = OF_A_PRECISION.get(name)
    if (of is not None or name == "numeric") and len(node.typmods):
        try:
            return modifier_named(numbers_of(node)) if of is None else precision_named(of, numbers_of(node))[0]
        except ValueError as error:
            raise SqlError("22023", str(error), node.location) from None
    if name not in ("varchar", "bpchar") or not len(node.typmods) or (name == "bpchar" and len(node.array_bounds)):
        return None
    length = int(node.typmods[0].a_const.ival.ival)
    shown = "varchar" if name == "varchar" else "char"
    if length < 1:
        raise SqlError("22023", f"length for type {shown} must be at least 1", node.location)
    if length > LENGTH_MAX:
        raise SqlError("22023", f"length for type {shown} cannot exceed {LENGTH_MAX}", node.location)
    return length


LAST_UNITS = {1 << 12: "second", 1 << 11: "minute", 1 << 10: "hour", 1 << 3: "day", 1 << 1: "month", 1 << 2: "year"}
"""By PostgreSQL's bits of the fields of `interval day to minute` and the like, the least unit first."""


def interval_unit_of_name(node: Node) -> str | None:
    """The least unit that such a type keeps; None for another type. Raises 0A000 for a precision of its seconds."""
    if node.names[-1].string.sval != "interval" or not len(node.typmods) or len(node.array_bounds):
        return None
    if is_of_all_digits(node):
        return None
    fields = int(node.typmods[0].a_const.ival.ival)
    if len(node.typmods) > 1:
        raise unsupported("a precision of type interval", node.location)
    return next(unit for bit, unit in LAST_UNITS.items() if fields & bit)


def interval_literal(text: str, unit: str, offset: int) -> Interval:
    try:
        return parse_interval(text, unit)
    except BadValue as bad:
        raise SqlError(bad.sqlstate, str(bad), offset) from None


def location_of(node: Node, kind: str | None) -> int:
    return int(getattr(getattr(node, kind), "location", -1)) if kind else -1


def is_row(node: Node) -> bool:
    return bool(node.WhichOneof("node") == "row_expr")


def is_query(node: Node) -> bool:
    """True for a subquery that stands for a value."""
    return bool(node.WhichOneof("node") == "sub_link" and node.sub_link.sub_link_type == pb.EXPR_SUBLINK)


def refuse_long_list(length: int, offset: int) -> None:
    if length > LIST_MAX:
        message = f"a list of {length} values is longer than {LIST_MAX}"
        raise SqlError(
            PROGRAM_LIMIT, message, offset, hint="ask in parts, or insert the values into a table and join it"
        )
