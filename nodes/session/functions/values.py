"""Values of version(), current_user, current_setting() and the like in a session."""

from typing import Any

from expressions.errors import UNDEFINED_OBJECT, SqlError
from nodes.clients.protocols import Client
from nodes.people.rights import WRITE_RIGHT, Person
from nodes.session.functions import of_session
from nodes.settings.known import SERVER_VERSION
from nodes.settings.variables import Variables

DATABASE = "schemalab"


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

    def rows_of(self, relation: str) -> list[dict[str, Any]] | None:
        return of_session.rows_of(relation, self._variables, self._client)
