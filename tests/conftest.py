"""What every test can have: a database, its address, Redis. See `schemalab.testing.services`."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import django
import hypothesis
import pytest
from django.conf import settings

from schemalab.testing.cluster import RunningCluster, running_cluster
from schemalab.testing.services import surround

hypothesis.settings.register_profile("untimed", deadline=None)  # how long an example takes is no test (see bench/)
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
    from schemalab.embedded.services import running_services

    with running_services(locations_of(HOME), CARELESS):
        yield


@pytest.fixture(scope="session")
def django_db_modify_db_settings(services: None, django_db_modify_db_settings_parallel_suffix: None) -> None:
    """pytest-django makes its test database only after this: the server must be there."""


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, django_db_blocker: Any) -> None:
    """After a test, only the tables that it filled are emptied: see `tests.clean_tables`."""
    from django.test import TransactionTestCase

    from tests.clean_tables import TableCleaner

    with django_db_blocker.unblock():
        cleaner = TableCleaner()
    TransactionTestCase._fixture_teardown = lambda _: cleaner.clean()


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


@pytest.fixture(scope="session")
def cluster() -> Iterator[RunningCluster]:
    """The whole product, running: three nodes, leases of two seconds. Tests leave it as they found it."""
    with running_cluster() as running:
        yield running


def pytest_configure(config: pytest.Config) -> None:
    """Under xdist only workers need settings, each with a home of its own: none may be read before that is chosen."""
    if getattr(config.option, "numprocesses", None):
        os.environ.pop("DJANGO_SETTINGS_MODULE", None)


ORDER = ["integration", "nodes", "nodes-2", "spark_tasks"]
"""Groups that take longest, so that both processes end together; browser tests are last, see below."""


@pytest.hookimpl(tryfirst=True)  # xdist reads the groups in the same hook
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Long groups first; browser tests last, for good: Playwright leaves an event loop in the thread."""
    for item in items:
        item.add_marker(pytest.mark.xdist_group(group_of(item)))
    items.sort(key=lambda item: position_of(group_of(item)))


def position_of(group: str) -> int:
    if group == "browser":
        return len(ORDER) + 1
    return ORDER.index(group) if group in ORDER else len(ORDER)


def folder_of(item: pytest.Item) -> str:
    """The folder of `tests` that the test is in, however deep."""
    return Path(item.path).relative_to(Path(__file__).parent).parts[0]


def room_of(item: pytest.Item) -> str:
    """The second folder, or the file."""
    return Path(item.path).relative_to(Path(__file__).parent).parts[1]


def group_of(item: pytest.Item) -> str:
    """Which tests run in the same process (`--dist loadgroup`): those that share something slow to start."""
    folder = folder_of(item)
    if folder in ("schemalab", "web") and uses(item, "cluster"):
        return "integration"
    if folder == "nodes" and uses(item, "cluster"):
        return "nodes" if room_of(item) in ("execution", "session", "clients") else "nodes-2"
    return folder if folder in ("integration", "browser", "spark_tasks") else str(item.path)


def uses(item: pytest.Item, fixture: str) -> bool:
    return fixture in getattr(item, "fixturenames", ())
