"""Asks PostgreSQL about rows by a session of psycopg, as the reader role: no settings stay, no transaction ends."""

from collections.abc import Sequence
from typing import Any

import psycopg

from expressions.errors import SqlError
from storage.asking import Ask
from storage.postgres import USERS_SETTINGS
from storage.reader.role import READER

OF_THE_STORE = ("08", "25", "40", "53", "55", "57", "58", "XX")
"""Classes of errors that no value of a row causes."""
AS_READER = "; ".join(
    [
        f"SET LOCAL ROLE {READER}",
        "SET LOCAL search_path = pg_catalog, pg_temp",
        *(f"SET LOCAL {name} = '{value}'" for name, value in USERS_SETTINGS.items()),
    ]
)


def asking(connection: "psycopg.Connection[Any]") -> Ask:

    def ask(sql: str, arrays: list[list[bytes]]) -> Sequence[bytes | None]:
        try:
            with connection.transaction(force_rollback=True):
                connection.execute(AS_READER)
                cursor = psycopg.RawCursor(connection)
                return [data for (data,) in cursor.execute(sql, arrays, binary=True).fetchall()]
        except psycopg.Error as error:
            if error.sqlstate is None or error.sqlstate.startswith(OF_THE_STORE):
                raise
            raise SqlError(error.sqlstate, error.diag.message_primary or str(error)) from error

    return ask
