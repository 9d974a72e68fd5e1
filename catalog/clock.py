"""The wall clock of this process, for now() and shown times. Leases and deadlines use the database's clock and
monotonic ones (L1). `set_offset` (NODE_CLOCK_OFFSET_S) sets it wrong on purpose to prove that."""

from datetime import UTC, datetime, timedelta

_offset = timedelta()


def now() -> datetime:
    return datetime.now(UTC) + _offset


def set_offset(seconds: float) -> None:
    global _offset
    _offset = timedelta(seconds=seconds)
