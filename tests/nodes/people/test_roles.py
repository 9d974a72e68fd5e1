"""What people may do through a node: their roles on the page count, and the story shows their names."""

import time
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from tests.nodes.conftest import Cluster

PEOPLE = {"role_lea": ("learner",), "role_sam": ("learner", "submitter"), "role_olga": ("learner", "operator")}
WATCHED_S_MAX = 30.0


@pytest.fixture(scope="module")
def table(cluster: Cluster) -> Iterator[str]:
    """A table with a row, and people with roles (on the page of this cluster's database)."""
    with cluster.store() as store:
        for name, roles in PEOPLE.items():
            store.execute(
                "WITH made AS (INSERT INTO auth_user (username, password, is_superuser, first_name, last_name, email,"
                " is_staff, is_active, date_joined) VALUES (%s, '!', false, '', '', '', false, true, now())"
                " RETURNING id)"
                " INSERT INTO auth_user_groups (user_id, group_id)"
                " SELECT made.id, g.id FROM made, auth_group g WHERE g.name = ANY(%s)",
                [name, list(roles)],
            )
        table = cluster.table("a int PRIMARY KEY, b int")
        with cluster.connect() as connection:
            connection.execute(f"INSERT INTO {table} VALUES (1, 1)")
        yield table
        store.execute("DELETE FROM auth_user_groups")
        store.execute("DELETE FROM auth_user")


def as_person(cluster: Cluster, name: str) -> "psycopg.Connection[Any]":
    return psycopg.connect(cluster.address("n1", user=name), autocommit=True)


WRITES = [
    "INSERT INTO {table} VALUES (2, 2)",
    "UPDATE {table} SET b = 2",
    "DELETE FROM {table}",
    "INSERT INTO {table} VALUES (1, 1) ON CONFLICT DO NOTHING RETURNING a",
    "TRUNCATE {table}",
    "WITH gone AS (DELETE FROM {table} RETURNING *) SELECT * FROM gone",
    "CREATE TABLE roles_t (a int PRIMARY KEY)",
    "CREATE INDEX roles_i ON {table} (b)",
    "ALTER TABLE {table} ADD c int",
    "DROP TABLE {table}",
    "BEGIN; CREATE TABLE roles_t (a int PRIMARY KEY); COMMIT",
]


def test_a_learner_reads_and_changes_nothing(cluster: Cluster, table: str) -> None:
    with as_person(cluster, "role_lea") as lea:
        for write in WRITES:
            with pytest.raises(psycopg.errors.InsufficientPrivilege, match="role_lea may only read") as refused:
                lea.execute(write.format(table=table).encode())
            assert "the role submitter or operator" in (refused.value.diag.message_hint or ""), write
            lea.execute("ROLLBACK")
        assert lea.execute(f"SELECT * FROM {table}").fetchall() == [(1, 1)]
        assert lea.execute(f"EXPLAIN DELETE FROM {table}").fetchall()
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            lea.execute(f"UPDATE {table} SET b = %s WHERE a = %s", [2, 1], prepare=True)
        assert lea.execute(f"SELECT b FROM {table}").fetchone() == (1,)


def test_rights_are_told_as_they_are(cluster: Cluster, table: str) -> None:
    asked = f"""SELECT has_table_privilege('{table}', 'SELECT'), has_table_privilege('{table}'::regclass, 'INSERT'),
      has_any_column_privilege(current_user, '{table}', 'UPDATE'), has_schema_privilege('public', 'USAGE'),
      has_schema_privilege('public', 'CREATE'), has_table_privilege('{table}', 'SELECT WITH GRANT OPTION'),
      pg_has_role(current_user, 'USAGE'),
      pg_has_role(10, 'USAGE')"""
    for name, may_write in (("role_lea", False), ("role_sam", True), ("role_of_nobody", True)):
        with as_person(cluster, name) as connection:
            expected = (True, may_write, may_write, True, may_write, may_write, True, False)
            assert connection.execute(asked.encode()).fetchone() == expected, name
            with pytest.raises(psycopg.errors.UndefinedObject, match='role "role_nobody" does not exist'):
                connection.execute(f"SELECT has_table_privilege('role_nobody', '{table}', 'SELECT')".encode())


@pytest.mark.parametrize("name", ["role_sam", "role_olga"])
def test_submitters_and_operators_write_and_the_story_shows_their_name(cluster: Cluster, table: str, name: str) -> None:
    with as_person(cluster, name) as connection:
        connection.execute(f"UPDATE {table} SET b = 1")
        with connection.transaction():
            connection.execute(f"CREATE TABLE made_by_{name} (a int PRIMARY KEY)")
    with cluster.store() as store:
        told = store.execute(
            "SELECT payload ->> 'who' FROM catalog_storyevent WHERE kind = 'table created'"
            " AND payload ->> 'table' = %s", [f"made_by_{name}"],
        ).fetchone()  # fmt: skip
    assert told == (name,)


def go_on(connection: "psycopg.Connection[Any]") -> None:
    deadline = time.monotonic() + WATCHED_S_MAX
    while time.monotonic() < deadline:
        connection.execute("SELECT 1")
        time.sleep(0.1)


def test_a_closed_account_ends_what_it_has_open(cluster: Cluster, table: str) -> None:
    with as_person(cluster, "role_lea") as idle, cluster.store() as store:
        idle.execute("BEGIN")
        idle.execute(f"SELECT 1 FROM {table}")
        store.execute("UPDATE auth_user SET is_active = false WHERE username = 'role_lea'")
        try:
            with pytest.raises(psycopg.errors.InvalidAuthorizationSpecification, match="has been closed"):
                go_on(idle)
            with pytest.raises(psycopg.OperationalError, match='the account "role_lea" has been closed'):
                as_person(cluster, "role_lea")
        finally:
            store.execute("UPDATE auth_user SET is_active = true WHERE username = 'role_lea'")
    with as_person(cluster, "role_lea") as again:
        assert again.execute("SELECT 1").fetchone() == (1,)
