"""Messages to workers that may get lost: a commit sends one at once, and the timetable sends it again every few seconds
for work that the database shows as undone. They expire, so that they do not pile up behind busy workers."""

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
    """Sets this process's Celery application; a missing broker raises `failures`."""
    _loaders.append(load)
    _failures.append(failures)


@cache
def celery_app() -> Any:
    """The Celery application, imported with the first message."""
    return _loaders[-1]()


def gave_up() -> dict[str, Any]:
    """The answer to a search that began `BEGINNINGS_MAX` times and never ended."""
    return {"verdict": "unknown", "why": to_json(Text("it gave up after {n} attempts", {"n": BEGINNINGS_MAX}))}


def send_hint(ask: Callable[..., object], number: int, what: str) -> None:
    """Requests a task for an id, `what` it is of; a missing broker raises nothing. `ask` is Celery's `apply_async`, or
    `send_task`, which never runs the task here."""
    sent(lambda: ask((number,), retry=False, expires=EXPIRES_S), f"{what} {number}", "the timetable will")


def sent(ask: Callable[[], object], what: str, otherwise: str) -> bool:
    """True when the broker took the message of `ask`, which must not retry (`retry=False`); else logs who will send
    it."""
    away = (OSError, *_failures[-1]())
    try:
        ask()
    except away as error:
        log.warning("%s not sent to a worker, %s: %s", what, otherwise, error)
        return False
    return True
