"""The processes of a running cluster that can be killed or frozen, and how each is found."""

from collections.abc import Callable
from dataclasses import dataclass

import psutil

from schemalab.supervisor.control import NotRunning
from tests.harness.cluster import RunningCluster

SUPERVISED = ("worker", "maintenance", "spark", "lab", "beat", "web", "redis")
STORE_CHILDREN = {
    "WAL writer": "postgres: walwriter",
    "checkpointer": "postgres: checkpointer",
    "backend": "postgres: schemalab ",
}


@dataclass(frozen=True, slots=True)
class Victim:
    """`find` gives its processes, one of which is struck (all of them when `is_group`)."""

    name: str
    find: Callable[[RunningCluster], list[psutil.Process]]
    is_group: bool = False
    is_store: bool = False
    """Its death makes PostgreSQL recover."""


def supervised(cluster: RunningCluster, *names: str) -> list[psutil.Process]:
    """The running ones of these."""
    try:
        known = cluster.processes()
    except (NotRunning, OSError, ValueError):
        return []
    pids = [known[name]["pid"] for name in names if name in known]
    return [found for pid in pids if isinstance(pid, int) and (found := process(pid)) is not None]


def process(pid: int) -> psutil.Process | None:
    try:
        return psutil.Process(pid)
    except psutil.NoSuchProcess:
        return None


def children(cluster: RunningCluster, parent: str, is_meant: Callable[[str], bool]) -> list[psutil.Process]:
    """The descendants of a supervised process whose command line is meant."""
    found = []
    for one in supervised(cluster, parent):
        try:
            below = one.children(recursive=True)
        except psutil.NoSuchProcess:
            continue
        found += [child for child in below if is_meant(command_of(child))]
    return found


def command_of(one: psutil.Process) -> str:
    try:
        return " ".join(one.cmdline())
    except psutil.Error:
        return ""


def victims(cluster: RunningCluster) -> tuple[Victim, ...]:
    """Every kind of process there is."""
    nodes = tuple(cluster.nodes)
    single = (*nodes, *SUPERVISED)
    return (
        *(Victim(name, lambda c, name=name: supervised(c, name)) for name in single),
        Victim("all nodes", lambda c: supervised(c, *nodes), is_group=True),
        Victim("Spark's JVM", lambda c: children(c, "spark", lambda command: "java" in command.split(" ")[0])),
        Victim("lab's child", lambda c: children(c, "lab", lambda command: "celery" in command)),
        Victim("postmaster", lambda c: supervised(c, "postgres"), is_store=True),
        *(
            Victim(
                name,
                lambda c, title=title: children(c, "postgres", lambda command: command.startswith(title)),
                is_store=True,
            )
            for name, title in STORE_CHILDREN.items()
        ),
    )
