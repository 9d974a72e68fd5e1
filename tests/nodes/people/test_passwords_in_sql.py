"""SQL has no way to set a password: the page asks for the old one, and a statement could not."""

import subprocess
import sys
import time

import psycopg
import pytest

from changes.ddl.refused import PASSWORDS
from nodes.sql.statements import parse, public_text
from tests.nodes.conftest import ROOT, START_S_MAX, Cluster

SECRET = "mind the gap, please"
SETS = [
    f"ALTER USER {{}} PASSWORD '{SECRET}'",
    f"ALTER ROLE {{}} WITH ENCRYPTED PASSWORD '{SECRET}'",
    f"ALTER USER CURRENT_USER PASSWORD '{SECRET}'",
    "ALTER USER {} PASSWORD NULL",
    f"CREATE USER {{}} PASSWORD '{SECRET}'",
    f"CREATE ROLE other LOGIN PASSWORD '{SECRET}'",
]


@pytest.mark.parametrize("statement", SETS)
def test_no_statement_sets_a_password(cluster: Cluster, statement: str) -> None:
    with cluster.store() as store:
        before = store.execute("SELECT user_id, verifier FROM nodes_sqlpassword ORDER BY 1").fetchall()
        with cluster.connect() as connection:
            for values in (None, ()):
                with pytest.raises(psycopg.errors.FeatureNotSupported) as refused:
                    connection.execute(statement.format("tester").encode(), values)
                assert refused.value.diag.message_hint == PASSWORDS
        assert store.execute("SELECT user_id, verifier FROM nodes_sqlpassword ORDER BY 1").fetchall() == before


@pytest.mark.parametrize("statement", ["SET password = 'x'", "SET SESSION AUTHORIZATION owner", "SET ROLE owner"])
def test_no_setting_does_either(cluster: Cluster, statement: str) -> None:
    with cluster.connect() as connection:
        with pytest.raises(psycopg.Error):
            connection.execute(statement.encode())
        assert connection.execute("SELECT current_user, session_user").fetchone() == ("tester", "tester")


def test_a_password_in_a_statement_is_not_shown_to_others(cluster: Cluster) -> None:
    table = cluster.table("id int PRIMARY KEY")
    with cluster.connect() as connection:
        connection.execute("BEGIN")
        connection.execute(f"SELECT count(*) FROM {table}")
        with pytest.raises(psycopg.errors.FeatureNotSupported):
            connection.execute("SAVEPOINT s; ALTER USER tester PASSWORD 'mind the gap, please'")
        connection.execute("ROLLBACK TO s")
        held, deadline = "", time.monotonic() + START_S_MAX
        while "ALTER ROLE" not in held and "idle" not in held:
            assert time.monotonic() < deadline, held
            held = subprocess.run(
                [sys.executable, "manage.py", "leases", table],
                cwd=ROOT, env=cluster.environ(), capture_output=True, text=True, check=True, timeout=60,
            ).stdout  # fmt: skip
        assert SECRET not in held


@pytest.mark.parametrize(("statement", "shown"), [
    ("alter user lea password 'secret words'", "ALTER ROLE .."),
    ("  CREATE\n ROLE lea PASSWORD 'secret words'", "CREATE ROLE .."),
    ("SELECT 'secret words'", "SELECT 'secret words'"),
])  # fmt: skip
def test_the_text_for_others_has_no_password(statement: str, shown: str) -> None:
    [found] = parse(statement)
    assert public_text(found, statement) == shown
