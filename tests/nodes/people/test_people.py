"""The people of the page at a node's port: real passwords, a real database, real clients; no node around it."""

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import psycopg
import pytest
from django.contrib.auth.models import Permission, User
from django.db import connection

from expressions.errors import FatalError
from nodes.clients.registry import Clients
from nodes.clients.startup import Greeting
from nodes.people import directory, sign_in
from nodes.people.directory import People
from nodes.people.rights import MAY_WRITE, Person
from nodes.people.sign_in import Admission
from nodes.people.vouching import cluster_password, vouched_parameters
from nodes.services import set_sql_password
from nodes.store.name_cache import Directory
from nodes.store.pipeline import StorePool
from nodes.wire.scram import verifier_of
from schemalab.people.roles import ROLES, give_roles

pytestmark = pytest.mark.django_db
KEY = "only for tests"
PASSWORD = "correct horse battery"
IN = "in"
"""Nobody gets further here: the code of the error that greets whoever has signed in."""


@pytest.fixture(scope="module")
def address(django_db_setup: None, django_db_blocker: Any) -> Iterator[str]:
    """The test database with people in it: lea and olga have an SQL password, sam has none, max's account is closed."""
    with django_db_blocker.unblock():
        people_here = {name: User.objects.create_user(name) for name in ("lea", "sam", "olga", "max")}
        give_roles(people_here["lea"], ())
        give_roles(people_here["olga"], ("operator",))
        for name in ("lea", "olga", "max"):
            set_sql_password(people_here[name], f"{PASSWORD} of {name}", who="test")
        User.objects.filter(username="max").update(is_active=False)
        for user in cast_of_roles():
            assert user.pk
        chosen = connection.settings_dict
        yield psycopg.conninfo.make_conninfo(
            dbname=chosen["NAME"], user=chosen["USER"], host=chosen["HOST"], port=chosen["PORT"] or None
        )
        User.objects.all().delete()
        connection.close()


def cast_of_roles() -> Iterator[User]:
    for role in ROLES:
        user = User.objects.create_user(f"only {role}")
        give_roles(user, (role,))
        yield user
    given = User.objects.create_user("given to the person")
    given.user_permissions.add(Permission.objects.get(codename="add_change", content_type__app_label="changes"))
    yield given
    yield User.objects.create_superuser("superuser")


def password_of(name: str) -> str:
    return f"{PASSWORD} of {name}"


@pytest.fixture(autouse=True)
def short_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sign_in, "REFUSAL_PAUSE_S", 0.01)


Attempt = Callable[..., Awaitable[str]]


def at_a_port(
    dsn: str, visit: Callable[[Attempt, Admission], Awaitable[Any]], *, is_trusting: bool = False, owner: str = ""
) -> Any:
    """Visit a port that signs people in and then says who they are. An attempt's outcome is what the client is told."""

    async def serve() -> Any:
        pool = StorePool(dsn, "test of people", "-c timezone=UTC", 2)
        asking = Admission(
            people=People(Directory(pool).ask),
            is_trusting=is_trusting,
            owner_password=verifier_of(owner) if owner else None,
            secret_key=KEY,
            clock=lambda: 1000.0,
        )
        clients = Clients(Greeting(greet, asking))
        server = await asyncio.get_running_loop().create_server(clients.channel, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]

        async def attempt(user: str, password: str = "", **more: str) -> str:
            given = {"user": user, "password": password or "none", **more}
            try:
                await psycopg.AsyncConnection.connect(
                    host="127.0.0.1", port=port, dbname="x", sslmode="disable", **given
                )
            except psycopg.OperationalError as refusal:
                return str(refusal).rpartition("FATAL:")[2].strip()
            raise AssertionError("nobody stays")

        try:
            async with server:
                return await visit(attempt, asking)
        finally:
            await pool.close()

    return asyncio.run(serve())


def greet(_client: object, person: Person, _parameters: object) -> Any:
    raise FatalError(IN, f"in as {person.name}, {'may write' if can_write(person) else 'may read'}")


def can_write(person: Person) -> bool:
    with contextlib.suppress(Exception):
        person.check_may_write("INSERT")
        return True
    return False


def outcome(dsn: str, user: str, password: str = "", *, is_trusting: bool = False, owner: str = "", **more: str) -> str:
    return at_a_port(dsn, lambda attempt, _: attempt(user, password, **more), is_trusting=is_trusting, owner=owner)


def refused(name: str) -> str:
    return f'password authentication failed for user "{name}"'


VOUCHED = {"options": "-c schemalab.vouched=on"}


@pytest.mark.parametrize(("user", "given", "told"), [
    pytest.param("lea", {"password": password_of("lea")}, "in as lea, may read", id="a person's own password"),
    pytest.param("olga", {"password": password_of("olga")}, "in as olga, may write", id="their role counts"),
    pytest.param("lea", {"password": password_of("olga")}, refused("lea"), id="another's password"),
    pytest.param("sam", {"password": "none"}, refused("sam"), id="who has made none"),
    pytest.param("nobody", {"password": "none"}, refused("nobody"), id="who is not there is refused alike"),
    pytest.param("max", {"password": "none"}, refused("max"), id="a closed account is told to nobody else"),
    pytest.param("max", {"password": password_of("max")}, 'the account "max" has been closed', id="a closed account"),
    pytest.param("owner", {"password": "sesame"}, "in as owner, may write", id="the setting is the owner's"),
    pytest.param("lea", {"password": "sesame"}, refused("lea"), id="and nobody else's"),
    pytest.param("lea", vouched_parameters(KEY, "lea"), "in as lea, may read", id="the cluster vouches for lea"),
    pytest.param("traffic", vouched_parameters(KEY, "traffic"), "in as traffic, may write", id="and for itself"),
    pytest.param("lea", {"password": cluster_password(KEY, "sam"), **VOUCHED}, refused("lea"), id="but for sam"),
    pytest.param("lea", vouched_parameters("a guess", "lea"), refused("lea"), id="nobody else vouches"),
    pytest.param("lea", {"password": password_of("lea"), **VOUCHED}, refused("lea"), id="not even lea for lea"),
    pytest.param("lea", {"password": cluster_password(KEY, "lea")}, refused("lea"), id="who vouches says so"),
])  # fmt: skip
def test_who_gets_in_where_passwords_are_asked_for(address: str, user: str, given: dict[str, str], told: str) -> None:
    assert outcome(address, **{**given, "user": user}, owner="sesame") == told


@pytest.mark.parametrize(("user", "password", "told"), [
    pytest.param("owner", "none", "in as owner, may write", id="the owner"),
    pytest.param("anybody", "none", "in as anybody, may write", id="a name that is nobody's"),
    pytest.param("sam", "none", "in as sam, may read", id="a person's role counts"),
    pytest.param("lea", "none", refused("lea"), id="who has made a password is asked for it"),
    pytest.param("lea", password_of("lea"), "in as lea, may read", id="and gets in with it"),
    pytest.param("max", password_of("max"), 'the account "max" has been closed', id="a closed account"),
])  # fmt: skip
def test_who_gets_in_on_loopback(address: str, user: str, password: str, told: str) -> None:
    assert outcome(address, user, password, is_trusting=True) == told


def test_a_new_password_counts_at_once(address: str) -> None:
    def change(password: str) -> None:
        set_sql_password(User.objects.get(username="lea"), password, who="lea")
        connection.close()

    async def visit(attempt: Attempt, _: Admission) -> list[str]:
        before = await attempt("lea", password_of("lea"))
        await asyncio.to_thread(change, "a new long password")
        try:
            return [before, await attempt("lea", password_of("lea")), await attempt("lea", "a new long password")]
        finally:
            await asyncio.to_thread(change, password_of("lea"))

    assert at_a_port(address, visit) == ["in as lea, may read", refused("lea"), "in as lea, may read"]


def test_a_store_that_does_not_answer_is_reported() -> None:
    assert outcome("host=127.0.0.1 port=1", "lea", "any").startswith(
        'the store does not answer, so "lea" cannot be signed in now'
    )


# -- wrong passwords


def test_wrong_passwords_are_logged_and_then_not_even_tried(address: str, caplog: pytest.LogCaptureFixture) -> None:
    async def visit(attempt: Attempt, _: Admission) -> list[str]:
        return [await attempt("lea", f"guess {n}") for n in range(5)] + [await attempt("lea", password_of("lea"))]

    with caplog.at_level(logging.WARNING, "nodes.people.sign_in"):
        told = at_a_port(address, visit)
    assert told[:3] == [refused("lea")] * 3
    assert told[3].startswith('too many wrong passwords for "lea" or from 127.0.0.1: try again in ')
    assert [record.getMessage() for record in caplog.records][:3] == [
        f"wrong password for user 'lea' from 127.0.0.1, {n} in a row" for n in (1, 2, 3)
    ]


def test_others_and_the_page_are_not_held_up_by_wrong_passwords(address: str) -> None:
    async def visit(attempt: Attempt, _: Admission) -> list[str]:
        for n in range(6):
            await attempt("lea", f"guess {n}")
        return [await attempt("olga", password_of("olga")), await attempt(**vouched_parameters(KEY, "lea"))]

    assert at_a_port(address, visit) == ["in as olga, may write", "in as lea, may read"]


def test_a_terminal_is_not_written_to_by_a_name(address: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "nodes.people.sign_in"):
        outcome(address, "lea\x1b[2J", "wrong")
    assert "\x1b" not in caplog.text
    assert "lea\\x1b[2J" in caplog.text


# -- what a node is told of people


def found_by_a_node(dsn: str, *names: str) -> dict[str, Person]:
    async def find() -> dict[str, Person]:
        pool = StorePool(dsn, "test of people", "-c timezone=UTC", 1)
        try:
            return await People(Directory(pool).ask)._find(names)
        finally:
            await pool.close()

    return asyncio.run(find())


def test_a_node_and_the_page_agree_who_may_write(address: str) -> None:
    by_the_page = {user.username: user.has_perm(MAY_WRITE) for user in User.objects.filter(is_active=True)}
    found = found_by_a_node(address, *by_the_page, "stranger")
    assert {name: person.has_right_to_write for name, person in found.items()} == by_the_page
    assert by_the_page["only submitter"]
    assert by_the_page["superuser"]
    assert not by_the_page["only learner"]


def test_many_who_come_at_once_are_one_question() -> None:
    questions = []

    async def ask(command: Any) -> Any:
        questions.append(command)
        await asyncio.sleep(0.05)
        raise directory.StoreError("08006", "away")

    async def storm() -> list[BaseException]:
        everybody = People(ask)
        return await asyncio.gather(*(everybody.look_up(f"p{n % 7}") for n in range(100)), return_exceptions=True)

    told = asyncio.run(storm())
    assert {type(one) for one in told} == {FatalError}
    assert len(questions) == 1


def test_a_store_that_hangs_does_not_hang_who_signs_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(directory, "ANSWER_S_MAX", 0.05)

    async def visit() -> None:
        await People(lambda _: asyncio.sleep(3600)).look_up("lea")  # type: ignore[arg-type, return-value]

    began = time.monotonic()
    with pytest.raises(FatalError, match="the store does not answer") as caught:
        asyncio.run(visit())
    assert caught.value.sqlstate == "57P03"
    assert time.monotonic() - began < 20


def test_open_sessions_learn_what_has_changed(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(directory, "WATCH_S", 0.02)
    closed: list[str] = []

    def change(how: Callable[[User], Any]) -> None:
        how(User.objects.get(username="sam"))
        connection.close()

    async def watched() -> tuple[bool, bool]:
        pool = StorePool(address, "test of people", "-c timezone=UTC", 2)
        everybody = People(Directory(pool).ask)
        person = await everybody.look_up("sam")
        watching = asyncio.create_task(everybody.watch(lambda who, why: closed.append(str(why))))
        before = can_write(person)
        await asyncio.to_thread(change, lambda sam: give_roles(sam, ("submitter",)))
        await until(lambda: can_write(person))
        await asyncio.to_thread(change, lambda sam: User.objects.filter(pk=sam.pk).update(is_active=False))
        await until(lambda: bool(closed))
        watching.cancel()
        await pool.close()
        return before, can_write(person)

    assert asyncio.run(watched()) == (False, True)
    assert closed[0] == 'the account "sam" has been closed'


async def until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not is_so():
            await asyncio.sleep(0.01)
