"""A node whose event loop stands still ends itself, also when C code holds the interpreter and no Python runs.

The loop sets the kernel's alarm anew every second; the alarm of a loop that does not come round ends the process. It
counts the processor time of the process (ITIMER_PROF), so a frozen node is not ended by it when it is thawed: that one
finds by itself that its leases are over (L10). A process that waits for ever without computing is the supervisor's to
find.
"""

import asyncio
import signal

EVERY_S = 1.0


async def keep_alarm(seconds: float) -> None:
    """Until cancelled: the process is ended by SIGPROF once the loop has not come round for `seconds` of computing."""
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    try:
        while True:
            signal.setitimer(signal.ITIMER_PROF, seconds)
            await asyncio.sleep(min(EVERY_S, seconds / 4))
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
