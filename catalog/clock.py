"""The wall clock of this process, for now() and times that are shown. Nothing is judged by it: leases and deadlines go
by the database's clock and monotonic ones (L1), orders by sequence numbers. `set_offset` sets it wrong on purpose
(NODE_CLOCK_OFFSET_S) to prove that."""

from datetime import UTC, datetime, timedelta

_offset = timedelta()


def now() -> datetime:
    return datetime.now(UTC) + _offset


def set_offset(seconds: float) -> None:
    global _offset
    _offset = timedelta(seconds=seconds)
