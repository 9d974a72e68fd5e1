"""A fixed cast of people and nodes, and a real server on the test database: what is shipped is what is tested."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import pytest
import uvicorn
from django.contrib.auth.models import Group, User
from django.test import Client
from whitenoise.middleware import WhiteNoiseMiddleware
from whitenoise.responders import StaticFile

from catalog import descriptor, hashing, services
from catalog.elements import Column, ColumnId, Index, IndexColumn, IndexId, State, TableId
from catalog.live.frames import FramedProtocol
from catalog.models import Descriptor, Table
from catalog.values.types import SqlType
from lab.own.allowance import Allowances
from tests import references
from tests.chromium import running_browser
from tests.web.drawn import Opened, shown

PEOPLE = {"lea": (), "sam": ("submitter",), "olga": ("operator",), "ines": ("instructor",), "ivo": ("instructor",)}


@pytest.fixture(autouse=True)
def unhurried(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A test inside one transaction is not ended by the limit of a control transaction within it."""
    if "transactional_db" not in request.fixturenames:
        monkeypatch.setattr(services, "limit_transaction", lambda cursor, seconds=0.0: None)


@pytest.fixture(autouse=True)
def planning_time(monkeypatch: pytest.MonkeyPatch) -> Allowances:
    """Each test has what a visitor has."""
    fresh = Allowances()
    monkeypatch.setattr("lab.pages.own.ALLOWANCES", fresh)
    return fresh


@pytest.fixture(scope="session", autouse=True)
def static_files_found_once() -> Iterator[None]:
    """Each test client has middleware of its own, and WhiteNoise's opens every static file when it is made."""
    found: dict[str, StaticFile] = {}
    find = WhiteNoiseMiddleware.add_files_from_finders

    def find_once(self: WhiteNoiseMiddleware) -> None:
        if not found:
            find(self)
            found.update(self.files)
        self.files.update(found)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(WhiteNoiseMiddleware, "add_files_from_finders", find_once)
        yield


@pytest.fixture
def people(db: None) -> dict[str, User]:
    """lea learns, sam submits, olga operates, ines and ivo teach."""
    made = User.objects.bulk_create(User(username=name, is_staff="operator" in roles) for name, roles in PEOPLE.items())
    cast = {user.username: user for user in made}
    group_ids = dict(Group.objects.values_list("name", "pk"))
    member = User.groups.through
    member.objects.bulk_create(
        member(user_id=cast[name].pk, group_id=group_ids[role])
        for name, roles in PEOPLE.items()
        for role in ("learner", *roles)
    )
    return cast


@pytest.fixture
def client_of(people: dict[str, User]) -> Callable[[str], Client]:
    """A browser in which this person has signed in."""

    def signed_in(name: str) -> Client:
        client = Client()
        client.force_login(people[name])
        return client

    return signed_in


@pytest.fixture
def flights(db: None) -> Table:
    """Table flights at version 2: its index by_dest is delete-only."""
    first = descriptor.Descriptor(
        table_id=TableId(_taken()),
        name="flights",
        version=1,
        columns=(Column(ColumnId(1), "id", SqlType.BIGINT, not_null=True), Column(ColumnId(2), "dest", SqlType.TEXT)),
        primary_key=(ColumnId(1),),
        next_column_id=ColumnId(3),
    )
    index = Index(IndexId(1), "by_dest", (IndexColumn(ColumnId(2)),), state=State.DELETE_ONLY)
    return _table(first, first.with_index(index))


@pytest.fixture(scope="module")
def opened() -> Iterator[Opened]:
    """A browser for all tests of a file. An event loop runs in this thread until it ends, beside which Django's ORM
    would refuse to work; nothing in that loop asks the database."""
    with pytest.MonkeyPatch.context() as patch, running_browser() as browser:
        patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "true")
        yield partial(shown, browser)


@dataclass(frozen=True)
class Site:
    """A running server."""

    host: str

    def cookie(self, client: Client) -> str:
        return f"sessionid={client.cookies['sessionid'].value}"


@pytest.fixture
def site(transactional_db: None, redis_url: str) -> Iterator[Site]:
    """The site as `up` serves it, on a free port, in a thread of this process."""
    from schemalab.asgi import application

    server = uvicorn.Server(
        uvicorn.Config(
            application,
            host="127.0.0.1",
            port=0,
            log_level="warning",
            lifespan="off",
            ws=FramedProtocol,
            ws_per_message_deflate=False,
        )
    )
    thread = threading.Thread(target=server.run, name="site", daemon=True)
    thread.start()
    deadline = time.monotonic() + 10
    while not server.started:
        assert time.monotonic() < deadline, "the server did not start within 10 s"
        time.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    yield Site(f"127.0.0.1:{port}")
    server.should_exit = True
    thread.join(10)
    assert not thread.is_alive(), "the server did not stop within 10 s"


@pytest.fixture
def linked(db: None) -> tuple[Table, Table]:
    """trips and airports at version 2; the foreign key between them is write-only."""
    child, parent = references.trips(TableId(_taken())), references.airports(TableId(_taken()))
    versions = (child, parent), references.linked(child, parent, State.WRITE_ONLY)
    return _table(*(one[0] for one in versions)), _table(*(one[1] for one in versions))


def _taken() -> int:
    from django.db import connection, transaction

    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT storage_take_table()")
        return int(cursor.fetchone()[0])


def _table(*versions: descriptor.Descriptor) -> Table:
    newest = versions[-1]
    table = Table.objects.create(id=newest.table_id, name=newest.name, version=newest.version, state=Table.State.LIVE)
    for body in versions:
        Descriptor.objects.create(
            table=table,
            version=body.version,
            body=body.to_json(),
            schema_hash=hashing.schema_hash(body),
            sharding_hash=hashing.sharding_hash(body),
        )
    return table
