"""Values of version(), current_user, current_setting() and the like in a session, and its rows of the catalog."""

from collections.abc import Iterable
from typing import Any

from expressions.errors import UNDEFINED_OBJECT, SqlError
from expressions.sqltypes import parameter_type
from nodes.catalog_views import fixed
from nodes.catalog_views.relations import RELATIONS
from nodes.clients.protocols import Client
from nodes.people.rights import WRITE_RIGHT, Person
from nodes.settings.known import SERVER_VERSION
from nodes.settings.variables import Variables

DATABASE = fixed.DATABASE_NAME
STATES = {b"I": "idle", b"T": "idle in transaction", b"E": "idle in transaction (aborted)"}
Row = dict[str, Any]


class SessionValues:
    def __init__(self, variables: Variables, user: str, client: Client, person: Person) -> None:
        self._variables, self._client, self._person = variables, client, person
        self._fixed = {
            "version": f"PostgreSQL {SERVER_VERSION}",
            "database": DATABASE,
            "schema": "public",
            "user": user,
            "pid": str(client.pid),
        }

    def __getitem__(self, name: str) -> str:
        if name == WRITE_RIGHT:
            return "t" if self._person.may_write else "f"
        return self._fixed[name]

    def current_setting(self, name: str, *, missing_ok: bool) -> str | None:
        try:
            return self._variables.get(name)
        except SqlError as error:
            if missing_ok and error.sqlstate == UNDEFINED_OBJECT:
                return None
            raise

    def set_config(self, name: str, value: str | None, *, is_local: bool) -> str:
        if value is None:
            self._variables.reset(name, is_local=is_local)
        else:
            self._variables.set(name, value, is_local=is_local)
        return self._variables.get(name)

    def rows_of(self, relation: str) -> list[Row] | None:
        """The rows of a relation about the session that asks: its cursors, what it has prepared, its settings, the
        sessions of its node; None for another one. The unnamed statement of the protocol is not prepared by name, as in
        PostgreSQL."""
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
                    for cursor in self._client.statements.cursors.values()
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
                    for name, one in self._client.statements.prepared.items()
                    if name
                ]
            case "pg_settings":
                return list(self._variables.rows())
            case "pg_stat_activity":
                known = {self._client.user: fixed.USER, fixed.OWNER_NAME: fixed.OWNER}
                return [  # what a session says is its own: `query` stays empty
                    nulls
                    | {
                        "pid": one.pid,
                        "usename": one.user,
                        "usesysid": known.get(one.user),
                        "datid": fixed.DATABASE,
                        "datname": DATABASE,
                        "application_name": one.application_name,
                        "client_addr": one.address,
                        "backend_start": one.began_at,
                        "state": "active" if one.is_executing or one is self._client else STATES[one.status()],
                        "backend_type": "client backend",
                    }
                    for one in self._client.connections()
                ]
            case "pg_stat_ssl":
                return [nulls | {"pid": one.pid, "ssl": one.is_encrypted} for one in self._client.connections()]
            case "pg_stat_gssapi":
                never = {"gss_authenticated": False, "encrypted": False, "credentials_delegated": False}
                return [nulls | {"pid": one.pid} | never for one in self._client.connections()]
        return None


def _types(oids: Iterable[int]) -> list[str]:
    return [str(parameter_type(oid)) for oid in oids]
