"""The wait of a step for nodes: until the last use of an older version has ended.

    published v7  |=======================|
    n1 on v6      |==|
    n2 on v6      |=========|                 the wait for nodes is n2's; what is left of the step's time is not
                                              theirs: the database was busy, a transaction outlived its lease, ..

The steps of a change and its lanes tell the same wait, since both ask here.
"""

from __future__ import annotations

from collections.abc import Iterable

from leases.staircase.facts import Use


def last_to_leave(uses: Iterable[Use], *, version: int, since: float) -> Use | None:
    """The use of a version older than `version` that lasts longest after `since`; one that lasts still comes first."""
    older = [use for use in uses if use.version < version and use.lasts(since)]
    return max(older, key=lambda use: (use.ended is None, use.ended or 0.0), default=None)
