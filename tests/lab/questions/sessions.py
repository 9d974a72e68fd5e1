"""Sessions of the chapters, written short."""

from lab.sessions.replay import new_session
from lab.sessions.session import Session


def session(setup: str, *parts: tuple[str, ...], left_out: tuple[str, ...] = ()) -> Session:
    """A session as its set-up begins, and these steps after it."""
    begun = new_session(setup, left_out=frozenset(left_out))
    return Session(setup, begun.parameters, begun.left_out, (*begun.steps, *(step for part in parts for step in part)))


def statement(node: str, what: str, row: int, value: int) -> tuple[str, ...]:
    """The steps of a statement in a transaction of its own."""
    return f"{node}.begin", f"{node}.read.{row}", f"{node}.write.{what}.{row}.{value}", f"{node}.commit"
