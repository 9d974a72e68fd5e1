"""Do the database and Redis that a user named by URL answer, and are they new enough? One clear line when not."""

import psycopg
from django.conf import settings
from psycopg.conninfo import conninfo_to_dict

from schemalab.embedded import redis
from storage.postgres import layout_mistake

VERSION_MIN = 17  # transaction_timeout, the deadline of T4
CONNECT_S_MAX = 5


class Unusable(Exception):
    """A service named by URL cannot be used."""


def where(url: str) -> str:
    """The address without its password."""
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


def check_layout(url: str) -> None:
    """Rows lie where the settings of the first start put them."""
    with psycopg.connect(url, connect_timeout=CONNECT_S_MAX) as connection, connection.cursor() as cursor:
        mistake = layout_mistake(cursor, storages=settings.STORAGE_COUNT, buckets=settings.BUCKET_COUNT)
    if mistake:
        raise Unusable(mistake)


def check_redis(url: str) -> None:
    if not redis.is_ready(url):
        raise Unusable(f"REDIS_URL: Redis at {url.rsplit('@', 1)[-1]} does not answer")
