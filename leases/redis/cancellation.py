"""Cancellations that redis-py loses.

It sends inside `asyncio.wait_for`, which before Python 3.12 returns as if nothing were when the task is cancelled just
as the sending is done (CPython issue 86296). A task that goes on then is cancelled by nobody any more.
"""

import asyncio


def heed_cancellation() -> None:
    """Called after something of redis-py was awaited: end here when the task was asked to end meanwhile."""
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError
