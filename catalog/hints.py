"""Messages to workers that may get lost: what is to be done is in the database, and the timetable looks for it there.

    whoever commits    hint --> a worker, at once
    the timetable      hint --> a worker, every few seconds, for what nobody does

So a broker that is away costs seconds and fails nobody, and a message that nobody took in time is dropped: while all
workers are busy, others do not pile up behind it.
"""

import logging
from collections.abc import Callable
from functools import cache
from typing import Any

from catalog.text.message import Text, to_json

log = logging.getLogger(__name__)

EXPIRES_S = 10.0
BEGINNINGS_MAX = 3
"""A search that has ended so many processes is not begun again."""

_loaders: list[Callable[[], Any]] = []
_failures: list[Callable[[], tuple[type[Exception], ...]]] = []


def sent_through(load: Callable[[], Any], failures: Callable[[], tuple[type[Exception], ...]] = lambda: ()) -> None:
    """The Celery application of this process is what `load` returns; a broker that is away raises `failures`."""
    _loaders.append(load)
    _failures.append(failures)


@cache
def celery_app() -> Any:
    """The Celery application, imported with the first message: nodes and commands that send none do without."""
    return _loaders[-1]()


def gave_up() -> dict[str, Any]:
    """The answer to a search that was begun `BEGINNINGS_MAX` times and never ended."""
    return {"verdict": "unknown", "why": to_json(Text("it gave up after {n} attempts", {"n": BEGINNINGS_MAX}))}


def send_hint(ask: Callable[..., object], number: int, what: str) -> None:
    """Ask for a task that takes an id, `what` it is of. May be sent again; a broker that is away raises nothing.

    `ask` is Celery's `apply_async` of the task, or its `send_task`, which never does the task here and now.
    """
    sent(lambda: ask((number,), retry=False, expires=EXPIRES_S), f"{what} {number}", "the timetable will")


def sent(ask: Callable[[], object], what: str, otherwise: str) -> bool:
    """True when the broker took the message that `ask` sends; else the log says `what` was not sent, and who will.

    `ask` must not try again by itself (`retry=False`): nobody waits for a broker that is away.
    """
    away = (OSError, *_failures[-1]())
    try:
        ask()
    except away as error:
        log.warning("%s not sent to a worker, %s: %s", what, otherwise, error)
        return False
    return True
