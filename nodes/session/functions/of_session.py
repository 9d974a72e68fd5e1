"""Relations about the session that asks: its cursors, what it has prepared, its settings, the sessions of its node."""

from collections.abc import Iterable
from typing import Any

from expressions.sqltypes import parameter_type
from nodes.catalog_views.fixed import DATABASE, DATABASE_NAME, OWNER, OWNER_NAME, USER
from nodes.catalog_views.relations import RELATIONS
from nodes.clients.protocols import Client
from nodes.settings.variables import Variables

STATES = {b"I": "idle", b"T": "idle in transaction", b"E": "idle in transaction (aborted)"}
Row = dict[str, Any]


def rows_of(relation: str, variables: Variables, client: Client) -> list[Row] | None:
    """The rows of such a relation; None for another one. The unnamed statement of the protocol is not prepared by name,
    as in PostgreSQL."""
    nulls: Row = dict.fromkeys(RELATIONS.get(relation, ()))
    match relation:
        case "pg_cursors":
            return [
                {
                    "name": cursor.name,
                    "statement": cursor.sql,
                    "is_holdable": cursor.is_holdable,
                    "is_binary": cursor.is_binary,
                    "is_scrollable": cursor.is_scroll,
                    "creation_time": cursor.made_at,
                }
                for cursor in client.statements.cursors.values()
            ]
        case "pg_prepared_statements":
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
                for name, one in client.statements.prepared.items()
                if name
            ]
        case "pg_settings":
            return list(variables.rows())
        case "pg_stat_activity":
            known = {client.user: USER, OWNER_NAME: OWNER}
            return [nulls | _activity(one, client) | {"usesysid": known.get(one.user)} for one in client.connections()]
        case "pg_stat_ssl":
            return [nulls | {"pid": one.pid, "ssl": one.is_encrypted} for one in client.connections()]
        case "pg_stat_gssapi":
            never = {"gss_authenticated": False, "encrypted": False, "credentials_delegated": False}
            return [nulls | {"pid": one.pid} | never for one in client.connections()]
    return None


def _types(oids: Iterable[int]) -> list[str]:
    return [str(parameter_type(oid)) for oid in oids]


def _activity(one: Client, asking: Client) -> Row:
    """A session of this node. What it says is its own: `query` stays empty."""
    row: Row = {"pid": one.pid, "usename": one.user, "datid": DATABASE, "datname": DATABASE_NAME}
    row |= {"application_name": one.application_name, "client_addr": one.address, "backend_start": one.began_at}
    row |= {"state": "active" if one.is_executing or one is asking else STATES[one.status()]}
    return row | {"backend_type": "client backend"}
