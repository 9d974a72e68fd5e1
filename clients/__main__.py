"""Run every client against a node of a cluster of its own, and write docs/reference/clients.md."""

import os
import platform
import subprocess
import sys
from collections.abc import Sequence

from clients import programs
from clients.installed import HOME, ROOM, Missing, jdbc, node_modules, python
from clients.outcomes import Client, read
from clients.page import write_page
from schemalab.testing.cluster import RunningCluster, running_cluster

DRIVERS = ROOM / "drivers"
SECONDS_MAX = 300
PYTHON = (
    ("with_psycopg2",), ("with_psycopg3",), ("with_asyncpg",), ("with_pg8000",),
    ("with_sqlalchemy", "psycopg"), ("with_sqlalchemy", "psycopg2"), ("with_sqlalchemy", "pg8000"), ("with_django",),
    ("with_frames", "pandas"), ("with_frames", "polars"), ("with_frames", "connectorx"), ("with_frames", "adbc"),
    ("with_duckdb",),
)  # fmt: skip
NODE_JS = ("with_pg", "with_postgresjs", "with_knex")


def main(wanted: Sequence[str]) -> None:
    """Run all and write the page, or run those of which a word is `wanted`, and show each step."""
    with running_cluster(LEASE_S="30") as cluster:
        environ = environment(cluster)
        clients = [
            one(name, [str(python()), str(DRIVERS / f"{name}.py"), *more], environ)
            for name, *more in PYTHON
            if is_wanted(wanted, name, *more)
        ]
        clients += [with_node_js(name, environ) for name in NODE_JS if is_wanted(wanted, name)]
        clients += [with_java(environ)] if is_wanted(wanted, "pgjdbc") else []
        clients += programs.all_of(environ, python, lambda name: is_wanted(wanted, name))
    if wanted:
        for client in clients:
            for step in client.steps:
                print(f"{client.name}: {step.what}: {step.outcome.value} {step.message}")
        return
    machine = f"{platform.system()}, Python {platform.python_version()}"
    print(f"written to {write_page(machine, clients)}")


def is_wanted(wanted: Sequence[str], *words: str) -> bool:
    return not wanted or any(one.removeprefix("with_") in wanted for one in words)


def environment(cluster: RunningCluster) -> dict[str, str]:
    """The environment in which a client of PostgreSQL finds its server."""
    node = cluster.nodes["n1"]
    where = {"PGHOST": node.host, "PGPORT": str(node.port), "PGUSER": "owner", "PGDATABASE": "schemalab"}
    return {**os.environ, **where, "PGOPTIONS": "", "DATABASE_URL": cluster.database_url}


def one(name: str, command: Sequence[str], environ: dict[str, str]) -> Client:
    """Run a driver's script; what it printed."""
    shown = name.removeprefix("with_")
    try:
        done = subprocess.run(
            command, env=environ, capture_output=True, text=True, check=False, timeout=SECONDS_MAX, cwd=HOME
        )
    except subprocess.TimeoutExpired as late:
        lines = (late.stdout or b"").decode().splitlines() if isinstance(late.stdout, bytes) else []
        return read(shown, lines, f"not done after {SECONDS_MAX} s")
    failure = (done.stderr.strip().splitlines() or ["no word"])[-1] if done.returncode else ""
    client = read(shown, done.stdout.splitlines(), failure)
    print(f"{client.name} {client.version}: {[step.what for step in client.steps if step.outcome.value != 'works']}")
    return client


def with_node_js(name: str, environ: dict[str, str]) -> Client:
    try:
        modules = node_modules()
    except Missing as missing:
        return Client(name.removeprefix("with_"), untried=str(missing))
    return one(name, ["node", str(DRIVERS / f"{name}.js")], {**environ, "NODE_PATH": str(modules)})


def with_java(environ: dict[str, str]) -> Client:
    try:
        archive = jdbc()
    except Missing as missing:
        return Client("pgjdbc", untried=str(missing))
    return one("pgjdbc", ["java", "-cp", str(archive), str(DRIVERS / "WithJdbc.java")], environ)


if __name__ == "__main__":
    main(sys.argv[1:])
