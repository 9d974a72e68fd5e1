"""A node whose event loop stands still ends itself, also when C code holds the interpreter and no Python runs.

The loop sets the kernel's alarm anew every second; the alarm of a loop that does not come round ends the process. It
counts the processor time of the process (ITIMER_PROF), so a frozen node is not ended by it when it is thawed: that one
finds by itself that its leases are over (L10). All threads count, on as many processors as there are, so the more there
are, the more often it is set: a healthy loop is in time also while every processor computes for it. A process that
waits for ever without computing is the supervisor's to find.
"""

import asyncio
import os
import signal

EVERY_S = 1.0


async def keep_alarm(seconds: float) -> None:
    """Until cancelled: the process is ended by SIGPROF once the loop has not come round for `seconds` of computing."""
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    pause_s = pause_between(seconds, processors=len(os.sched_getaffinity(0)))
    try:
        while True:
            signal.setitimer(signal.ITIMER_PROF, seconds)
            await asyncio.sleep(pause_s)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def pause_between(seconds: float, *, processors: int) -> float:
    """After how many seconds the alarm is set anew: before all processors together have spent a quarter of it."""
    return min(EVERY_S, seconds / (4 * processors))
