"""The database's address, in psycopg's form and in Django's."""

from typing import Any

from psycopg.conninfo import conninfo_to_dict

CONNECT_S_MAX = 10  # a server that is frozen takes a connection and never answers
DJANGO_NAMES = {"dbname": "NAME", "user": "USER", "password": "PASSWORD", "host": "HOST", "port": "PORT"}


def django_database(url: str) -> dict[str, Any]:
    """Django's DATABASES entry; unknown parameters become options of psycopg."""
    parts = conninfo_to_dict(url)
    named = {django: str(parts.pop(libpq, "") or "") for libpq, django in DJANGO_NAMES.items()}
    return {
        "ENGINE": "django.db.backends.postgresql",
        **named,
        "CONN_HEALTH_CHECKS": True,
        "OPTIONS": {
            "connect_timeout": CONNECT_S_MAX,
            **parts,
            "application_name": parts.get("application_name", "schemalab"),
        },
    }
