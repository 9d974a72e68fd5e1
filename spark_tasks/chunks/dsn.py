"""The database that Django is configured for, for sessions of our own and for workers, which have no Django."""

import psycopg
from django.db import connection


def database_dsn() -> str:
    """Django's database as a psycopg conninfo, for sessions of our own and for workers."""
    given = connection.get_connection_params()
    names = ("dbname", "user", "password", "host", "port")
    return psycopg.conninfo.make_conninfo(**{name: given[name] for name in names if given.get(name)})
