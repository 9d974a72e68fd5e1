"""A node that was told to end is gone soon after, whatever hangs, and says what it did not wait for.

    in order      the server ends clients, gives leases back and closes what it has, each within its own time
    left behind   tasks that hear no cancel, threads in the query engine or at a store that does not answer
    last resort   after `END_S_MAX` a thread ends the process; should none run any more, the kernel's alarm does

No thread is waited for: Python would do so without limit, at the end of an event loop and at that of the process.
"""

import asyncio
import logging
import os
import signal
import sys
import threading

log = logging.getLogger(__name__)

END_S_MAX = 10.0
KERNEL_S = 2.0
"""Later than the thread the kernel ends a process whose interpreter stands still."""


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


def end_now(node: str, code: int, loop: asyncio.AbstractEventLoop) -> None:
    """End the process and wait for nothing; the log says for what."""
    left = left_over(loop)
    if left:
        log.warning("node %s ends without waiting for: %s", node, "; ".join(left))
    logging.shutdown()
    sys.stdout.flush()
    os._exit(code)


def left_over(loop: asyncio.AbstractEventLoop) -> list[str]:
    """Tasks that are not done, and threads that are busy."""
    tasks = [f"task {_name(task)}" for task in asyncio.all_tasks(loop) if not task.done()]
    frames = sys._current_frames()
    threads = []
    for thread in threading.enumerate():
        frame = frames.get(thread.ident or 0)
        if frame is None or thread in (threading.main_thread(), threading.current_thread()) or thread.daemon:
            continue
        if frame.f_code.co_name != "_worker":  # where a thread of a pool waits for work
            threads.append(f"thread {thread.name} in {frame.f_code.co_filename}:{frame.f_lineno}")
    return tasks + threads


def _name(task: "asyncio.Task[object]") -> str:
    return f"{task.get_name()} ({getattr(task.get_coro(), '__qualname__', '?')})"
