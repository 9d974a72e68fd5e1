"""Notices a JVM that hangs in a worker that lives: the worker then gives no sign of life any more (`is_answering`).

The supervisor ends a worker that is silent, its JVM with it, and starts it again. A JVM that has died is no such case:
the next job replaces it (`session.spark`).
"""

import logging
import threading
import time

from spark_tasks.spark import session

log = logging.getLogger(__name__)

ASK_S = 1.0
SILENCE_S_MAX = 10.0
"""Longer than any pause of the JVM's that is not a hang."""

START_S_MAX = 120.0
"""What a JVM may need before it can be asked."""

_answered_at: float | None = None


def begin() -> None:
    """Ask the JVM every second, from a thread of its own: a JVM that hangs keeps it waiting."""
    threading.Thread(target=_ask_again_and_again, name="jvm watch", daemon=True).start()


def is_answering() -> bool:
    """True when the JVM has answered of late; a process that does not watch one has nothing to complain about."""
    if session.starts_for_s() > START_S_MAX:
        return False
    return _answered_at is None or time.monotonic() - _answered_at < SILENCE_S_MAX


def _ask_again_and_again() -> None:
    global _answered_at
    while True:
        _answered_at = time.monotonic()
        time.sleep(ASK_S)
        try:
            session.ask_jvm()
        except Exception:
            log.exception("the JVM could not be asked, again in %g s", ASK_S)
