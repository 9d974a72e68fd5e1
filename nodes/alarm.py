"""A node whose event loop stands still ends itself, also when C code holds the interpreter and no Python runs.

The loop sets the kernel's alarm anew every second. It counts the processor time of the process (ITIMER_PROF), so a
frozen node is not ended by it when it is thawed: that one finds by itself that its leases are over (L10). All threads
count, so with more processors it is set more often. A process that waits without computing is the supervisor's to find.
"""

import asyncio
import os
import signal

EVERY_S = 1.0


async def keep_alarm(seconds: float) -> None:
    """Until cancelled: SIGPROF ends the process when the loop does not come round within `seconds` of computing."""
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    pause_s = pause_between(seconds, processors=len(os.sched_getaffinity(0)))
    try:
        while True:
            signal.setitimer(signal.ITIMER_PROF, seconds)
            await asyncio.sleep(pause_s)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def pause_between(seconds: float, *, processors: int) -> float:
    """The alarm is set anew before all processors together have spent a quarter of it."""
    return min(EVERY_S, seconds / (4 * processors))
