"""Reads what nodes of PostgreSQL's parse tree say by themselves: numbers, names, types and lengths."""

from collections.abc import Sequence
from typing import Any

from catalog.values.numerics import modifier_named
from catalog.values.times import SECOND_DIGITS_MAX
from catalog.values.types import LENGTH_MAX, MOMENTS, precision_named
from expressions.errors import PROGRAM_LIMIT, SqlError, unsupported
from expressions.sqltypes import INT4, INT8, NUMERIC, Type, array_type_named, type_named
from expressions.typed import Literal, parse_value
from expressions.values import arithmetic

Node = Any
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


def function_name(node: Node) -> str:
    parts = [part.string.sval for part in node.funcname]
    if parts[:-1] not in ([], ["pg_catalog"]):
        raise unsupported(f"a function of schema {parts[0]}", node.location)
    return str(parts[-1])


def type_of_name(node: Node) -> Type:
    name = node.names[-1].string.sval
    if name == "interval" and len(node.typmods) and not is_of_all_digits(node):
        raise unsupported("a precision or fields of intervals", node.location)
    if len(node.array_bounds):
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
    shown = "varchar" if name == "varchar" else "char"
    if len(node.typmods) > 1 or node.typmods[0].a_const.WhichOneof("val") != "ival":
        raise SqlError("22023", f"invalid length for type {shown}", node.location)
    length = int(node.typmods[0].a_const.ival.ival)
    if length < 1:
        raise SqlError("22023", f"length for type {shown} must be at least 1", node.location)
    if length > LENGTH_MAX:
        raise SqlError("22023", f"length for type {shown} cannot exceed {LENGTH_MAX}", node.location)
    return length


def location_of(node: Node, kind: str | None) -> int:
    return int(getattr(getattr(node, kind), "location", -1)) if kind else -1


def is_row(node: Node) -> bool:
    return bool(node.WhichOneof("node") == "row_expr")


def refuse_long_list(length: int, offset: int) -> None:
    if length > LIST_MAX:
        message = f"a list of {length} values is longer than {LIST_MAX}"
        raise SqlError(
            PROGRAM_LIMIT, message, offset, hint="ask in parts, or insert the values into a table and join it"
        )
