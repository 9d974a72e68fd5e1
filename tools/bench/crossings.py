"""Our code that one statement crosses in a node: modules that are entered, and forms (classes) of which it makes an
instance, without `nodes.clients` and `nodes.wire`.

The node runs under `sys.setprofile`. A statement is sent some times before it counts, so that its parse and plan are
kept; then `ROUNDS` times. What is not in all rounds (heartbeats, news) was not the statement's.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import psycopg

from tests.harness.cluster import ROOT, RunningCluster
from tools.bench.report import Figure

NODE = "counted"
ROUNDS, BEFORE = 5, 20
OURS = ("catalog", "storage", "leases", "changes", "expressions", "nodes", "schemalab")
BEFORE_THE_SESSION = ("nodes.clients", "nodes.wire")
SETTLED_S = 0.3
CASES = (
    ("SELECT by key", 25, None, "SELECT name, score FROM bench_crossed WHERE id = %s"),
    (
        "UPDATE with an expression and RETURNING",
        35,
        8,
        "UPDATE bench_crossed SET score = score + 1 WHERE id = %s RETURNING id, score",
    ),
)
"""Name, limit of modules, limit of forms, statement."""


def measure(cluster: RunningCluster) -> list[Figure]:
    with psycopg.connect(next(iter(cluster.nodes.values())).dsn, autocommit=True) as node:
        node.execute("CREATE TABLE bench_crossed (id bigint PRIMARY KEY, name text, score integer)")
        node.execute("INSERT INTO bench_crossed VALUES (1, 'name', 7)")
    with counted_node(cluster) as (process, dsn), psycopg.connect(dsn, autocommit=True) as client:
        client.prepare_threshold = 0
        return [_figure(*case[:3], _seen(process, client, case[3])) for case in CASES]


def _figure(what: str, modules_max: int, forms_max: int | None, seen: dict[str, list[str]]) -> Figure:
    goal = f"at most {modules_max} modules" + (f" and {forms_max} forms" if forms_max else "")
    counts = f"{len(seen['modules'])} modules, {len(seen['forms'])} forms"
    listed = f"{', '.join(seen['modules'])}; forms: {', '.join(seen['forms'])}"
    return Figure(f"{what}: code it crosses in a node", goal, counts, f"See `tools/bench/crossings.py`. {listed}.")


def _seen(process: "subprocess.Popen[str]", client: "psycopg.Connection[Any]", statement: str) -> dict[str, list[str]]:
    for _ in range(BEFORE):
        client.execute(statement, (1,)).fetchall()
    rounds = []
    for _ in range(ROUNDS):
        time.sleep(SETTLED_S)
        _asked(process)
        client.execute(statement, (1,)).fetchall()
        rounds.append(_asked(process))
    return {kind: sorted(set.intersection(*(set(one[kind]) for one in rounds))) for kind in rounds[0]}


def _asked(process: "subprocess.Popen[str]") -> dict[str, list[str]]:
    """Modules and forms crossed since the last question."""
    assert process.stdout is not None
    process.send_signal(signal.SIGUSR1)
    counts: dict[str, list[str]] = json.loads(process.stdout.readline())
    return counts


@contextmanager
def counted_node(cluster: RunningCluster) -> Iterator[tuple["subprocess.Popen[str]", str]]:
    command = [sys.executable, "-m", "tools.bench.crossings"]
    process = subprocess.Popen(command, cwd=ROOT, env=cluster.env, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        for line in process.stdout:
            if line.startswith(f"node {NODE} incarnation"):
                break
        port = line.rsplit(":", 1)[1].strip()
        time.sleep(2 * SETTLED_S)
        yield process, f"host=127.0.0.1 port={port} user=owner dbname=schemalab"
    finally:
        process.terminate()
        process.wait(20)


class Crossed:
    def __init__(self) -> None:
        self.modules: set[str] = set()
        self.forms: set[str] = set()

    def enter(self, frame: FrameType, event: str, _argument: object) -> None:
        if event != "call":
            return
        module = frame.f_globals.get("__name__", "")
        if _is_counted(module):
            self.modules.add(module)
        if frame.f_code.co_name == "__init__" and "self" in frame.f_locals:
            made = type(frame.f_locals["self"])
        elif module.startswith("namedtuple_") and "_cls" in frame.f_locals:
            made = frame.f_locals["_cls"]
        else:
            return
        if _is_counted(made.__module__):
            self.forms.add(f"{made.__module__}.{made.__qualname__}")

    def report(self, *_signal: object) -> None:
        counts = {"modules": sorted(self.modules), "forms": sorted(self.forms)}
        self.modules, self.forms = set(), set()
        print(json.dumps(counts), flush=True)


def _is_counted(module: str) -> bool:
    return module.partition(".")[0] in OURS and not module.startswith(BEFORE_THE_SESSION)


def main() -> None:
    sys.path.insert(0, str(Path(__file__).parents[2]))
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "schemalab.settings")
    import django
    from django.core.management import call_command

    django.setup()
    crossed = Crossed()
    signal.signal(signal.SIGUSR1, crossed.report)
    sys.setprofile(crossed.enter)
    call_command("node", NODE)


if __name__ == "__main__":
    main()
