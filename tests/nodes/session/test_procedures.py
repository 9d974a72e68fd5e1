"""CALL is a clear error: a node has no procedures, whatever their names and arguments."""

import psycopg
import pytest

from tests.nodes.conftest import Cluster

SELECT_HINT = "To call a function, use SELECT."


@pytest.mark.parametrize(("call", "sqlstate", "message", "hint"), [
    pytest.param("x()", "42883", "procedure x() does not exist", "A node has no procedures", id="no argument"),
    pytest.param(
        "refresh(1, 'a', true)", "42883", "procedure refresh(integer, unknown, boolean) does not exist", "A node",
        id="the types of arguments are named",
    ),
    pytest.param("now()", "42809", "now() is not a procedure", SELECT_HINT, id="a function"),
    pytest.param("pg_sleep(1)", "42809", "pg_sleep(integer) is not a procedure", SELECT_HINT, id="it stands alone"),
    pytest.param("crud.len('t')", "42809", "crud.len is not a procedure", SELECT_HINT, id="a request"),
    pytest.param("lower(1, 2)", "42883", "procedure lower(integer, integer) does not exist", "", id="other arguments"),
    pytest.param("nope.x()", "3F000", 'schema "nope" does not exist', "", id="no such schema"),
    pytest.param(
        f"x({'1,' * 100}1)", "54023", "cannot pass more than 100 arguments to a function", "", id="101 arguments"
    ),
    pytest.param("x(a)", "42703", 'column "a" does not exist', "", id="an argument that has no value"),
])  # fmt: skip
def test_a_call_is_refused_as_postgresql_refuses_it(
    cluster: Cluster, call: str, sqlstate: str, message: str, hint: str
) -> None:
    with cluster.connect() as connection:
        for values in (None, ()):
            with pytest.raises(psycopg.Error) as caught:
                connection.execute(f"CALL {call}", values)
            diagnosis = caught.value.diag
            assert (caught.value.sqlstate, diagnosis.message_primary) == (sqlstate, message)
            assert hint in (diagnosis.message_hint or "")
        assert connection.execute("SELECT 1").fetchone() == (1,)


def test_a_call_fails_its_transaction_and_nothing_else(cluster: Cluster) -> None:
    with cluster.connect() as connection:
        connection.execute("BEGIN")
        with pytest.raises(psycopg.errors.UndefinedFunction):
            connection.execute("CALL x(%s)", (7,))
        with pytest.raises(psycopg.errors.InFailedSqlTransaction):
            connection.execute("SELECT 1")
        connection.execute("ROLLBACK")
        assert connection.execute("SELECT 1").fetchone() == (1,)
