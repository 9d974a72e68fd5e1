"""WITH (..) of CREATE TABLE and SET (..) of ALTER TABLE: how a table's rows are spread, and its nodes coordinated.

    sharding_key = 'customer_id, region'      columns, as they would stand in a list; double-quoted where they must be
    sharding_func = 'mpcrc32'                 a function of `storage.buckets`
    coordination = 'hash'                     lease, hash or both

Any other option, and one that comes twice, is refused by name. Whether the columns are there and fit is settled with
the table (`changes.planning.sharding`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from catalog.elements import Coordination
from changes.ddl.actions import Name
from changes.ddl.errors import INVALID_PARAMETER, DdlError
from changes.ddl.source import Source

Node = Any

OPTIONS = ("sharding_key", "sharding_func", "coordination")
_NAME = re.compile(r'\s*(?:"((?:[^"]|"")+)"|([^\W\d][\w$]*))\s*(,|$)')


@dataclass(frozen=True, slots=True)
class Options:
    """Options of a statement; None: it does not say. The places are those of the options' names."""

    key: tuple[Name, ...] | None = None
    function: Name | None = None
    coordination: Name | None = None


def read_options(options: Iterable[Node], source: Source) -> Options:
    """The options in parentheses. Raises `DdlError`."""
    given: dict[str, Name] = {}
    for item in options:
        option = item.def_elem
        position = source.where(option.location)
        name = f"{option.defnamespace}.{option.defname}" if option.defnamespace else option.defname
        if name not in OPTIONS:
            hint = f"There are: {', '.join(OPTIONS)}."
            raise DdlError(INVALID_PARAMETER, f'unrecognized parameter "{name}"', position=position, hint=hint)
        if name in given:
            raise DdlError(INVALID_PARAMETER, f'parameter "{name}" specified more than once', position=position)
        given[name] = Name(_text(option, name, position), position)
    key = given.get("sharding_key")
    coordination = given.get("coordination")
    if coordination is not None:
        _check_coordination(coordination)
    return Options(None if key is None else _names(key), given.get("sharding_func"), coordination)


def _text(option: Node, name: str, position: int | None) -> str:
    """The value of an option: a string, or a word without quotes."""
    kind = option.arg.WhichOneof("node")
    if kind == "string":
        return str(option.arg.string.sval)
    words = [part.string.sval for part in option.arg.type_name.names] if kind == "type_name" else []
    if len(words) == 1:
        return str(words[0])
    message = f'invalid value for parameter "{name}"'
    raise DdlError(INVALID_PARAMETER, message, position=position, hint="Write it in single quotes.")


def _names(key: Name) -> tuple[Name, ...]:
    """The columns of a list; names without quotes are folded, as everywhere in SQL."""
    found: list[Name] = []
    at = 0
    while at < len(key.text) or not found:
        match = _NAME.match(key.text, at)
        if match is None or (match[3] == "," and match.end() == len(key.text)):
            message = f'invalid value for parameter "sharding_key": {key.text!r} is no list of columns'
            raise DdlError(INVALID_PARAMETER, message, position=key.position, hint="Write 'a' or 'a, b'.")
        found.append(Name(match[1].replace('""', '"') if match[1] else match[2].lower(), key.position))
        at = match.end()
    return tuple(found)


def _check_coordination(given: Name) -> None:
    known = [one.value for one in Coordination]
    if given.text not in known:
        message = f'invalid value for parameter "coordination": {given.text!r}'
        raise DdlError(INVALID_PARAMETER, message, position=given.position, hint=f"There are: {', '.join(known)}.")
