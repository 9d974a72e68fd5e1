"""Run every client against a node of a cluster of its own, and write docs/reference/clients.md."""

import os
import platform
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from tests.clients import programs
from tests.clients.installed import HOME, ROOM, Missing, compiled, jdbc, node_modules, python
from tests.clients.outcomes import Client, Outcome, keep, kept, read
from tests.clients.page import write_page
from tests.harness.cluster import RunningCluster, running_cluster

DRIVERS = ROOM / "drivers"
SEEN = HOME / "seen"
SECONDS_MAX = int(os.environ.get("CLIENT_SECONDS_MAX", "300"))
PYTHON = (
    ("with_psycopg2",), ("with_psycopg3",), ("with_asyncpg",), ("with_pg8000",),
    ("with_sqlalchemy", "psycopg"), ("with_sqlalchemy", "psycopg2"), ("with_sqlalchemy", "pg8000"), ("with_django",),
    ("with_frames", "pandas"), ("with_frames", "polars"), ("with_frames", "connectorx"), ("with_frames", "adbc"),
    ("with_duckdb",),
)  # fmt: skip
NODE_JS = ("with_pg", "with_postgresjs", "with_knex")


def main(wanted: Sequence[str]) -> None:
    """Run all, or those of which a word is `wanted`; the page is what the last run of each client saw."""
    with running_cluster(ready_s_max=SECONDS_MAX, LEASE_S="30") as cluster:
        environ = environment(cluster)
        for place, words, run in in_order(environ):
            if not wanted or any(word.removeprefix("with_") in wanted for word in words):
                for number, client in enumerate(run()):
                    keep(SEEN, f"{place:02}.{number}", client)
                    print(f"{client.name} {client.version}: {client.untried or len(client.steps)}", flush=True)
                    for step in client.steps:
                        if step.outcome is not Outcome.WORKS:
                            print(f"  {step.what}: {step.outcome.value}: {step.message}", flush=True)
    machine = f"{platform.system()}, Python {platform.python_version()}"
    print(f"written to {write_page(machine, kept(SEEN))}")


def in_order(environ: dict[str, str]) -> Iterator[tuple[int, Sequence[str], Callable[[], Sequence[Client]]]]:
    """Every client as the page has them: its place, the words it is called by, its run."""
    runs: list[tuple[Sequence[str], Callable[[], Sequence[Client]]]] = [
        (words, partial(with_python, words, environ)) for words in PYTHON
    ]
    runs += [((name,), partial(with_node_js, name, environ)) for name in NODE_JS]
    runs += [(("pgjdbc",), partial(with_java, environ))]
    runs += [((name,), partial(run, environ)) for name, run in programs.PROGRAMS.items()]
    yield from ((place, words, run) for place, (words, run) in enumerate(runs))


def environment(cluster: RunningCluster) -> dict[str, str]:
    """The environment in which a client of PostgreSQL finds its server; in PGPORTS those of all nodes."""
    node, ports = cluster.nodes["n1"], ",".join(str(one.port) for one in cluster.nodes.values())
    where = {"PGHOST": node.host, "PGPORT": str(node.port), "PGUSER": "owner", "PGDATABASE": "schemalab"}
    more = {"PGOPTIONS": "", "PGPORTS": ports, "SCHEMA_CHANGES": str(DRIVERS / "schema_changes.tsv")}
    return {**os.environ, **where, **more, "DATABASE_URL": cluster.database_url}


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
    return read(shown, done.stdout.splitlines(), failure)


def with_python(words: Sequence[str], environ: dict[str, str]) -> list[Client]:
    name, *more = words
    return [one(name, [str(python()), str(DRIVERS / f"{name}.py"), *more], environ)]


def with_node_js(name: str, environ: dict[str, str]) -> list[Client]:
    try:
        modules = node_modules()
    except Missing as missing:
        return [Client(name.removeprefix("with_"), untried=str(missing))]
    return [one(name, ["node", str(DRIVERS / f"{name}.js")], {**environ, "NODE_PATH": str(modules)})]


def with_java(environ: dict[str, str]) -> list[Client]:
    try:
        archive, classes = jdbc(), compiled(DRIVERS)
    except Missing as missing:
        return [Client("pgjdbc", untried=str(missing))]
    return [one("pgjdbc", ["java", "-cp", f"{archive}:{classes}", "WithJdbc"], environ)]


if __name__ == "__main__":
    main(sys.argv[1:])
