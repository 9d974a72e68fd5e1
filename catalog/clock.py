"""The wall clock of this process: what SQL's now() says, and the time that is given to what happens.

Nothing is judged by it. Leases, deadlines and drains are judged by the database's clock and a process's monotonic one
(L1), orders by sequence numbers of the database, so a wall clock that is wrong by a day shows a wrong time and no more.
`set_offset` makes it wrong on purpose (NODE_CLOCK_OFFSET_S), to prove that.
"""

from datetime import UTC, datetime, timedelta

_offset = timedelta()


def now() -> datetime:
    """The moment, as this process believes."""
    return datetime.now(UTC) + _offset


def set_offset(seconds: float) -> None:
    """From now on this process's clock is ahead by so much."""
    global _offset
    _offset = timedelta(seconds=seconds)
