"""Values of version(), current_user, current_setting() and the like in a session."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from nodes.sql.variables import SERVER_VERSION, Variables

DATABASE = "schemalab"


class SessionValues(Mapping[str, str]):
    """The session's values by name; a setting's name begins with "setting:" ."""

    def __init__(self, variables: Variables, user: str, pid: int) -> None:
        self._variables = variables
        self._fixed = {
            "version": f"PostgreSQL {SERVER_VERSION}",
            "database": DATABASE,
            "schema": "public",
            "user": user,
            "pid": str(pid),
        }

    def __getitem__(self, name: str) -> str:
        if name.startswith("setting:"):
            return self._variables.get(name.removeprefix("setting:"))
        return self._fixed[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._fixed)

    def __len__(self) -> int:
        return len(self._fixed)
