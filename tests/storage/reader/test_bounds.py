"""What a statement of the reader role may take from the server has bounds, and the role cannot move them."""

from typing import Any

import psycopg
import pytest

from schemalab.embedded.postgres import OPTIONS
from storage.reader.role import READER


def test_a_statement_that_sorts_too_much_is_ended(reader: psycopg.Connection[Any]) -> None:
    assert reader.execute("SELECT 1").fetchone() == (1,)
    reader.execute("RESET ROLE")
    assert reader.execute("SHOW temp_file_limit").fetchone() == (OPTIONS["temp_file_limit"],)
    reader.execute("SET LOCAL temp_file_limit = '1MB'")
    reader.execute(f"SET LOCAL ROLE {READER}")
    with pytest.raises(psycopg.errors.ConfigurationLimitExceeded):
        reader.execute("SELECT count(*) FROM (SELECT g FROM generate_series(1, 300000) AS g ORDER BY -g) AS sorted")


@pytest.mark.parametrize("query", [
    pytest.param("SELECT length(string_agg(repeat('x', 8000000), '')) FROM generate_series(1, 120)", id="one text"),
    pytest.param("SELECT cardinality(array_agg(repeat('x', 1000000) || g)) FROM generate_series(1, 600) AS g",
        id="many texts"),
])  # fmt: skip
def test_a_statement_that_takes_too_much_memory_is_refused_and_others_go_on(
    reader: psycopg.Connection[Any], query: str
) -> None:
    with psycopg.connect(reader.info.dsn, autocommit=True) as other:
        before = other.execute("SELECT pg_backend_pid()").fetchone()
        with pytest.raises(psycopg.errors.OutOfMemory):
            reader.execute(query)
        assert other.execute("SELECT pg_backend_pid()").fetchone() == before
    reader.rollback()
    assert reader.execute("SELECT 1").fetchone() == (1,)


@pytest.mark.parametrize("setting", ["temp_file_limit = -1", "session_replication_role = replica", "log_duration = on"])
def test_the_role_cannot_lift_a_bound_of_the_server(reader: psycopg.Connection[Any], setting: str) -> None:
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        reader.execute(f"SET {setting}")
