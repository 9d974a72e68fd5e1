"""Makes and opens the shadow's database."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg import sql

from storage.shadow import rights
from storage.shadow.address import address_of, name_of
from storage.shadow.alters import OWNER
from storage.shadow.position import COMMENT_SQL, Position, position_of

CONNECT_S_MAX = 10
LOCK_S_MAX = 10
"""A client's query holds what it reads for at most half of this."""
LOCK = 734_190_821
"""The advisory lock of all changes of the shadow."""
OPTIONS = (
    f"-c search_path=public,pg_temp -c lock_timeout={LOCK_S_MAX}s -c timezone=UTC -c datestyle=ISO,MDY"
    " -c client_min_messages=warning -c default_transaction_isolation=read\\ committed -c intervalstyle=postgres"
)
UNKNOWN_DATABASE = "does not exist"


class ShadowUnusable(Exception):
    """The shadow cannot be made or does not follow; says what to do."""


@contextmanager
def opened(store: str, address: str) -> Iterator[psycopg.Connection[Any]]:
    """A transaction with the only lock for changes of the shadow, which is made if missing."""
    try:
        connection = _connect(address)
    except psycopg.OperationalError as error:
        if UNKNOWN_DATABASE not in str(error):
            raise ShadowUnusable(f"the database {name_of(address)} does not answer: {_first(error)}") from error
        make(store, address)
        connection = _connect(address)
    with connection:
        connection.execute("SELECT pg_advisory_xact_lock(%s, 0)", [LOCK])
        yield connection


def _connect(address: str) -> psycopg.Connection[Any]:
    return psycopg.connect(address, connect_timeout=CONNECT_S_MAX, options=OPTIONS, application_name="schemalab shadow")


def make(store: str, address: str) -> None:
    name = name_of(address)
    made = sql.SQL("CREATE DATABASE {} TEMPLATE template0 ENCODING 'UTF8' LOCALE 'C'").format(sql.Identifier(name))
    with psycopg.connect(store, autocommit=True, connect_timeout=CONNECT_S_MAX) as connection:
        try:
            connection.execute(made)
        except (psycopg.errors.DuplicateDatabase, psycopg.errors.UniqueViolation):
            pass  # somebody else was quicker
        except psycopg.errors.InsufficientPrivilege:
            raise ShadowUnusable(
                f"catalog queries need the database {name}: give the role of DATABASE_URL the attribute CREATEDB,"
                " or make that database, owned by this role; SHADOW_DATABASE_URL names another one"
            ) from None


def make_beside(store: str, address: str) -> None:
    """Makes it if missing, without a failing connection in the server's log."""
    if address != address_of(store):
        return
    with psycopg.connect(store, autocommit=True, connect_timeout=CONNECT_S_MAX) as connection:
        there = connection.execute("SELECT true FROM pg_database WHERE datname = %s", [name_of(address)]).fetchone()
    if there is None:
        make(store, address)


def position(connection: psycopg.Connection[Any]) -> Position:
    row = connection.execute(COMMENT_SQL).fetchone()
    return position_of(None if row is None else row[0])


def remember(connection: psycopg.Connection[Any], now: Position) -> None:
    name = sql.Identifier(connection.info.dbname)
    connection.execute(sql.SQL("COMMENT ON DATABASE {} IS {}").format(name, sql.Literal(now.to_text())))


def set_up(connection: psycopg.Connection[Any]) -> None:
    known = connection.execute("SELECT true FROM pg_roles WHERE rolname = %s", [OWNER]).fetchone()
    may = connection.execute("SELECT rolsuper OR rolcreaterole FROM pg_roles WHERE rolname = current_user").fetchone()
    if known is None and may != (True,):
        raise ShadowUnusable(
            f"catalog queries need the role {OWNER}: give the role of DATABASE_URL the attribute CREATEROLE,"
            " then start again"
        )
    for statement in rights.SETUP_SQL:
        connection.execute(statement.encode())


def _first(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]
