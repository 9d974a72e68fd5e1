"""Relations about the session that asks: its cursors, and what it has prepared."""

from collections.abc import Iterable
from typing import Any, Protocol

from expressions.sqltypes import parameter_type
from nodes.wire.messages import Field

CURSORS, PREPARED = "pg_cursors", "pg_prepared_statements"


class CursorLike(Protocol):
    """A cursor (`nodes.clients.cursors`)."""

    name: str
    sql: str
    is_scroll: bool
    is_binary: bool
    made_at: Any

    @property
    def is_holdable(self) -> bool: ...


class PreparedLike(Protocol):
    """A prepared statement (`nodes.clients.portals`)."""

    sql: str
    oids: tuple[int, ...]
    fields: tuple[Field, ...] | None
    is_of_sql: bool
    made_at: Any


def cursor_rows(cursors: Iterable[CursorLike]) -> list[dict[str, Any]]:
    return [
        {
            "name": cursor.name,
            "statement": cursor.sql,
            "is_holdable": cursor.is_holdable,
            "is_binary": cursor.is_binary,
            "is_scrollable": cursor.is_scroll,
            "creation_time": cursor.made_at,
        }
        for cursor in cursors
    ]


def prepared_rows(prepared: Iterable[tuple[str, PreparedLike]]) -> list[dict[str, Any]]:
    """The statements by name; the unnamed one of the protocol is none of them, as in PostgreSQL."""
    return [
        {
            "name": name,
            "statement": one.sql,
            "prepare_time": one.made_at,
            "parameter_types": _types(one.oids),
            "result_types": None if one.fields is None else _types(field.oid for field in one.fields),
            "from_sql": one.is_of_sql,
            "generic_plans": 0,
            "custom_plans": 0,
        }
        for name, one in prepared
        if name
    ]


def _types(oids: Iterable[int]) -> list[str]:
    return [str(parameter_type(oid, number)) for number, oid in enumerate(oids, start=1)]
