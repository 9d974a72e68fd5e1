"""Names of nodes that are jobs.

load-4-0    worker 0 of load 4             loader 4-0
repair-7    what run 7 could not put       repairer 7
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable

JOB = re.compile(r"(load|repair)-(\d+(?:-\d+)?)")
WORDS = {"load": "loader {job}", "repair": "repairer {job}"}


def loader_name(job_id: int, part: int) -> str:
    return f"load-{job_id}-{part}"


def repairer_name(run_id: int) -> str:
    return f"repair-{run_id}"


def is_job(node: str) -> bool:
    """True for a node that leaves when its job ends."""
    return JOB.fullmatch(node) is not None


def node_in_words(node: str, translate: Callable[[str], str]) -> str:
    job = JOB.fullmatch(node)
    return node if job is None else translate(WORDS[job[1]]).format(job=job[2])


def list_comma(translate: Callable[[str], str]) -> str:
    """The comma in lists of names, which differs in Chinese."""
    return translate("{first}, {names}").format(first="", names="")


def nodes_in_other_words(text: str, translate: Callable[[str], str]) -> str:
    """Nodes by use, as `changes.executor.state.whom` lists them: "n1, n2 on airports and trips; n3 on x"."""
    found = []
    for use in text.split("; "):
        nodes, _, tables = use.partition(" on ")
        listed = list_comma(translate).join(node_in_words(node, translate) for node in nodes.split(", "))
        used = functools.reduce(
            lambda rest, first: translate("{table} and {tables}").format(table=first, tables=rest),
            reversed(tables.split(" and ")),
        )
        found.append(translate("{nodes} on {tables}").format(nodes=listed, tables=used) if tables else listed)
    return functools.reduce(
        lambda rest, first: translate("{first}; {rest}").format(first=first, rest=rest), reversed(found)
    )
