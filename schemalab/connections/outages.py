"""Logs one line when PostgreSQL or Redis goes and one when it returns; failures in between are counted. The handler
looks at a record's exception, and asks a lost service until it answers. A session that ended while its service is well
is one line."""

import copy
import logging
import os
import threading
import time
from collections.abc import Callable, Iterator

from catalog.text.mistakes import in_words

CHAIN_MAX = 20
PROBE_S = 0.5
SETTLED_S = 3.0
"""What was under way when the service came back still fails for a moment."""
DATABASE, BROKER = "PostgreSQL", "Redis"
LOST_BY_CLASS = {
    "psycopg.OperationalError": DATABASE,
    "psycopg.InterfaceError": DATABASE,
    "leases.Unreachable": DATABASE,
    "redis.ConnectionError": BROKER,
    "redis.TimeoutError": BROKER,
    "kombu.OperationalError": BROKER,
}
"""Package and class (its parents count): named, so that logging imports none of these."""
LOST_STATES = ("08", "57P01", "57P02", "57P03")
log = logging.getLogger(__name__)


def lost_service(record: logging.LogRecord) -> tuple[str, BaseException] | None:
    for error in _exceptions(record):
        for kind in type(error).__mro__:
            service = LOST_BY_CLASS.get(f"{kind.__module__.partition('.')[0]}.{kind.__name__}")
            state = getattr(error, "sqlstate", None)
            if service is not None and (state is None or state.startswith(LOST_STATES)):
                return service, error
    return None


def _exceptions(record: logging.LogRecord) -> Iterator[BaseException]:
    args = record.args.values() if isinstance(record.args, dict) else record.args or ()
    waiting = [*((record.exc_info or (None, None))[1:2]), *args]
    seen = 0
    while waiting and seen < CHAIN_MAX:
        error = waiting.pop(0)
        if isinstance(error, BaseException):
            seen += 1
            yield error
            waiting += [error.__cause__, error.__context__]


class Outage:
    def __init__(self, service: str, answers: Callable[[], bool], settled_s: float = SETTLED_S) -> None:
        self._service, self._answers, self._settled_s = service, answers, settled_s
        self.forget()

    def forget(self) -> None:
        """A forked child has no thread that would see the end."""
        self._lock = threading.Lock()
        self._is_open = False
        self._left_out = 0

    def begins(self) -> bool:
        """True for the first failure, which starts the questions."""
        with self._lock:
            if self._is_open:
                self._left_out += 1
                return False
            self._is_open, self._left_out = True, 0
        threading.Thread(target=self._wait, name=f"until {self._service} answers", daemon=True).start()
        return True

    def _wait(self) -> None:
        began, is_first = time.monotonic(), True
        while True:
            time.sleep(PROBE_S)
            if self._answers():
                break
            is_first = False
        if not is_first or self._left_out:
            seconds, left_out = time.monotonic() - began, self._left_out
            text = "%s answers again after %.0f s; %s %s about that left out"
            log.warning(text, self._service, seconds, left_out, "message" if left_out == 1 else "messages")
        time.sleep(self._settled_s)
        with self._lock:
            self._is_open = False


class Handler(logging.StreamHandler):
    def emit(self, record: logging.LogRecord) -> None:
        found = lost_service(record)
        if found is not None:
            service, error = found
            if not OUTAGES[service].begins():
                return
            record = reported_once(record, service, error)
        super().emit(record)


def reported_once(record: logging.LogRecord, service: str, error: BaseException) -> logging.LogRecord:
    line = copy.copy(record)
    line.exc_info = line.exc_text = line.stack_info = None
    line.levelno = max(record.levelno, logging.WARNING)
    line.levelname = logging.getLevelName(line.levelno)
    line.msg = "%s does not answer (%s); what fails for that is not logged until it does"
    line.args = (service, in_words(error))
    return line


def database_answers() -> bool:
    import psycopg
    from django.conf import settings

    try:
        with psycopg.connect(settings.DATABASE_URL, connect_timeout=2):
            return True
    except psycopg.Error:
        return False


def broker_answers() -> bool:
    from django.conf import settings

    from schemalab.embedded import redis

    return redis.is_ready(settings.REDIS_URL)


OUTAGES = {DATABASE: Outage(DATABASE, database_answers), BROKER: Outage(BROKER, broker_answers)}


def _forget_all() -> None:
    for outage in OUTAGES.values():
        outage.forget()


os.register_at_fork(after_in_child=_forget_all)
