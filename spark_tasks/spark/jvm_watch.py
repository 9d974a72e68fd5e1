"""Notices a JVM that hangs: the worker then stops its heartbeat (`is_answering`), and the supervisor ends both. The
next job replaces a dead JVM (`session.spark`)."""

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
    """Asks the JVM every second, from its own thread."""
    threading.Thread(target=_ask_again_and_again, name="jvm watch", daemon=True).start()


def is_answering() -> bool:
    """True when the JVM has answered lately, or is not watched."""
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
