"""Restores cancellations that redis-py loses: its `asyncio.wait_for`, before Python 3.12, swallows one that comes just
as sending is done (CPython issue 86296)."""

import asyncio


def heed_cancellation() -> None:
    """Called after redis-py was awaited: ends here when the task was cancelled."""
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError
