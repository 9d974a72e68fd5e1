"""The cluster is ready when the page answers and every node that was started has registered."""

import asyncio
import time
import urllib.error
import urllib.request
from collections.abc import Mapping

import psycopg
from django.core.management import get_commands

from schemalab.launch.plan import Plan
from schemalab.supervisor.process import Supervised

PAUSE_S = 0.1
ANSWER_S_MAX = 2.0


def has_command(name: str) -> bool:
    return name in get_commands()


async def wait_until_ready(plan: Plan, processes: Mapping[str, Supervised], *, seconds_max: float) -> list[str]:
    """The names of what is missing at the limit; empty when ready."""
    deadline = time.monotonic() + seconds_max
    while True:
        pids = {name: processes[name].pid for name in plan.node_ports}
        missing = await asyncio.to_thread(what_is_missing, plan, pids)
        if not missing or time.monotonic() > deadline:
            return missing
        await asyncio.sleep(PAUSE_S)


def what_is_missing(plan: Plan, pids: Mapping[str, int | None]) -> list[str]:
    """`pids` are the nodes' processes: rows of earlier runs do not count."""
    with psycopg.connect(plan.database_url, autocommit=True) as connection:
        registered = dict(connection.execute("SELECT name, pid FROM leases_node WHERE state = 'up'").fetchall())
    missing = [f"{name} has not registered" for name, pid in pids.items() if pid is None or registered.get(name) != pid]
    return missing if page_answers(plan.address) else [f"the page at {plan.address} does not answer", *missing]


def page_answers(address: str) -> bool:
    try:
        with urllib.request.urlopen(f"{address}/healthz", timeout=ANSWER_S_MAX):  # noqa: S310 (our own address)
            return True
    except urllib.error.HTTPError as answer:
        return answer.code == 503  # not well yet, but the page is there
    except OSError:
        return False
