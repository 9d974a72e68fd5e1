"""Ends a worker with its supervisor. The kernel's SIGTERM would let Celery wait for its tasks without a limit, while
another worker continues them: they must not run twice at a time. Blocks that must be finished get `FINISH_S_MAX`."""

import logging
import os
import select
import signal
import threading

from catalog.uninterrupted import finish

log = logging.getLogger(__name__)

FINISH_S_MAX = 10.0


def end_with(supervisor: int) -> None:
    """Ends this process and its group when `supervisor` has ended; at once when it has."""
    handle: int | None
    try:
        handle = os.pidfd_open(supervisor)
    except ProcessLookupError:
        handle = None
    if os.getppid() != supervisor:  # it ended before we asked, and another process may have its number
        handle = None
    threading.Thread(target=_watch, args=(handle,), name="ends with the supervisor", daemon=True).start()


def _watch(handle: int | None) -> None:
    if handle is not None:
        select.select([handle], [], [])
    is_finished = finish(FINISH_S_MAX)
    log.warning("the supervisor has ended: ending, too%s", "" if is_finished else ", whatever is not finished")
    if os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os.kill(os.getpid(), signal.SIGKILL)
