"""The meaning of an answer for a transaction: refused by an error before COMMIT was sent, or by its code at COMMIT
(nothing of it may ever be seen); unknown by 08..., 57P.. or no code at COMMIT (all of it or nothing)."""

from enum import Enum

AGAIN = ("40001", "40P01")
LOST = ("08", "57P")
TROUBLE = ("08", "40", "53", "55", "57", "25P")
"""Classes of errors that a client meets when processes die beside it; every other one needs a reason."""


class Outcome(Enum):
    DONE = "done"
    REFUSED = "refused"
    UNKNOWN = "unknown"


def outcome_of(sqlstate: str | None, *, was_commit_sent: bool) -> Outcome:
    """The outcome of a transaction that ended in an error."""
    if was_commit_sent and (sqlstate is None or sqlstate.startswith(LOST)):
        return Outcome.UNKNOWN
    return Outcome.REFUSED


def is_prepared_anew(sqlstate: str | None, message: str) -> bool:
    """True when a column of a statement that the driver had prepared has another type by now: it prepares it again."""
    return sqlstate == "0A000" and "cached plan must not change result type" in message


def is_expected(sqlstate: str | None, also: tuple[str, ...] = ()) -> bool:
    """True when a client may see this error while processes die; None: its connection was lost."""
    return sqlstate is None or sqlstate.startswith(TROUBLE) or sqlstate in also
