"""A node that was told to end does so soon, whatever hangs, and logs what it did not wait for.

Each step of the server's end has its time (`STEPS_S`). After `END_S_MAX` a thread ends the process, or else the
kernel's alarm; after `KILL_S_MAX` the process that told it kills it. No thread is waited for: Python would do so
without limit, at the end of an event loop and at that of the process.
"""

import asyncio
import logging
import os
import signal
import sys
import threading
from collections.abc import Coroutine
from typing import Any

log = logging.getLogger(__name__)

CLIENTS_S, UNDO_S = 3.0, 1.0
"""For the transactions of clients to end, and for those that did not to be rolled back."""
LEASES_S, KEEPER_S = 2.0, 1.0
"""For leases to be given back, and for the keeper's requests to be broken off."""
NEW_TABLES_S, CLOSE_S, LEAVE_S = 1.0, 0.5, 1.0
"""For the cluster to hear of new tables it could not hear of before, for sessions at the store, for a farewell."""
STEPS_S = CLIENTS_S + UNDO_S + LEASES_S + KEEPER_S + NEW_TABLES_S + CLOSE_S + LEAVE_S
END_S_MAX = STEPS_S + 0.5
KERNEL_S = 2.0
"""Later than the thread the kernel ends a process whose interpreter stands still."""
KILL_S_MAX = END_S_MAX + KERNEL_S + 1.0


def end_soon(node: str, code: int, loop: asyncio.AbstractEventLoop) -> None:
    """From now on the process has `END_S_MAX`. To be called in the main thread."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, END_S_MAX + KERNEL_S)

    def end() -> None:
        log.error("node %s did not end within %g s", node, END_S_MAX)
        end_now(node, code, loop)

    timer = threading.Timer(END_S_MAX, end)
    timer.daemon = True
    timer.start()


async def in_time(seconds: float, what: str, work: Coroutine[Any, Any, None]) -> None:
    """Do one step of the end, for so long; the log says when that was not enough."""
    try:
        async with asyncio.timeout(seconds):
            await work
    except TimeoutError:
        log.warning("%s: not done within %g s", what, seconds)


def end_now(node: str, code: int, loop: asyncio.AbstractEventLoop) -> None:
    """End the process and wait for nothing; the log says for what."""
    left = left_over(loop)
    if left:
        log.warning("node %s ends without waiting for: %s", node, "; ".join(left))
    logging.shutdown()
    sys.stdout.flush()
    os._exit(code)


def left_over(loop: asyncio.AbstractEventLoop) -> list[str]:
    tasks = [
        f"task {task.get_name()} ({getattr(task.get_coro(), '__qualname__', '?')})"
        for task in asyncio.all_tasks(loop)
        if not task.done()
    ]
    frames = sys._current_frames()
    threads = []
    for thread in threading.enumerate():
        frame = frames.get(thread.ident or 0)
        if frame is None or thread is threading.current_thread() or thread.daemon:
            continue
        if frame.f_code.co_name != "_worker":  # where a thread of a pool waits for work
            threads.append(f"thread {thread.name} in {frame.f_code.co_filename}:{frame.f_lineno}")
    return tasks + threads
