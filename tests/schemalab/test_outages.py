"""While PostgreSQL or Redis is away, a process says so once, and once when it is back."""

import io
import logging
import threading
from collections.abc import Iterator

import psycopg
import pytest
from django.conf import settings
from django.db import OperationalError
from django.utils.log import configure_logging
from redis import Redis
from redis.exceptions import ConnectionError as RedisConnectionError

from leases.asyncio.session import Unreachable
from schemalab.connections import outages
from schemalab.connections.outages import BROKER, DATABASE, Handler, Outage, lost_service
from schemalab.polling import wait_for

LIMIT_S = 20.0


def record_of(error: BaseException, *, is_argument: bool = False) -> logging.LogRecord:
    info = None if is_argument else (type(error), error, error.__traceback__)
    args = (error,) if is_argument else ()
    return logging.LogRecord("x", logging.ERROR, __file__, 1, "%s" if is_argument else "failed", args, info)


def caused(error: BaseException, cause: BaseException) -> BaseException:
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "service"),
    [
        pytest.param(psycopg.OperationalError("server closed the connection"), DATABASE, id="a lost connection"),
        pytest.param(psycopg.errors.CannotConnectNow("starting up"), DATABASE, id="a server that starts"),
        pytest.param(psycopg.errors.LockNotAvailable("lock"), None, id="a lock that is held is no outage"),
        pytest.param(psycopg.errors.QueryCanceled("late"), None, id="nor a statement that was cancelled"),
        pytest.param(caused(OperationalError("x"), psycopg.OperationalError("y")), DATABASE, id="behind Django's"),
        pytest.param(Unreachable("no session within 1 s"), DATABASE, id="a keeper without a session"),
        pytest.param(RedisConnectionError("refused"), BROKER, id="Redis"),
        pytest.param(ValueError("x"), None, id="a mistake of ours"),
    ],
)
@pytest.mark.parametrize("is_argument", [True, False])
def test_what_an_outage_is(error: BaseException, service: str | None, is_argument: bool) -> None:
    found = lost_service(record_of(error, is_argument=is_argument))
    assert (found and found[0]) == service


class Stage:
    """A logger with the handler, and a database that can be away."""

    def __init__(self) -> None:
        self.is_there = threading.Event()
        self.output = io.StringIO()
        self.log = logging.Logger("stage")
        self.log.addHandler(Handler(self.output))
        outages.log.addHandler(Handler(self.output))

    def fail(self) -> None:
        try:
            raise OperationalError("gone") from psycopg.OperationalError("gone\nand more")
        except OperationalError:
            self.log.exception("task failed")

    @property
    def lines(self) -> list[str]:
        return self.output.getvalue().splitlines()


@pytest.fixture
def stage(monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    stage = Stage()
    monkeypatch.setitem(outages.OUTAGES, DATABASE, Outage(DATABASE, stage.is_there.is_set, settled_s=0.0))
    monkeypatch.setattr(outages, "PROBE_S", 0.05)
    yield stage
    outages.log.handlers.clear()


GONE = "PostgreSQL does not answer (gone); what fails for that is not logged until it does"


def test_a_hundred_failures_are_two_lines(stage: Stage) -> None:
    for _ in range(100):
        stage.fail()
    stage.log.warning("something else")
    assert stage.lines == [GONE, "something else"]
    stage.is_there.set()
    wait_for(lambda: len(stage.lines) == 3, what="the end", seconds_max=LIMIT_S)
    assert stage.lines[2].startswith("PostgreSQL answers again after ")
    assert stage.lines[2].endswith(" s; 99 messages about that left out")


def test_a_second_outage_is_reported_again(stage: Stage) -> None:
    stage.is_there.set()
    stage.fail()
    wait_for(lambda: not outages.OUTAGES[DATABASE]._is_open, what="the end", seconds_max=LIMIT_S)
    stage.fail()
    assert stage.lines == [GONE, GONE]


def test_the_services_are_really_asked(services: None, monkeypatch: pytest.MonkeyPatch) -> None:
    from django.conf import settings

    assert outages.database_answers()
    assert outages.broker_answers()
    monkeypatch.setattr(settings, "DATABASE_URL", "postgresql://nobody@127.0.0.1:1/none")
    monkeypatch.setattr(settings, "REDIS_URL", "redis://127.0.0.1:1")
    assert not outages.database_answers()
    assert not outages.broker_answers()
    with pytest.raises(RedisConnectionError) as refused:
        Redis.from_url("redis://127.0.0.1:1").ping()
    assert lost_service(record_of(refused.value))


def test_every_process_logs_through_it() -> None:
    configure_logging(settings.LOGGING_CONFIG, settings.LOGGING)  # a server in another test may have set its own
    assert any(isinstance(handler, Handler) for handler in logging.getLogger().handlers)
    assert logging.getLogger("uvicorn.error").parent is logging.getLogger("uvicorn")
    assert any(isinstance(handler, Handler) for handler in logging.getLogger("uvicorn").handlers)
    assert not logging.getLogger("uvicorn.access").propagate
