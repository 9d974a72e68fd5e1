"""Restores cancellations that redis-py loses to `asyncio.wait_for` before Python 3.12 (CPython issue 86296)."""

import asyncio


def heed_cancellation() -> None:
    """Call it after awaiting redis-py: raises when the task was cancelled."""
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError
