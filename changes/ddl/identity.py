"""Reads identity columns, and the sequences that dumps write for serial columns; each counts by 1, from 1 or START
WITH."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from catalog.values.types import INT_LIMITS, SqlType
from changes.ddl import actions
from changes.ddl.errors import DdlError, unsupported
from changes.ddl.source import Source

Node = Any
USUAL: dict[str, tuple[Any, ...]] = {
    "increment": (1,), "start": (1,), "minvalue": (None, 1), "maxvalue": (None,), "cycle": (False,)
}  # fmt: skip
"""Options of a sequence that numbers have anyway; None: no value, as NO MINVALUE has none."""
NAMES = frozenset({"sequence_name", "owned_by", "as", "logged", "cache"})
"""Options without effect on which numbers come: each is taken at the store, so CACHE keeps none for later."""


@dataclass(frozen=True, slots=True)
class Numbers:
    """Options of an identity column: first number, and maximum and sequence name where given."""

    start: int = 1
    maximum: int | None = None
    name: str | None = None


def read_identity(command: Node, name: actions.Name, source: Source, after: int) -> actions.SetIdentity:
    constraint = getattr(command, "def").constraint
    numbers = read_numbers(constraint, source.where(after))
    is_always = constraint.generated_when == "a"
    return actions.SetIdentity(
        name, is_always=is_always, start=numbers.start, maximum=numbers.maximum, sequence_name=numbers.name
    )


def read_numbers(constraint: Node, position: int | None) -> Numbers:
    """Reads the options; refuses increments, cycles and other unsupported ones by name."""
    start, maximum, name = 1, None, None
    for item in constraint.options:
        option, value = item.def_elem.defname, _value(item.def_elem)
        if option == "start" and isinstance(value, int):
            start = value
        elif option == "maxvalue" and isinstance(value, int):
            maximum = value
        elif option == "sequence_name":
            name = item.def_elem.arg.list.items[-1].string.sval
        elif option not in NAMES and value not in USUAL.get(option, ()):
            words = f"{option.upper()}{'' if value is None or option == 'cycle' else f' {value}'}"
            hint = "Numbers count by 1, up to the greatest of their type: leave the option away. START WITH is taken."
            raise unsupported(f"{words}, a sequence option of an identity column,", position=position, hint=hint)
    return Numbers(start, maximum, name)


def check_numbers(numbers: Numbers, of: SqlType, position: int | None) -> None:
    """Raises `DdlError` when numbers do not fit the type."""
    greatest = INT_LIMITS[of] - 1
    if numbers.maximum not in (None, greatest):
        what = f"MAXVALUE {numbers.maximum}, a sequence option of an identity column,"
        raise unsupported(what, position=position, hint="A CHECK on the column says up to where numbers may go.")
    limit = ("less than MINVALUE", 1) if numbers.start < 1 else ("greater than MAXVALUE", greatest)
    if not 1 <= numbers.start <= greatest:
        message = f"START value ({numbers.start}) cannot be {limit[0]} ({limit[1]})"
        raise DdlError("22023", message, position=position)


def are_usual(options: Any) -> bool:
    """True when the options of a sequence are those of an identity column."""
    found = [item.def_elem for item in options]
    return all(one.defname in NAMES or _value(one) in USUAL.get(one.defname, ()) for one in found)


def _value(element: Node) -> Any:
    if not element.HasField("arg"):
        return None
    kind = element.arg.WhichOneof("node")
    value = getattr(element.arg, kind)
    match kind:
        case "integer":
            return int(value.ival)
        case "float":
            return int(value.fval) if value.fval.lstrip("-").isdigit() else value.fval
        case "boolean":
            return bool(value.boolval)
    return kind


def sequence_of(default: Node) -> str | None:
    """The sequence in a default nextval('..'); None for other defaults."""
    if default.WhichOneof("node") != "func_call":
        return None
    call = default.func_call
    names = [item.string.sval for item in call.funcname]
    if names not in (["nextval"], ["pg_catalog", "nextval"]) or len(call.args) != 1:
        return None
    argument = call.args[0]
    if argument.WhichOneof("node") == "type_cast":
        argument = argument.type_cast.arg
    return str(argument.a_const.sval.sval) if argument.WhichOneof("node") == "a_const" else None


def plain_name(sequence: str) -> str:
    return sequence.replace('"', "").removeprefix("public.")
