"""Raw sessions on the test database; see `rows.py` for what is done over them."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import psycopg
import pytest

from tests.leases.own_redis import OwnRedis
from tests.leases.rows import Connection, acquire, make_table, register
from tests.leases.stage import Stage


@pytest.fixture
def connect(dsn: str) -> Iterator[Callable[[], Connection]]:
    with ExitStack() as open_sessions:
        yield lambda: open_sessions.enter_context(psycopg.connect(dsn, autocommit=True))


@pytest.fixture
def database(connect: Callable[[], Connection]) -> Connection:
    """A session that sets up, and looks at what became of it."""
    return connect()


@pytest.fixture
def publisher(connect: Callable[[], Connection]) -> Connection:
    return connect()


@pytest.fixture
def node(database: Connection) -> None:
    """Node n1 leases the newest version of a table."""
    make_table(database)
    register(database)
    acquire(database)


@pytest.fixture
def stage(database: Connection, dsn: str, redis_url: str) -> Stage:
    """Node n1 is registered, and there is a table to lease."""
    make_table(database)
    register(database)
    return Stage(dsn, redis_url)


@pytest.fixture
def own_redis(tmp_path: Path) -> Iterator[OwnRedis]:
    redis = OwnRedis(tmp_path)
    redis.start()
    yield redis
    redis.stop()
