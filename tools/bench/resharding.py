"""A table spread by another key beside checked traffic, and back: `python -m tools.bench.resharding`.

    idle        the traffic alone, for a while
    there       ALTER TABLE flights SET (sharding_key = 'dest') beside the traffic, then an audit
    back        ALTER TABLE flights SET (sharding_key = 'id') beside the traffic, then an audit

The demo's flights are used, or `--rows` of a table made like them. What was seen is written into `resharding.json` of
the folder `--keep` after each phase, whatever comes next: errors by SQLSTATE, statements, retries, the slowest answer,
the versions and seconds of the change, the audit, the rows. Exit code 0: no error, no wrong answer, both changes done,
audits clean, each row there once. Ctrl-C ends the traffic, keeps what was seen, and is exit code 1.
"""

import argparse
import json
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg

from nodes.traffic.book import FIRST_KEY
from schemalab.polling import wait_for
from tests.harness.cluster import ROOT, RunningCluster, running_cluster
from tools.bench.kinds import run

HOUR_S = 3600.0
TRAFFIC_S_MAX = 300.0
ROWS_AT_ONCE = 5_000
COLUMNS = "carrier,dest"
CODES = ("ATL", "LAX", "JFK", "SEA", "ORD", "BOS", "MIA", "DEN")
TABLE = (
    "CREATE TABLE flights (id bigint PRIMARY KEY, carrier text, origin text, dest text, distance integer,"
    " dep_delay integer)"
)
WRITTEN = "resharding.json"
Json = dict[str, Any]


def main() -> None:
    options = arguments().parse_args()
    folder = Path(options.keep or tempfile.mkdtemp(prefix="resharding-"))
    folder.mkdir(parents=True, exist_ok=True)
    report = Report(folder / WRITTEN)
    try:
        with running_cluster(LEASE_S="30") as cluster:
            measure(cluster, report, options)
    except KeyboardInterrupt:
        report.note("interrupted", True)
    print(f"kept in {report.file}")
    raise SystemExit(0 if report.is_clean else 1)


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tools.bench.resharding", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--rows", type=int, default=0, help="of a table made for it (default: the demo's 336,776)")
    parser.add_argument("--key", default="dest", help="the column that rows are spread by meanwhile (default: dest)")
    parser.add_argument("--rate", type=float, default=60.0, help="statements a second (60); 0: as many as go")
    parser.add_argument("--idle", type=float, default=20.0, help="seconds of traffic alone at first (20)")
    parser.add_argument("--keep", help="the folder for what is seen (default: one of its own in /tmp)")
    return parser


class Report:
    """The figures so far, written down as they come."""

    def __init__(self, file: Path) -> None:
        self.file, self.seen = file, dict[str, Any]()

    def note(self, what: str, seen: object) -> None:
        self.seen[what] = seen
        self.file.write_text(json.dumps(self.seen, indent=2) + "\n", encoding="utf-8")
        print(f"{what}: {json.dumps(seen)}", flush=True)

    @property
    def is_clean(self) -> bool:
        """True when everything has been done and nothing was wrong with it."""
        changes = [self.seen.get(phase, {}) for phase in ("there", "back")]
        traffic = [self.seen.get(f"traffic {phase}", {}) for phase in ("idle", "there", "back")]
        return (
            all(one.get("status") == "done" and one.get("audit") == "clean" and one.get("each once") for one in changes)
            and all(one.get("errors") == one.get("wrong") == 0 and one.get("statements", 0) > 0 for one in traffic)
            and "interrupted" not in self.seen
        )


def measure(cluster: RunningCluster, report: Report, options: argparse.Namespace) -> None:
    began = time.monotonic()
    if options.rows:
        make_flights(cluster, options.rows)
    else:
        loaded = cluster.manage("demo", "load", seconds_max=HOUR_S)
        assert loaded.returncode == 0, loaded.stdout + loaded.stderr
    rows = rows_there(cluster)
    report.note("rows", {"rows": rows, "loaded in s": round(time.monotonic() - began, 1), "rate": options.rate})
    with traffic(cluster, report, "idle", options.rate):
        time.sleep(options.idle)
    for phase, key in (("there", options.key), ("back", "id")):
        with traffic(cluster, report, phase, options.rate):
            change(cluster, report, phase, f"ALTER TABLE flights SET (sharding_key = '{key}')", rows)


def change(cluster: RunningCluster, report: Report, phase: str, statement: str, rows: int) -> None:
    done = run(cluster, statement, seconds_max=HOUR_S)
    seen: Json = {"statement": statement, "status": done.status, "versions": done.versions}
    seen |= {"seconds": round(done.seconds, 1), "error": done.error}
    report.note(phase, seen)
    began = time.monotonic()
    audited = cluster.manage("audit", "flights", seconds_max=HOUR_S)
    answer = (audited.stdout + audited.stderr).strip()
    seen |= {"audit": "clean" if audited.returncode == 0 else answer[:500], "audit said": answer[:300]}
    seen |= {"audit seconds": round(time.monotonic() - began, 1), "each once": rows_there(cluster) == rows}
    report.note(phase, seen)


def make_flights(cluster: RunningCluster, rows: int) -> None:
    with psycopg.connect(cluster.nodes["n1"].dsn, autocommit=True) as node:
        node.execute(TABLE)
        for first in range(1, rows + 1, ROWS_AT_ONCE):
            numbers = range(first, min(first + ROWS_AT_ONCE, rows + 1))
            listed = (
                f"({n}, '{CODES[n % 3]}', '{CODES[n % 5]}', '{CODES[n % len(CODES)]}', {n % 2500}, {n % 90})"
                for n in numbers
            )
            node.execute(f"INSERT INTO flights VALUES {', '.join(listed)}")


def rows_there(cluster: RunningCluster) -> int:
    """The rows that traffic does not come and go with; each is there once."""
    sql = f"SELECT count(*), count(DISTINCT id) FROM flights WHERE id < {FIRST_KEY}"
    with psycopg.connect(cluster.nodes["n2"].dsn, autocommit=True) as node:
        ((found, apart),) = node.execute(sql).fetchall()
    return int(found) if found == apart else -1


@contextmanager
def traffic(cluster: RunningCluster, report: Report, phase: str, rate: float) -> Iterator[None]:
    """Checked reads and writes on all nodes; what they saw is noted when the block ends, however it ends."""
    command = [sys.executable, "manage.py", "traffic", "--columns", COLUMNS, "--json", "--rate", str(rate)]
    files = [report.file.parent / f"traffic-{phase}.{name}" for name in ("json", "err")]
    with files[0].open("w") as out, files[1].open("w") as err:
        process = subprocess.Popen(command, cwd=ROOT, env=cluster.env, stdout=out, stderr=err, text=True)
        try:
            wait_for(lambda: has_written(cluster), what="the traffic", seconds_max=TRAFFIC_S_MAX)
            yield
        finally:
            process.send_signal(signal.SIGINT)
            report.note(f"traffic {phase}", _summary(process, *files))


def has_written(cluster: RunningCluster) -> bool:
    """True when rows of the traffic are there: it deletes them at its end."""
    sql = f"SELECT count(*) FROM flights WHERE id >= {FIRST_KEY}"
    with psycopg.connect(cluster.nodes["n2"].dsn, autocommit=True) as node:
        ((found,),) = node.execute(sql).fetchall()
    return bool(found)


def _summary(process: "subprocess.Popen[str]", out: Path, err: Path) -> Json:
    """The summary that the traffic leaves when it has ended; else how it ended, and what it said."""
    try:
        process.wait(TRAFFIC_S_MAX)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    text = out.read_text()
    if text.startswith("{"):
        found: Json = json.loads(text)
        return found
    return {"errors": f"no summary, exit code {process.returncode}: {err.read_text()[-1000:]}"}


if __name__ == "__main__":
    main()
