"""ALTER COLUMN .. ADD GENERATED .. AS IDENTITY, and what a dump writes for a serial column: numbers from a sequence.

A sequence is no object of its own here: it is the numbers of an identity column, and counts from 1 by 1.
"""

from __future__ import annotations

from typing import Any

from changes.ddl import actions
from changes.ddl.errors import unsupported
from changes.ddl.source import Source

Node = Any
USUAL = {"increment": 1, "start": 1, "minvalue": None, "maxvalue": None, "cache": 1, "cycle": False}
"""Options of a sequence that numbers have anyway; None: no value, as NO MINVALUE has none."""
NAMES = frozenset({"sequence_name", "owned_by", "as", "logged"})


def read_identity(command: Node, name: actions.Name, source: Source, after: int) -> actions.SetIdentity:
    """ADD GENERATED .. AS IDENTITY."""
    constraint = getattr(command, "def").constraint
    refuse_options(constraint, source.where(after))
    return actions.SetIdentity(name, is_always=constraint.generated_when == "a")


def refuse_options(constraint: Node, position: int | None) -> None:
    """Refuse numbers that do not count from 1 by 1."""
    if not are_usual(constraint.options):
        hint = "Numbers count from 1 by 1: leave the options away; SELECT setval('t_c_seq', n) says where they go on."
        raise unsupported("a sequence option of an identity column", position=position, hint=hint)


def are_usual(options: Any) -> bool:
    """True when the options of a sequence ask for nothing that the numbers of an identity column are not."""
    return all(item.def_elem.defname in NAMES or _is_usual(item.def_elem) for item in options)


def _is_usual(element: Node) -> bool:
    if element.defname not in USUAL:
        return False
    wanted = USUAL[element.defname]
    if not element.HasField("arg"):
        return wanted is None
    kind = element.arg.WhichOneof("node")
    value = getattr(element.arg, kind)
    return bool(wanted == (value.ival if kind == "integer" else value.boolval if kind == "boolean" else None))


def sequence_of(default: Node) -> str | None:
    """The sequence that a default takes its numbers from, as nextval names it; None for every other default."""
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


def own_sequence(table: str, column: str) -> str:
    """The name of the sequence that PostgreSQL makes for a serial or identity column."""
    return f"{table}_{column}_seq"


def is_own(sequence: str, table: str, column: str) -> bool:
    """True when a sequence, as nextval names it, is this column's."""
    plain = sequence.replace('"', "")
    return plain.removeprefix("public.") == own_sequence(table, column)
