"""From a wait or a refusal on the operations pages to a session in the same state: why does it wait, why not?

    a change waits for n1, which leases v1      two versions at most: v3 is refused while n1 is on v1
    a change waits for a node that has died     its lease runs on, and the clock is the learner's
    a unique index is refused for its rows      two rows, one entry

Each door is a session: a set-up, and the steps into the situation.
"""

from collections.abc import Mapping

from lab.sessions.model.setups import NODE_2_IS_AHEAD, TO_THE_FILL
from lab.sessions.session import BadSession, Session


def _behind(setup: str, *steps: str, **parameters: str | list[str | int | bool]) -> Session:
    return Session(setup, parameters, frozenset(), steps)


DOORS: Mapping[str, Session] = {
    "lease": _behind("two-versions", *NODE_2_IS_AHEAD),
    "dead-node": _behind("leases", "n1: crash", "step", "step"),
    "open-transaction": _behind("frozen-node", "n1: freeze", "step", "step"),
    "news": _behind("news", "lose news", "step", "step"),
    "delete-only": _behind("full-ladder", *NODE_2_IS_AHEAD),
    "write-only": _behind("full-ladder", "publish.2", "n1.acquire", "n2.acquire", "publish.3", "n2.acquire"),
    "fill": _behind("fill", *TO_THE_FILL),
    "duplicates": _behind("unique-index", *TO_THE_FILL, rows=[1, 1]),
    "reference": _behind("foreign-key"),
    "violation": _behind("constraint"),
}
"""By the situation's name in a link."""


def door_to(situation: str) -> Session:
    """Raises `BadSession` when there is no such situation."""
    found = DOORS.get(situation)
    if found is None:
        raise BadSession(f"there is no situation {situation[:40]}; situations are: {', '.join(DOORS)}")
    return found
