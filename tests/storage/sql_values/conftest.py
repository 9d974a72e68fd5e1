"""Sessions of the reader role: one under the store's fixed settings, one under settings of a client's."""

from collections.abc import Iterator

import psycopg
import pytest

from storage.reader.role import READER
from storage.sql_values import FIXED_SETTINGS
from tests.storage.sql_values.sessions import Session


@pytest.fixture
def fixed(dsn: str) -> Iterator[Session]:
    with psycopg.connect(dsn, autocommit=True) as connection:
        session = Session(connection)
        session.set(FIXED_SETTINGS)
        yield session


@pytest.fixture
def client(dsn: str) -> Iterator[Session]:
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("SET search_path = pg_catalog, pg_temp")
        connection.execute(f"SET ROLE {READER}")
        yield Session(connection)
