"""What version(), current_user, current_setting() and the like give in a session."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from nodes.sql.variables import SERVER_VERSION

if TYPE_CHECKING:
    from nodes.session.session import Session

DATABASE = "schemalab"


class SessionValues(Mapping[str, str]):
    """The session's values by name; a setting's name begins with "setting:" ."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def __getitem__(self, name: str) -> str:
        if name.startswith("setting:"):
            return self._session.variables.get(name.removeprefix("setting:"))
        fixed = {"version": f"PostgreSQL {SERVER_VERSION}", "database": DATABASE, "schema": "public"}
        return fixed.get(name) or {"user": self._session.user, "pid": str(self._session.client.pid)}[name]

    def __iter__(self) -> Iterator[str]:
        return iter(("version", "database", "schema", "user", "pid"))

    def __len__(self) -> int:
        return 5
