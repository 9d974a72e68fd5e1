"""Relations about the session that asks: its cursors, what it has prepared, its settings."""

from collections.abc import Iterable
from typing import Any

from expressions.sqltypes import parameter_type
from nodes.catalog_views.fixed import DATABASE, DATABASE_NAME, OWNER, OWNER_NAME, USER
from nodes.catalog_views.relations import RELATIONS
from nodes.clients.connection import Client
from nodes.clients.cursors import Cursor
from nodes.clients.portals import Prepared
from nodes.settings.variables import SettingRow

CURSORS, PREPARED, SETTINGS = "pg_cursors", "pg_prepared_statements", "pg_settings"
ACTIVITY, ENCRYPTED, KERBEROS = "pg_stat_activity", "pg_stat_ssl", "pg_stat_gssapi"
STATES = {b"I": "idle", b"T": "idle in transaction", b"E": "idle in transaction (aborted)"}


def cursor_rows(cursors: Iterable[Cursor]) -> list[dict[str, Any]]:
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


def prepared_rows(prepared: Iterable[tuple[str, Prepared]]) -> list[dict[str, Any]]:
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
    return [str(parameter_type(oid)) for oid in oids]


def setting_rows(settings: Iterable[SettingRow]) -> list[dict[str, Any]]:
    """Settings with what a node knows of them: of a session's own names nothing."""
    rows = []
    for one in settings:
        row: dict[str, Any] = dict.fromkeys(("category", "extra_desc", "unit", "min_val", "max_val", "enumvals"))
        row |= {"name": one.name, "setting": one.value, "short_desc": "", "context": "user", "vartype": "string"}
        row |= {"source": one.source, "boot_val": None, "reset_val": one.initial, "sourcefile": None}
        row |= {"sourceline": None, "pending_restart": False}
        known = one.known
        if known is not None:
            row |= {"context": known.context, "vartype": known.kind, "unit": known.unit or None}
            row |= {"short_desc": known.description, "boot_val": known.default, "enumvals": list(known.values) or None}
            row |= {"min_val": known.low or None, "max_val": known.high or None}
        rows.append(row)
    return rows


def activity_rows(connections: Iterable[Client], asking: int) -> list[dict[str, Any]]:
    """The sessions of this node. What they say is theirs: `query` stays empty."""
    connections = list(connections)
    known = {one.user: USER for one in connections if one.pid == asking} | {OWNER_NAME: OWNER}
    rows = []
    for one in connections:
        state = "active" if one.is_executing or one.pid == asking else STATES[one.status()]
        row = _nulls(ACTIVITY) | {"pid": one.pid, "usename": one.user, "usesysid": known.get(one.user)}
        row |= {"datid": DATABASE, "datname": DATABASE_NAME, "application_name": one.application_name}
        row |= {"client_addr": one.address, "backend_start": one.began_at, "state": state}
        rows.append(row | {"backend_type": "client backend"})
    return rows


def encrypted_rows(connections: Iterable[Client]) -> list[dict[str, Any]]:
    return [_nulls(ENCRYPTED) | {"pid": one.pid, "ssl": one.is_encrypted} for one in connections]


def kerberos_rows(connections: Iterable[Client]) -> list[dict[str, Any]]:
    never = {"gss_authenticated": False, "encrypted": False, "credentials_delegated": False}
    return [_nulls(KERBEROS) | {"pid": one.pid} | never for one in connections]


def _nulls(relation: str) -> dict[str, Any]:
    return dict.fromkeys(RELATIONS[relation])
