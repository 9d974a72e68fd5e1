"""Sessions that are not Django's reach the database under the same terms: what the address demands holds for all."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest
from django.db import connection
from django.db.utils import ConnectionHandler
from psycopg.conninfo import conninfo_to_dict

from catalog import database
from catalog.live import relay
from schemalab.connections.database import django_database
from spark_tasks.chunks.chunk import RunToken
from spark_tasks.jobs.heartbeat import Heartbeat

REFUSED = "session is not read-only"
"""libpq itself holds a server to this, whatever its address: as it does with `sslmode`."""


def test_nothing_of_the_address_is_dropped_but_what_only_django_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    demands = {"sslmode": "verify-full", "sslrootcert": "/ca.pem", "sslcert": "/me.pem", "connect_timeout": "3"}
    address = {"user": "lea", "password": "a b", "host": "db", "port": "5433", "dbname": "lab", **demands}
    url = "postgresql://lea:a%20b@db:5433/lab?" + "&".join(f"{name}={value}" for name, value in demands.items())
    monkeypatch.setattr(database, "connection", ConnectionHandler({"default": django_database(url)})["default"])
    found = conninfo_to_dict(database.database_dsn())
    assert found == {**address, "client_encoding": "UTF8", "application_name": "schemalab"}


@contextmanager
def demanding(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The address of the database asks for a server that this one is not."""
    with monkeypatch.context() as patch:
        patch.setitem(connection.settings_dict["OPTIONS"], "target_session_attrs", "read-only")
        yield


def listens() -> None:
    asyncio.run(relay._connected())


def works_as_spark_does() -> None:
    RunToken(database.database_dsn(), run_id=1, token=1).connect()


@pytest.mark.parametrize("connect", [listens, works_as_spark_does])
def test_a_server_that_does_not_meet_the_address_is_refused_by_all(
    dsn: str, monkeypatch: pytest.MonkeyPatch, connect: Callable[[], Any]
) -> None:
    with demanding(monkeypatch), pytest.raises(psycopg.OperationalError, match=REFUSED):
        connect()


def test_a_heartbeat_refuses_it_too(
    dsn: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with demanding(monkeypatch):
        address = database.database_dsn()
    with Heartbeat("a job", lambda opened: opened.execute("SELECT 1"), dsn=address):
        pass
    assert "heartbeat of a job missed" in caplog.text
    assert REFUSED in caplog.text
