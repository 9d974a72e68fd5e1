"""Checks that PostgreSQL and Redis given by URL answer and are new enough."""

from typing import Any

import psycopg
from django.conf import settings
from psycopg.conninfo import conninfo_to_dict

from schemalab.embedded import postgres, redis
from storage.postgres import layout_mistake
from storage.reader import role
from storage.shadow.database import ShadowUnusable, make_beside
from storage.shadow.following import catch_up

VERSION_MIN = 18  # casts of bytea to whole numbers (storage.sql_values); 17: transaction_timeout, the deadline of T4
CONNECT_S_MAX = 5
LOCKS_ON_ONE_MOST = 10_000
"""Pages of a table that a transaction remembers one by one: what it costs grows with their square."""


class Unusable(Exception):
    """A service given by URL cannot be used."""


def where(url: str) -> str:
    parts = conninfo_to_dict(url)
    return f"{parts.get('host', 'localhost')}:{parts.get('port', 5432)}/{parts.get('dbname', '')}"


def check_database(url: str) -> None:
    try:
        with psycopg.connect(url, connect_timeout=CONNECT_S_MAX) as connection:
            version = connection.info.server_version // 10000
    except psycopg.OperationalError as error:
        first = str(error).strip().splitlines()[0]
        raise Unusable(f"DATABASE_URL: the database at {where(url)} does not answer: {first}") from None
    if version < VERSION_MIN:
        raise Unusable(
            f"DATABASE_URL: the database at {where(url)} is PostgreSQL {version}, {VERSION_MIN} or newer is needed"
        )


def shortcomings(url: str, *, nodes: int) -> str | None:
    """A warning about limits that only the server's owner can raise."""
    wanted = {"max_connections": postgres.connections_for(nodes)}
    wanted |= {name: int(value) for name, value in postgres.PREDICATE_LOCKS.items()}
    with psycopg.connect(url, connect_timeout=CONNECT_S_MAX) as connection:
        has = {name: _setting(connection, name) for name in wanted}
    if (share := has["max_pred_locks_per_relation"]) < 0:  # of the transaction's: -2 is half of them
        has["max_pred_locks_per_relation"] = has["max_pred_locks_per_transaction"] // -share
    found = []
    if short := [f"{name} is {has[name]}, not {least}" for name, least in wanted.items() if has[name] < least]:
        found.append(f"will refuse statements under load: {', '.join(short)} (or more)")
    if (most := LOCKS_ON_ONE_MOST) < (given := has["max_pred_locks_per_relation"]):
        found.append(f"will take minutes for long reads: max_pred_locks_per_relation is {given}, not {most} (or less)")
    return f"DATABASE_URL: the database at {where(url)} {'; it '.join(found)}" if found else None


def weaker_reader(url: str) -> str:
    """A warning that nothing is revoked from PUBLIC in a database of somebody else's."""
    with psycopg.connect(url, connect_timeout=CONNECT_S_MAX) as connection:
        may_act_as_reader = connection.execute(role.IS_HELD_SQL).fetchone()
    found = f"DATABASE_URL: in the database at {where(url)} the role {role.READER}"
    if may_act_as_reader == (True,):
        return f"{found} may call all functions that PUBLIC may, which protects less than a database that is made here"
    return f"{found} cannot be used: give the role of DATABASE_URL the attribute CREATEROLE, then start again"


def shadow_mistake(url: str, shadow: str) -> str | None:
    """Creates the shadow database; returns why that failed, or None."""
    try:
        make_beside(url, shadow)
        catch_up(url, shadow)
    except ShadowUnusable as error:
        return str(error)
    return None


def _setting(connection: psycopg.Connection[Any], name: str) -> int:
    row = connection.execute("SELECT current_setting(%s)::int", [name]).fetchone()
    assert row is not None
    return int(row[0])


def check_layout(url: str) -> None:
    with psycopg.connect(url, connect_timeout=CONNECT_S_MAX) as connection, connection.cursor() as cursor:
        mistake = layout_mistake(cursor, storages=settings.STORAGE_COUNT, buckets=settings.BUCKET_COUNT)
    if mistake:
        raise Unusable(mistake)


def earlier_mistake(cursor: Any) -> str | None:
    """Why this code cannot migrate the database, or None."""
    cursor.execute("SELECT to_regclass('django_migrations') IS NOT NULL")
    if not cursor.fetchone()[0]:
        return None
    cursor.execute("SELECT app, name FROM django_migrations ORDER BY id")
    for app, name in cursor.fetchall():
        folder = settings.BASE_DIR / app / "migrations"
        if folder.is_dir() and not (folder / f"{name}.py").exists():
            return (
                f"cannot use this database: an earlier version of Schema Lab made it ({app}.{name}). Nothing was"
                " changed. `make clean` removes the data of this clone; or set DATABASE_URL to an empty database."
            )
    return None


def check_migrations(url: str) -> None:
    with psycopg.connect(url, connect_timeout=CONNECT_S_MAX) as connection, connection.cursor() as cursor:
        mistake = earlier_mistake(cursor)
    if mistake:
        raise Unusable(mistake)


def check_redis(url: str) -> None:
    if not redis.is_ready(url):
        raise Unusable(f"REDIS_URL: Redis at {url.rsplit('@', 1)[-1]} does not answer")
