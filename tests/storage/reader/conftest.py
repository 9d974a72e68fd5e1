"""A session that acts as the reader role, beside a pair table and another session whose texts are secret."""

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from storage.reader.role import READER
from tests.storage.stage import Stage, user

SECRET = "tombola of the winter ball"


@pytest.fixture
def reader(stage: Stage) -> Iterator[psycopg.Connection[Any]]:
    """The session has a prepared statement and a cursor of its own, as one that others used before it would."""
    stage.insert([user(stage.now, 1, SECRET)])
    with psycopg.connect(stage.dsn, autocommit=True) as other, psycopg.connect(stage.dsn) as connection:
        other.execute(f"SELECT '{SECRET}'")
        connection.execute(f"PREPARE before AS SELECT '{SECRET}'")
        connection.execute(f"DECLARE earlier CURSOR WITH HOLD FOR SELECT '{SECRET}'")
        connection.commit()
        connection.execute("SET statement_timeout = '5s'")
        connection.execute(f"SET ROLE {READER}")
        connection.commit()
        yield connection
        connection.rollback()
