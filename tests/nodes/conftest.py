"""A small cluster for the tests of nodes: real node processes on a database beside the test database, out of reach of
other tests' clean-up. Tables are made inside transactions (T9), which needs no worker; tests of other DDL ask for
`worker`. Tests that need short leases and nothing else share the node `short`, since a node takes two seconds to
start."""

import itertools
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
import pytest

from catalog.descriptor import Descriptor, from_json
from catalog.elements import TableId
from changes.driver import publish as publishing
from leases.redis.gossip import publish_news
from storage.integrity.clauses import Referenced, check
from tests.nodes.raw_client import Raw
from tests.storage import pairs_sql
from tests.storage.postgres_answers import answers_for

STORAGES = 2
ROOT = Path(__file__).resolve().parents[2]
START_S_MAX = 30.0
SHORT_LEASE_S = 2.0


@dataclass
class Cluster:
    """Node processes by name, and how to reach them."""

    dsn: str
    redis_url: str
    home: Path
    binaries: Path
    processes: dict[str, subprocess.Popen[str]] = field(default_factory=dict)
    ports: dict[str, int] = field(default_factory=dict)
    serial: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    reader: "psycopg.Connection[Any] | None" = None

    def start(self, name: str, *arguments: str, lease_s: float = 30.0, **settings: str) -> int:
        """Start a node; its port, once it signs people in."""
        self.begin_to_start(name, *arguments, lease_s=lease_s, **settings)
        return self.wait_until_started(name)

    def begin_to_start(self, name: str, *arguments: str, lease_s: float = 30.0, **settings: str) -> None:
        environ = self.environ(LEASE_S=str(lease_s), **settings)
        command = [sys.executable, "manage.py", "node", name, *arguments]
        self.processes[name] = subprocess.Popen(command, cwd=ROOT, env=environ, stdout=subprocess.PIPE, text=True)

    def wait_until_started(self, name: str) -> int:
        process = self.processes[name]
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.startswith(f"node {name} incarnation"), f"node {name} did not start: {line!r}"
        self.ports[name] = int(line.rsplit(":", 1)[1])
        self.wait_until_it_answers(name)
        return self.ports[name]

    def wait_until_it_answers(self, name: str) -> None:
        deadline = time.monotonic() + START_S_MAX
        while True:
            try:
                psycopg.connect(self.address(name)).close()
            except psycopg.OperationalError as error:
                is_ready = "refused" not in str(error) and "cannot be signed in now" not in str(error)
                if is_ready or time.monotonic() > deadline:
                    return
            else:
                return

    def environ(self, **settings: str) -> dict[str, str]:
        return {**os.environ, "DATABASE_URL": self.dsn, "REDIS_URL": self.redis_url, "LOG_LEVEL": "WARNING", **settings}

    def address(self, name: str = "n1", **more: Any) -> str:
        usual = {"host": "127.0.0.1", "port": self.ports[name], "user": "tester", "dbname": "schemalab"}
        return psycopg.conninfo.make_conninfo(**{**usual, "sslmode": "disable", **more})

    def connect(self, name: str = "n1", **options: Any) -> "psycopg.Connection[Any]":
        return psycopg.connect(self.address(name), autocommit=True, **options)

    def store(self) -> "psycopg.Connection[Any]":
        """A direct connection to the store, as no client has one."""
        return psycopg.connect(self.dsn, autocommit=True)

    def table(self, columns: str, *, name: str = "", indexes: Sequence[str] = ()) -> str:
        """A new table with a name of its own, and indexes of these columns."""
        chosen = name or f"t{next(self.serial)}"
        with self.connect() as connection, connection.transaction():
            connection.execute(f"CREATE TABLE {chosen} ({columns})")
            for index in indexes:
                connection.execute(f"CREATE INDEX ON {chosen} {index}")
        return chosen

    def read(self, query: str, params: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Rows from the store, by a connection that stays open."""
        if self.reader is None or self.reader.closed:
            self.reader = self.store()
        return self.reader.execute(query, params).fetchall()

    def descriptor(self, table: str | TableId) -> Descriptor:
        """The newest version of a table, by its name or id."""
        rows = self.read(
            "SELECT d.body FROM catalog_table t JOIN catalog_descriptor d ON d.table_id = t.id"
            " AND d.version = t.version WHERE %s IN (t.name, t.id::text) AND t.state = 'live'", [str(table)],
        )  # fmt: skip
        assert rows, table
        return from_json(rows[0][0])

    def publish(self, new: Descriptor, *, nodes: tuple[str, ...] = ("n1", "n2")) -> None:
        """Make `new` the newest version by the rule of L7, and wait until these nodes have heard of it."""
        deadline = time.monotonic() + START_S_MAX
        while True:
            with self.store() as store, store.transaction():
                hindrance = publishing.publish(store.cursor(), [new], storages=STORAGES)
                if hindrance is None:
                    publishing.close_last_but_one(store.cursor(), [new], storages=STORAGES)
                    break
            assert time.monotonic() < deadline, hindrance
            time.sleep(0.02)
        publish_news(new.table_id, new.version)
        for name in nodes:
            self.use(name, new)

    def use(self, node: str, version: Descriptor) -> None:
        """Have a node use this version of a table, the newest one."""
        with self.connect(node) as connection:
            for _ in range(500):
                lines = connection.execute(f'EXPLAIN SELECT 1 FROM "{version.name}"').fetchall()
                if any(line.endswith(f"@{version.version}") for (line,) in lines):
                    return
                time.sleep(0.02)
        raise AssertionError(f"{node} does not use {version}")

    def pairs(self, table: str | TableId) -> list[dict[bytes, bytes | None]]:
        """The pairs of a table, storage by storage."""
        table_id = self.descriptor(table).table_id
        return [dict(self.read(pairs_sql.pairs(n, table_id))) for n in range(1, STORAGES + 1)]

    def violations(self, table: str) -> list[str]:
        """What the seven clauses say of a table's pairs, and of what they refer to."""
        descriptor = self.descriptor(table)
        others = {c.references for c in descriptor.foreign_keys if c.references != descriptor.table_id}
        referenced = [Referenced(self.descriptor(t), self.pairs(t)) for t in others if t is not None]
        pairs = self.pairs(table)
        with self.store() as connection:
            answers = answers_for(descriptor, pairs, connection)
        return [str(violation) for violation in check(descriptor, pairs, referenced=referenced, answers=answers)]

    def stop(self, name: str, number: signal.Signals = signal.SIGTERM) -> int:
        process = self.processes.pop(name)
        process.send_signal(number)
        process.send_signal(signal.SIGCONT)
        return process.wait(20)


@pytest.fixture(scope="package")
def cluster(services: None, django_db_blocker: Any) -> Iterator[Cluster]:
    from django.conf import settings

    from schemalab.embedded.locations import locations_of
    from schemalab.embedded.postgres import bin_folder

    locations = locations_of(settings.HOME)
    with psycopg.connect(locations.url_of("postgres"), autocommit=True) as admin:
        admin.execute("CREATE DATABASE nodes_cluster")
        with django_db_blocker.unblock():
            migrate("nodes_cluster")
        found = Cluster(locations.url_of("nodes_cluster"), settings.REDIS_URL, settings.HOME, bin_folder(locations))
        try:
            for begin in (found.begin_to_start, found.wait_until_started):
                for name in ("n1", "n2"):
                    begin(name)
            yield found
        finally:
            for name in list(found.processes):
                found.stop(name)
            admin.execute("DROP DATABASE nodes_cluster WITH (FORCE)")


def migrate(database: str) -> None:
    """Migrate it from here, which has all modules loaded."""
    from django.contrib.contenttypes.models import ContentType
    from django.core.management import call_command
    from django.db import connection

    usual = connection.settings_dict["NAME"]
    connection.close()
    connection.settings_dict["NAME"] = database
    try:
        call_command("migrate", verbosity=0)
    finally:
        connection.close()
        connection.settings_dict["NAME"] = usual
        ContentType.objects.clear_cache()


@pytest.fixture
def short(cluster: Cluster) -> Iterator[str]:
    """The name of a node whose leases last two seconds; it must not lose them in a test."""
    name = "short"
    if name not in cluster.processes or cluster.processes[name].poll() is not None:
        cluster.start(name, lease_s=SHORT_LEASE_S)
    yield name
    assert cluster.processes[name].poll() is None


@pytest.fixture
def n1(cluster: Cluster) -> Iterator["psycopg.Connection[Any]"]:
    """A client of node n1, in autocommit."""
    with cluster.connect("n1") as connection:
        yield connection


@pytest.fixture
def n2(cluster: Cluster) -> Iterator["psycopg.Connection[Any]"]:
    with cluster.connect("n2") as connection:
        yield connection


@pytest.fixture(scope="package")
def worker(cluster: Cluster) -> Iterator[None]:
    """A Celery worker that drives changes and does their small reorganisations."""
    command = [sys.executable, "-m", "celery", "--quiet", "-A", "schemalab", "worker", "--pool", "threads"]
    command += ["--concurrency", "4", "--queues", "default,spark", "--loglevel", "ERROR", "--without-gossip"]
    process = subprocess.Popen([*command, "--without-mingle"], cwd=ROOT, env=cluster.environ())
    try:
        wait_for_a_worker()
        yield
    finally:
        process.terminate()
        process.wait(30)


def wait_for_a_worker() -> None:
    """Until one answers: without a beat, what is sent before that is lost when its time has run out."""
    from schemalab.celery import app

    deadline = time.monotonic() + 2 * START_S_MAX
    while not app.control.ping(timeout=0.5):
        assert time.monotonic() < deadline, "the worker does not answer"


Runner = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def program(cluster: Cluster) -> Runner:
    """Runs a PostgreSQL client program against a node."""

    def run(name: str, *args: str, node: str = "n1", stdin: str | None = None) -> "subprocess.CompletedProcess[str]":
        where = ["-h", "127.0.0.1", "-p", str(cluster.ports[node]), "-U", "tester"]
        command = [str(cluster.binaries / name), *where, *args]
        return subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=60)

    return run


@pytest.fixture
def raw(cluster: Cluster) -> Iterator[Raw]:
    """A session of node n1, byte by byte."""
    with Raw(cluster.ports["n1"]) as connection:
        connection.startup()
        yield connection
