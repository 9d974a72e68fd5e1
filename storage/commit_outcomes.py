"""The outcome of a transaction whose session was lost at COMMIT (protocol.md, T7).

Recovery after a crash may give the id of a lost transaction to another one, for which `pg_xact_status` then answers:

    life 1    ours takes id 77, COMMIT on its way ── crash, nothing of it was flushed
    life 2    another one takes id 77, commits    ── "77? committed"

A *life* of the server lies between two recoveries, and a session within one. Its sign (`storage_life`) is read when
the session opens, and compared with that of the session that asks later:

    committed    ours, if the signs are the same and known; else perhaps another one's
    aborted      ours, or another one's: then ours left no trace of its id, so no commit either
    not given    the server has yet to give the id out: as above
    forgotten    too long ago
    in progress  ours, or another one's: to be asked again
"""

from enum import Enum

LIFE = "SELECT storage_life()"
"""The sign; an error on a server that is still in recovery, whose answers are not the last word. In READ COMMITTED."""
STATUS = "SELECT pg_xact_status(%b::text::xid8)"
"""One of "committed", "aborted", "in progress", NULL; 22023 of an id that the server has not given out."""
NOT_GIVEN = "22023"


class Outcome(Enum):
    COMMITTED = "committed"
    ABORTED = "aborted"
    UNKNOWN = "unknown"
    IN_PROGRESS = "in progress"


def commit_outcome(status: str | None, *, began_in: str | None, asked_in: str | None) -> Outcome:
    """The proved outcome. The signs are those of both sessions; None: could not be read."""
    if status in ("aborted", NOT_GIVEN):
        return Outcome.ABORTED
    if status == "in progress":
        return Outcome.IN_PROGRESS
    is_same_life = began_in is not None and began_in == asked_in
    return Outcome.COMMITTED if status == "committed" and is_same_life else Outcome.UNKNOWN
