"""Sessions that explain a wait or a refusal on the operations pages, by the situation."""

from collections.abc import Mapping

from lab.sessions.model.setups import NODE_2_IS_AHEAD, TO_THE_FILL
from lab.sessions.session import BadSession, Session
from lab.sessions.short_steps import in_full


def _behind(setup: str, *steps: str, **parameters: str | list[str | int | bool]) -> Session:
    return Session(setup, parameters, frozenset(), in_full(steps))


OPEN = ("n1.begin", "n1.read.1", "n1.write.insert.1.1")
FILLED = ("fill.read.1.1", "fill.put.1.1", "fill.read.2.1", "fill.put.2.1")
LINKED = ("n1.acquire.child", "n1.acquire.parent", "n2.acquire.child", "n2.acquire.parent")
BOTH_FOLLOW = ("n1.acquire", "n2.acquire")
TYPE_SERVED_TWICE = ("publish.2", *BOTH_FOLLOW, "drain.2", "publish.3", *BOTH_FOLLOW)

DOORS: Mapping[str, Session] = {
    "lease": _behind("two-versions", *NODE_2_IS_AHEAD),
    "dead-node": _behind("leases", "n1: crash", "step", "step"),
    "open-transaction": _behind("two-versions", *OPEN, *NODE_2_IS_AHEAD),
    "outlived-lease": _behind("two-versions", *OPEN, *NODE_2_IS_AHEAD, "n1.expire"),
    "news": _behind("news", "lose news", "step", "step"),
    "delete-only": _behind("full-ladder", *NODE_2_IS_AHEAD),
    "write-only": _behind("full-ladder", "publish.2", "n1.acquire", "n2.acquire", "publish.3", "n2.acquire"),
    "fill": _behind("fill", *TO_THE_FILL),
    "duplicates": _behind("unique-index", *TO_THE_FILL, "clear", *FILLED, "close", "verify", rows=[1, 1]),
    "reference": _behind("foreign-key", "n1.insert.1.1", "publish.2", *LINKED, "drain.2", "verify"),
    "violation": _behind("constraint", "n1.insert.1.0", "publish.2", *BOTH_FOLLOW, "drain.2", "verify"),
    "column": _behind("optional-column", *NODE_2_IS_AHEAD, states="public,delete-only,absent"),
    "table": _behind("variant", *NODE_2_IS_AHEAD, name="drop-table", chapter="08-other-elements"),
    "type": _behind("variant", *TYPE_SERVED_TWICE, name="change-type", chapter="13-design-your-own"),
}


def door_to(situation: str) -> Session:
    """Raises `BadSession`."""
    found = DOORS.get(situation)
    if found is None:
        raise BadSession(f"there is no situation {situation[:40]}; situations are: {', '.join(DOORS)}")
    return found
