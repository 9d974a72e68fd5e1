"""The wait of a step for nodes: until the last use of an older version has ended. The rest of a step's wait is the
database's or a transaction's. Steps of a change and lanes show the same wait."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from catalog.text.job_nodes import is_job
from leases.staircase.facts import Use, Walk

LAG_S = 1.0
"""A job that used a version so long after the next one was out was in its way."""


def last_to_leave(uses: Iterable[Use], *, version: int, since: float) -> Use | None:
    older = [use for use in uses if use.version < version and use.lasts(since)]
    return max(older, key=lambda use: (use.ended is None, use.ended or 0.0), default=None)


def without_passing_jobs(walk: Walk, end: float) -> Walk:
    """The walk without jobs that ended before `end` and blocked nothing."""
    published = {one.version: one.published_at for one in walk.versions}

    def stays(use: Use) -> bool:
        if use.ended is None or use.ended > end:
            return True
        out = min((at for version, at in published.items() if version > use.version), default=use.ended)
        return use.ended - out >= LAG_S

    staying = {use.node for use in walk.uses if not is_job(use.node) or stays(use)}
    return replace(walk, uses=tuple(use for use in walk.uses if use.node in staying))
