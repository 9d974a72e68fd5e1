"""The fixtures that other tests stand on."""

import psycopg
from redis import Redis


def test_the_test_database_is_not_the_clusters_own(dsn: str) -> None:
    with psycopg.connect(dsn) as connection:
        assert connection.execute("SELECT current_database()").fetchone()[0].startswith("test_schemalab")


def test_redis_is_empty_at_the_start(redis_url: str) -> None:
    with Redis.from_url(redis_url) as client:
        assert client.dbsize() == 0
