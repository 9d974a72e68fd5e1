"""What every test can have: a database, its address, Redis. See `tests.harness.services`."""

import os
import signal
import sys
from collections.abc import Iterator
from typing import Any

import django
import hypothesis
import pytest
from django.conf import settings

from tests import rounds
from tests.groups import GroupScheduling, position_of
from tests.harness.services import surround
from tests.kept import close_kept

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in a background job of a shell, and in its children
    signal.signal(signal.SIGINT, signal.default_int_handler)

hypothesis.settings.register_profile("untimed", deadline=None)  # how long an example takes is no test (see tools/bench)
hypothesis.settings.load_profile("untimed")
HOME = surround()
CARELESS = {"fsync": "off", "full_page_writes": "off"}
"""Tables are emptied after each test; nobody needs them after a crash of the machine."""
django.setup()
settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]  # a slow one is meant to be slow


@pytest.fixture(scope="session")
def services() -> Iterator[None]:
    """Embedded PostgreSQL and Redis for the session."""
    from schemalab.embedded.locations import locations_of
    from tests.embedded_services import running_services

    with running_services(locations_of(HOME), CARELESS):
        yield


@pytest.fixture(scope="session")
def django_db_modify_db_settings(services: None, django_db_modify_db_settings_parallel_suffix: None) -> None:
    """pytest-django makes its test database only after this: the server must be there."""


OTHERS_END = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
    " WHERE datname = current_database() AND pid <> pg_backend_pid()"
)
"""Threads that keep their connection, of pages and live parts, still have it; the database is dropped now."""


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    """After a test, only the tables that it filled are emptied: see `tests.clean_tables`."""
    from django.db import connection
    from django.test import TransactionTestCase

    from tests.clean_tables import TableCleaner

    with django_db_blocker.unblock():
        cleaner = TableCleaner()
    TransactionTestCase._fixture_teardown = lambda _: cleaner.clean()
    yield
    close_kept()
    with django_db_blocker.unblock(), connection.cursor() as cursor:
        cursor.execute(OTHERS_END)


@pytest.fixture(autouse=True)
def no_language_is_left() -> Iterator[None]:
    """A request of a test's own client chooses a language for its thread, which would be the next test's, too."""
    yield
    translation = sys.modules.get("django.utils.translation")
    if translation is not None:
        translation.deactivate()


@pytest.fixture
def dsn(transactional_db: None) -> str:
    """The test database as a psycopg conninfo; what is committed there is seen by all and removed after the test."""
    from django.db import connection
    from psycopg.conninfo import make_conninfo

    chosen = connection.settings_dict
    return make_conninfo(dbname=chosen["NAME"], user=chosen["USER"], host=chosen["HOST"], port=chosen["PORT"] or None)


@pytest.fixture
def redis_url(services: None) -> str:
    """Redis as redis-py spells it, empty at the start of each test."""
    from redis import Redis

    with Redis.from_url(settings.REDIS_URL) as client:
        client.flushall()
    return settings.REDIS_URL


def pytest_configure(config: pytest.Config) -> None:
    """Under xdist only workers need settings, each with a home of its own: none may be read before that is chosen."""
    rounds.in_soak = "drawn" in config.option.markexpr
    if getattr(config.option, "numprocesses", None):
        os.environ.pop("DJANGO_SETTINGS_MODULE", None)


@pytest.hookimpl(trylast=True)  # pytest-django has an order of its own, which is kept within a group
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: position_of(item.nodeid))


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> GroupScheduling | None:
    return GroupScheduling(config, log) if config.getvalue("dist") == "loadgroup" else None
