"""Reads WITH (..) and SET (..): how rows are spread and nodes are coordinated (docs/reference/sql.md)."""

from __future__ import annotations

import re
import string
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from catalog.elements import Coordination
from changes.ddl.actions import Name, Number
from changes.ddl.errors import DUPLICATE_COLUMN, INVALID_PARAMETER, DdlError, check_key_width
from changes.ddl.source import Source
from storage.buckets import STORAGES_MAX

Node = Any

OPTIONS = ("sharding_key", "sharding_func", "storages", "coordination")
NAME_BYTES_MAX = 63
SHOWN_MAX = 100
"""How much of a text a message repeats."""
_FOLDED = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)
_NAME = re.compile(r'\s*(?:"((?:[^"]|"")+)"|([^\W\d][\w$]*))\s*(,|$)')


OF_HEAPS = ("fillfactor", "parallel_workers", "autovacuum_enabled", "toast_tuple_target", "vacuum_truncate")
"""Options of PostgreSQL's tables that say how they are kept on disk: taken, with a notice."""


@dataclass(frozen=True, slots=True)
class Options:
    """Options of a statement; None: not given. Positions are those of the options' names."""

    key: tuple[Name, ...] | None = None
    function: Name | None = None
    coordination: Name | None = None
    storages: Number | None = None


def read_options(options: Iterable[Node], source: Source) -> Options:
    given: dict[str, Name] = {}
    key: tuple[Name, ...] | None = None
    storages: Number | None = None
    for item in options:
        option = item.def_elem
        position = source.where(option.location)
        name = f"{option.defnamespace}.{option.defname}" if option.defnamespace else option.defname
        if name in OF_HEAPS:
            source.notices.append(f"{name} changes nothing: a table here is not kept as PostgreSQL keeps one")
            continue
        if name not in OPTIONS:
            hint = f"There are: {', '.join(OPTIONS)}."
            raise DdlError(INVALID_PARAMETER, f'unrecognized parameter "{name}"', position=position, hint=hint)
        if name in given:
            raise DdlError(INVALID_PARAMETER, f'parameter "{name}" specified more than once', position=position)
        if name == "storages":
            storages = _storages(option, position)
            given[name] = Name(name, position)
            continue
        given[name] = Name(_text(option, name, position), position)
        if name == "sharding_key":
            key = _names(given[name]) if option.arg.WhichOneof("node") == "string" else (given[name],)
    coordination = given.get("coordination")
    if coordination is not None:
        _check_coordination(coordination)
    return Options(key, given.get("sharding_func"), coordination, storages)


def _storages(option: Node, position: int | None) -> Number:
    kind = option.arg.WhichOneof("node")
    text = str(option.arg.integer.ival) if kind == "integer" else option.arg.string.sval if kind == "string" else ""
    if not re.fullmatch(r"[0-9]{1,4}", text) or not 1 <= int(text) <= STORAGES_MAX:
        message = 'invalid value for parameter "storages"'
        hint = f"Write a whole number from 1 to {STORAGES_MAX}."
        raise DdlError(INVALID_PARAMETER, message, position=position, hint=hint)
    return Number(int(text), position)


def _text(option: Node, name: str, position: int | None) -> str:
    """A string, or one identifier, which the grammar takes for a type."""
    kind, named = option.arg.WhichOneof("node"), option.arg.type_name
    if kind == "string":
        return str(option.arg.string.sval)
    is_more = named.setof or named.pct_type or named.typmods or named.array_bounds
    words = [part.string.sval for part in named.names] if kind == "type_name" and not is_more else []
    if len(words) == 1:
        return str(words[0])
    message = f'invalid value for parameter "{name}"'
    raise DdlError(INVALID_PARAMETER, message, position=position, hint="Write it in single quotes.")


def _names(key: Name) -> tuple[Name, ...]:
    """The columns of a list, folded where not quoted; empty: the rows' own key."""
    if not key.text:
        return ()
    found: dict[str, Name] = {}
    at = 0
    while at < len(key.text) or not found:
        match = _NAME.match(key.text, at)
        if match is None or (match[3] == "," and match.end() == len(key.text)):
            message = f'invalid value for parameter "sharding_key": {shown(key.text)!r} is no list of columns'
            raise DdlError(INVALID_PARAMETER, message, position=key.position, hint="Write 'a' or 'a, b'.")
        name = identifier(match[1].replace('""', '"') if match[1] else match[2].translate(_FOLDED))
        if name in found:
            message = f'column "{name}" appears twice in the sharding key'
            raise DdlError(DUPLICATE_COLUMN, message, position=key.position)
        check_key_width(len(found) + 1, key.position, "columns in a sharding key")
        found[name] = Name(name, key.position)
        at = match.end()
    return tuple(found.values())


def identifier(name: str) -> str:
    return name.encode()[:NAME_BYTES_MAX].decode(errors="ignore")


def shown(text: str) -> str:
    return text if len(text) <= SHOWN_MAX else f"{text[:SHOWN_MAX]}.."


def _check_coordination(given: Name) -> None:
    known = [one.value for one in Coordination]
    if given.text not in known:
        message = f'invalid value for parameter "coordination": {shown(given.text)!r}'
        raise DdlError(INVALID_PARAMETER, message, position=given.position, hint=f"There are: {', '.join(known)}.")
