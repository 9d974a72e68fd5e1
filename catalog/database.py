"""Django's database: its clock, and its address for other sessions."""

from django.db import connection, connections
from psycopg import pq
from psycopg.conninfo import make_conninfo


def database_clock_s() -> float:
    """The database's clock, by which leases and drains are judged, in seconds since 1970."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT extract(epoch FROM clock_timestamp())::float8")
        return float(cursor.fetchone()[0])


def keep_connections() -> None:
    """Keeps this thread's connections beyond a request; lost ones are reopened."""
    for own in connections.all():
        own.settings_dict = own.settings_dict | {"CONN_MAX_AGE": None}


def database_dsn() -> str:
    """Django's database as a psycopg conninfo, with all that libpq knows of its settings."""
    known = {option.keyword.decode() for option in pq.Conninfo.get_defaults()}
    given = connection.get_connection_params()
    return make_conninfo(
        **{name: given[name] for name in sorted(known & given.keys()) if given[name] not in (None, "")}
    )
