"""Relations about the session that asks: its cursors, what it has prepared, its settings."""

from collections.abc import Iterable
from typing import Any, Protocol

from expressions.sqltypes import parameter_type
from nodes.wire.messages import Field

CURSORS, PREPARED, SETTINGS = "pg_cursors", "pg_prepared_statements", "pg_settings"


class CursorLike(Protocol):
    """A cursor (`nodes.clients.cursors`)."""

    name: str
    sql: str
    is_scroll: bool
    is_binary: bool
    made_at: Any

    @property
    def is_holdable(self) -> bool: ...


class SettingLike(Protocol):
    """A setting that a node knows (`nodes.settings.known`)."""

    @property
    def context(self) -> str: ...

    @property
    def kind(self) -> str: ...

    @property
    def unit(self) -> str: ...

    @property
    def default(self) -> str: ...

    @property
    def low(self) -> str: ...

    @property
    def high(self) -> str: ...

    @property
    def values(self) -> tuple[str, ...]: ...


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


def setting_rows(settings: Iterable[tuple[str, str, str, SettingLike | None]]) -> list[dict[str, Any]]:
    """Settings by name, value, description, and what a node knows of them: nothing of a session's own names."""
    rows = []
    for name, value, description, known in settings:
        row: dict[str, Any] = dict.fromkeys(("category", "extra_desc", "unit", "min_val", "max_val", "enumvals"))
        row |= {"name": name, "setting": value, "short_desc": description, "context": "user", "vartype": "string"}
        row |= {"source": "session", "boot_val": value, "reset_val": value, "sourcefile": None, "sourceline": None}
        row["pending_restart"] = False
        if known is not None:
            row |= {"context": known.context, "vartype": known.kind, "unit": known.unit or None, "source": "default"}
            row |= {"min_val": known.low or None, "max_val": known.high or None, "boot_val": known.default}
            row |= {"enumvals": list(known.values) or None, "reset_val": known.default}
        rows.append(row)
    return rows
