"""A database of somebody else's: the rights that the how-to lists are enough, and `up` reports what is missing."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from schemalab.connections.reachable import weaker_reader
from schemalab.embedded.locations import Locations, locations_of
from schemalab.embedded.postgres import bin_folder
from storage.reader.role import READER
from tests.embedded_services import running_services
from tests.harness.services import private_home
from tests.nodes.conftest import ROOT, Cluster

HOW_TO = Path(ROOT, "docs/how-to/use-your-own-services.md").read_text()


@pytest.fixture(scope="module")
def foreign() -> Iterator[Locations]:
    home = private_home("foreign")
    with running_services(locations_of(home)) as services:
        yield services
    shutil.rmtree(home)


def migrated(services: Locations, *statements: str, role: str) -> Cluster:
    """A cluster on a database whose role was made by these statements."""
    with psycopg.connect(services.database_url, autocommit=True) as admin:
        for statement in statements:
            admin.execute(statement)
    dsn = services.url_of(role).replace("schemalab@", f"{role}@")
    cluster = Cluster(dsn, services.redis_url, services.home, bin_folder(services))
    command = [sys.executable, "manage.py", "migrate", "--no-input"]
    subprocess.run(command, cwd=ROOT, env=cluster.environ(), check=True, capture_output=True)
    return cluster


def test_a_role_with_the_listed_rights_runs_a_node(foreign: Locations) -> None:
    made, owned = "CREATE ROLE lab LOGIN CREATEROLE CREATEDB", "CREATE DATABASE lab OWNER lab"
    assert made in HOW_TO
    assert owned in HOW_TO
    cluster = migrated(foreign, made, owned, "REVOKE TEMPORARY ON DATABASE lab FROM PUBLIC", role="lab")
    cluster.start("n1")
    try:
        table = cluster.table("id int PRIMARY KEY, name text")
        with cluster.connect() as connection:
            connection.execute(f"INSERT INTO {table} VALUES (1, 'one')")
            with connection.cursor() as cursor, cursor.copy(f"COPY {table} FROM STDIN") as copy:
                copy.write(b"2\ttwo\n")
            assert connection.execute(f"SELECT name FROM {table} ORDER BY id").fetchall() == [("one",), ("two",)]
        kv = f"storage_1.kv_{cluster.descriptor(table).table_id}"
    finally:
        cluster.stop("n1")
    with psycopg.connect(cluster.dsn) as session:
        session.execute(f"SET LOCAL ROLE {READER}")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            session.execute(f"SELECT * FROM {kv}")
    assert weaker_reader(cluster.dsn).endswith("protects less than a database that is made here")


def test_a_role_that_may_make_no_role_is_told_so(foreign: Locations) -> None:
    cluster = migrated(foreign, "CREATE ROLE poor LOGIN", "CREATE DATABASE poor OWNER poor", role="poor")
    assert "give the role of DATABASE_URL the attribute CREATEROLE" in weaker_reader(cluster.dsn)


def test_other_users_of_the_server_keep_their_functions(foreign: Locations) -> None:
    with psycopg.connect(foreign.database_url, autocommit=True) as admin:
        admin.execute("CREATE ROLE neighbour LOGIN")
    with psycopg.connect(make_conninfo(foreign.database_url, user="neighbour", dbname="lab")) as neighbour:
        assert neighbour.execute("SELECT pg_backend_pid() > 0, count(*) > 0 FROM pg_class").fetchone() == (True, True)
