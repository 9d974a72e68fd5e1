"""Every kind of schema change, there and back, on the demo's flights beside checked traffic.

Not a measurement of speed: each line says how many versions a change took, how long, and that nothing
was lost. `python -m tools.bench.kinds` runs it (about twelve minutes) and prints the lines as they come.
"""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import psycopg

from tests.harness.cluster import ROOT, RunningCluster, running_cluster

LOAD_S_MAX = 300.0
AUDIT_S_MAX = 300.0
CHANGE_S_MAX = 300.0
COLUMNS = "carrier,dest"
"""What traffic reads and writes: columns that no change here takes away."""

KINDS: tuple[tuple[str, str, str], ...] = (
    ("plain index", "CREATE INDEX f_dest ON flights (dest)", "DROP INDEX f_dest"),
    (
        "index of two columns, one descending",
        "CREATE INDEX f_two ON flights (origin, distance DESC)",
        "DROP INDEX f_two",
    ),
    ("partial index", "CREATE INDEX f_late ON flights (dest) WHERE dep_delay > 60", "DROP INDEX f_late"),
    ("unique index", "CREATE UNIQUE INDEX f_unique ON flights (id, dest)", "DROP INDEX f_unique"),
    ("optional column", "ALTER TABLE flights ADD COLUMN note text", "ALTER TABLE flights DROP COLUMN note"),
    (
        "required column",
        "ALTER TABLE flights ADD COLUMN stops integer NOT NULL DEFAULT 0",
        "ALTER TABLE flights DROP COLUMN stops",
    ),
    (
        "column with a stable default",
        "ALTER TABLE flights ADD COLUMN seen timestamptz DEFAULT now()",
        "ALTER TABLE flights DROP COLUMN seen",
    ),
    (
        "NOT NULL",
        "ALTER TABLE flights ALTER COLUMN dest SET NOT NULL",
        "ALTER TABLE flights ALTER COLUMN dest DROP NOT NULL",
    ),
    (
        "CHECK",
        "ALTER TABLE flights ADD CONSTRAINT far CHECK (distance > 0)",
        "ALTER TABLE flights DROP CONSTRAINT far",
    ),
    (
        "type change",
        "ALTER TABLE flights ALTER COLUMN distance TYPE bigint",
        "ALTER TABLE flights ALTER COLUMN distance TYPE integer",
    ),
    (
        "sharding key",
        "ALTER TABLE flights SET (sharding_key = 'dest')",
        "ALTER TABLE flights SET (sharding_key = 'id')",
    ),
    (
        "number of storages",
        "ALTER TABLE flights SET (storages = 3)",
        "ALTER TABLE flights SET (storages = 2)",
    ),
    (
        "coordination",
        "ALTER TABLE flights SET (coordination = 'hash')",
        "ALTER TABLE flights SET (coordination = 'lease')",
    ),
    (
        "column's name",
        "ALTER TABLE flights RENAME COLUMN tailnum TO plane",
        "ALTER TABLE flights RENAME COLUMN plane TO tailnum",
    ),
    (
        "default",
        "ALTER TABLE flights ALTER COLUMN origin SET DEFAULT 'JFK'",
        "ALTER TABLE flights ALTER COLUMN origin DROP DEFAULT",
    ),
    (
        "several at once",
        "ALTER TABLE flights ADD COLUMN gate integer DEFAULT 1, ADD CONSTRAINT has_gate CHECK (gate > 0),"
        " ADD CONSTRAINT one_gate UNIQUE (id, gate)",
        "ALTER TABLE flights DROP CONSTRAINT has_gate, DROP COLUMN gate",
    ),
    (
        "foreign key, across two tables",
        "ALTER TABLE flights ADD CONSTRAINT f_carrier FOREIGN KEY (carrier) REFERENCES carriers",
        "ALTER TABLE flights DROP CONSTRAINT f_carrier",
    ),
    (
        "name of a constraint",
        "ALTER TABLE flights ADD CONSTRAINT airborne CHECK (distance > 0)",
        "ALTER TABLE flights RENAME CONSTRAINT airborne TO aloft",
    ),
    ("table", "CREATE TABLE crews (id bigint PRIMARY KEY, name text NOT NULL)", "DROP TABLE crews"),
)

REFUSED = (
    ("unique index over duplicates", "CREATE UNIQUE INDEX f_dup ON flights (dest)"),
    (
        "foreign key of rows that refer to nothing",
        "ALTER TABLE flights ADD CONSTRAINT f_lost FOREIGN KEY (origin) REFERENCES carriers",
    ),
)
"""What the rows that are there forbid: the change fails, names them and rolls back."""

HEAD = """| change | versions there, back | seconds there, back | statements beside it, errors | audit |
|---|---|---|---|---|"""


@dataclass(frozen=True, slots=True)
class Seen:
    """The figures of one change."""

    status: str
    versions: int
    seconds: float
    error: str


def main() -> None:
    with running_cluster(LEASE_S="30") as cluster:
        loaded = cluster.manage("demo", "load", seconds_max=LOAD_S_MAX)
        assert loaded.returncode == 0, loaded.stderr
        added = cluster.manage("storages", "add")
        assert added.returncode == 0, added.stderr
        make_carriers(cluster)
        print(HEAD)
        for what, there, back in KINDS:
            print(line(cluster, what, there, back), flush=True)
        ends = [refused(cluster, what, statement) for what, statement in REFUSED]
        print("", *ends, sep="\n")


def make_carriers(cluster: RunningCluster) -> None:
    """The table that a foreign key of flights refers to."""
    with psycopg.connect(cluster.nodes["n1"].dsn, autocommit=True) as node:
        node.execute("CREATE TABLE carriers (code text PRIMARY KEY, name text)")
        for (code,) in node.execute("SELECT DISTINCT carrier FROM flights").fetchall():
            node.execute("INSERT INTO carriers VALUES (%s, %s)", (code, f"carrier {code}"))


def refused(cluster: RunningCluster, what: str, statement: str) -> str:
    """A change that must fail; how it ended."""
    with traffic(cluster) as summary:
        seen = run(cluster, statement)
    print(f"| {what} | {seen.versions} | {seen.seconds:.1f} | {in_one_line(summary)} | {audit(cluster)} |", flush=True)
    return f"{what} ended {seen.status}: {seen.error}"


def line(cluster: RunningCluster, what: str, there: str, back: str) -> str:
    with traffic(cluster) as summary:
        first = run(cluster, there)
        middle = audit(cluster)
        second = run(cluster, back)
    seen = (first, second)
    failed = "".join(f" {one.status}: {one.error}" for one in seen if one.status != "done")
    versions = ", ".join(str(one.versions) for one in seen)
    seconds = ", ".join(f"{one.seconds:.1f}" for one in seen)
    return f"| {what} | {versions} | {seconds}{failed} | {in_one_line(summary)} | {middle}, {audit(cluster)} |"


def run(cluster: RunningCluster, statement: str, *, seconds_max: float = CHANGE_S_MAX) -> Seen:
    """Submit through the command and wait for the end."""
    began = time.monotonic()
    done = cluster.manage("change", "submit", statement, "--wait", "--json", seconds_max=seconds_max)
    seconds = time.monotonic() - began
    query = "SELECT id, status, coalesce(error ->> 'message', '') FROM changes_change ORDER BY id DESC LIMIT 1"
    versions = "SELECT count(*) FROM catalog_storyevent WHERE stream = %s AND kind = 'version published'"
    with psycopg.connect(cluster.database_url) as database:
        change, status, error = database.execute(query).fetchone() or (0, "refused", "")
        published = (database.execute(versions, (f"change:{change}",)).fetchone() or (0,))[0]
    return Seen(status if done.returncode in (0, 1) else "refused", published, seconds, error or done.stderr.strip())


def audit(cluster: RunningCluster) -> str:
    """Of both tables."""
    for table in ("flights", "carriers"):
        done = cluster.manage("audit", table, seconds_max=AUDIT_S_MAX)
        if done.returncode != 0:
            return f"**{(done.stdout + done.stderr).strip()[:200]}**"
    return "clean"


@contextmanager
def traffic(cluster: RunningCluster) -> Iterator[dict[str, Any]]:
    """Checked reads and writes on all nodes; filled in when the block ends."""
    summary: dict[str, Any] = {}
    command = [sys.executable, "manage.py", "traffic", "--columns", COLUMNS, "--json"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=ROOT, env=cluster.env, stdout=pipe, stderr=pipe, text=True) as process:
        try:
            yield summary
        finally:
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=60)
            summary.update(
                json.loads(out) if out.startswith("{") else {"errors": err[-300:], "statements": 0, "shown": []}
            )


def in_one_line(summary: dict[str, Any]) -> str:
    shown = "".join(f"; {words}" for words in summary["shown"][:2])
    return f"{summary['statements']}, {summary['errors']}{shown}"


if __name__ == "__main__":
    main()
