"""The outcome of a transaction whose session was lost at COMMIT (protocol.md, T7).

A crash may lose an unflushed transaction, whose id recovery then gives to another one: `pg_xact_status` says
"committed", of the other one. So a session reads the sign of the server's *life* (the time between two recoveries,
`storage_life`) as it opens, and it is compared with that of the session that asks later:

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
