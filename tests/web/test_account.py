"""My account through its URL: passwords are made there, checked, kept as what checks them, and taken away."""

import html
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from nodes.models import SqlPassword
from nodes.people.attempts import subjects_of
from nodes.services import set_sql_password
from nodes.wire.scram import Exchange, verifier_from
from schemalab.models import SignInTally
from schemalab.people.sign_in_links import make_token
from schemalab.people.throttle import begin_try
from tests.nodes.wire.test_scram import final_message

ClientOf = Callable[[str], Client]
GOOD = "correct horse battery"


def is_password_of(name: str, password: str) -> bool:
    exchange = Exchange(verifier_from(SqlPassword.objects.get(user__username=name).verifier), name)
    first = exchange.challenge(f"n,,n={name},r=abc")
    return exchange.verify(final_message(exchange, first, password=password, bound=b"n,,")).startswith("v=")


def set_sql(client: Client, password: str, again: str | None = None, *, old: str = "") -> str:
    typed = {"sql-new_password1": password, "sql-new_password2": password if again is None else again}
    typed |= {"sql-old_password": old} if old else {}
    return html.unescape(client.post("/account/sql-password/", typed, follow=True).content.decode())


@pytest.mark.parametrize("page", ["/account/"])
def test_strangers_are_asked_to_sign_in(db: None, page: str) -> None:
    assert Client().get(page)["Location"] == f"/sign-in/?next={page}"


@pytest.mark.parametrize("page", ["/account/sql-password/", "/account/sql-password/remove/", "/account/password/"])
def test_strangers_set_nothing(db: None, page: str) -> None:
    assert Client().post(page, {})["Location"].startswith("/sign-in/")
    assert not SqlPassword.objects.exists()


@pytest.mark.parametrize(
    ("name", "said"),
    [("lea", "you read; writing rows and changing schemas takes the role submitter"), ("sam", "you read, write rows")],
)
def test_the_page_says_what_one_may_do_by_sql(client_of: ClientOf, name: str, said: str) -> None:
    assert said in client_of(name).get("/account/").content.decode()


def test_a_person_makes_replaces_and_removes_an_sql_password(client_of: ClientOf) -> None:
    client = client_of("lea")
    assert "Your SQL password is set." in set_sql(client, GOOD)
    assert is_password_of("lea", GOOD)
    set_sql(client, f"{GOOD} 2", old=GOOD)
    assert is_password_of("lea", f"{GOOD} 2")
    assert "Every node asks for it" in client.get("/account/").content.decode()
    client.post("/account/sql-password/remove/", {"remove-old_password": f"{GOOD} 2"})
    assert not SqlPassword.objects.exists()


def test_a_password_is_never_kept_nor_shown(client_of: ClientOf) -> None:
    said = set_sql(client_of("lea"), GOOD)
    assert GOOD not in said
    assert GOOD not in SqlPassword.objects.get().verifier
    assert "short" not in set_sql(client_of("lea"), "short", "short").replace("too short", "")


@pytest.mark.parametrize(
    ("password", "again", "wrong"),
    [
        pytest.param("short", "short", "It must contain at least 10 characters.", id="too short"),
        pytest.param("password123", "password123", "This password is too common.", id="too common"),
        pytest.param("91827364550", "91827364550", "This password is entirely numeric.", id="only digits"),
        pytest.param("lea.lea.lea", "lea.lea.lea", "too similar to the username", id="like the name"),
        pytest.param(GOOD, f"{GOOD}!", "didn’t match", id="typed in two ways"),
    ],
)
@pytest.mark.parametrize("kind", ["sql", "page"])
def test_weak_passwords_are_refused(
    client_of: ClientOf, people: dict[str, User], kind: str, password: str, again: str, wrong: str
) -> None:
    User.objects.filter(username="lea").update(username="lea.lea.le")
    people["lea"].set_unusable_password()
    people["lea"].save(update_fields=["password"])
    client = Client()
    client.force_login(User.objects.get(username="lea.lea.le"))
    where = {"sql": "/account/sql-password/", "page": "/account/password/"}[kind]
    said = client.post(where, {f"{kind}-new_password1": password, f"{kind}-new_password2": again}).content.decode()
    assert wrong in html.unescape(said)
    assert not SqlPassword.objects.exists()
    assert not User.objects.get(username="lea.lea.le").has_usable_password()


def test_whoever_has_a_page_password_proves_to_know_it(client_of: ClientOf, people: dict[str, User]) -> None:
    client = client_of("lea")
    typed = {"page-new_password1": GOOD, "page-new_password2": GOOD}
    client.post("/account/password/", typed)
    assert User.objects.get(username="lea").check_password(GOOD)
    other = {"page-new_password1": f"{GOOD} 2", "page-new_password2": f"{GOOD} 2"}
    assert "This field is required." in client.post("/account/password/", other).content.decode()
    client.post("/account/password/", {**other, "page-old_password": GOOD})
    assert User.objects.get(username="lea").check_password(f"{GOOD} 2")
    assert client.get("/account/").status_code == 200, "the browser in hand stays signed in"


def test_the_administration_makes_other_peoples_passwords_only(client_of: ClientOf, people: dict[str, User]) -> None:
    User.objects.filter(username="olga").update(is_superuser=True)
    olga = client_of("olga")
    assert olga.get(f"/admin/auth/user/{people['lea'].pk}/password/").status_code == 200
    for own in (f"/admin/auth/user/{people['olga'].pk}/password/", "/admin/password_change/"):
        assert olga.get(own)["Location"] == "/account/"


WRONG_OLD = "Your old password was entered incorrectly."


@pytest.mark.parametrize(
    ("where", "prefix"),
    [("/account/sql-password/", "sql"), ("/account/sql-password/remove/", "remove"), ("/account/password/", "page")],
)
def test_a_browser_that_was_left_signed_in_changes_no_password(
    client_of: ClientOf, lea: User, where: str, prefix: str
) -> None:
    """Nor does it find the old one out: wrong ones wait."""
    set_sql_password(lea, GOOD, who="lea")
    client = client_of("lea")
    new = {f"{prefix}-new_password1": f"{GOOD} 2", f"{prefix}-new_password2": f"{GOOD} 2"}

    def send(**old: str) -> str:
        return html.unescape(
            client.post(where, new | {f"{prefix}-{name}": it for name, it in old.items()}).content.decode()
        )

    assert "This field is required." in send()
    assert WRONG_OLD in send(old_password="a guess")
    for _ in range(3):
        send(old_password="a guess")
    assert "There were too many wrong passwords" in send(old_password=GOOD)
    assert is_password_of("lea", GOOD)
    assert User.objects.get(username="lea").check_password(GOOD)


def test_nobody_sets_it_for_another(client_of: ClientOf, people: dict[str, User]) -> None:
    set_sql_password(people["sam"], GOOD, who="sam")
    client = client_of("lea")
    client.post("/account/sql-password/remove/", {"user": "sam"})
    assert is_password_of("sam", GOOD)


# -- signing in with a password


def sign_in(name: str, password: str, *, address: str = "10.0.0.1", page: str = "/sign-in/") -> tuple[int, str]:
    answer = Client().post(page, {"username": name, "password": password}, REMOTE_ADDR=address)
    return answer.status_code, html.unescape(answer.content.decode())


class Clock:
    """The time of the page, which the test moves."""

    def __init__(self) -> None:
        self.now = timezone.now()

    def pass_s(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr("schemalab.people.throttle.timezone.now", lambda: clock.now)
    return clock


@pytest.fixture
def lea(people: dict[str, User], clock: Clock, settings: Settings) -> User:
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    for name in ("lea", "sam"):
        people[name].set_password(GOOD)
        people[name].save(update_fields=["password"])
    return people["lea"]


@pytest.mark.parametrize("page", ["/sign-in/", "/admin/login/"])
def test_wrong_passwords_make_the_next_wait(lea: User, page: str) -> None:
    assert sign_in("lea", GOOD)[0] == 302
    for guess in range(3):
        assert "wait" not in sign_in("lea", f"guess {guess}", page=page)[1].partition("<form")[2].lower()
    status, said = sign_in("lea", GOOD, page=page)
    assert status in (200, 429)
    assert "There were too many wrong passwords: wait 1 second, then try again." in said


def test_others_and_other_addresses_do_not_wait(lea: User) -> None:
    for guess in range(3):
        sign_in("lea", f"guess {guess}")
    assert sign_in("lea", GOOD)[0] == 429
    assert sign_in("sam", GOOD)[0] == 302
    assert sign_in("lea", GOOD, address="10.0.0.2")[0] == 302


def test_a_wait_ends_and_the_count_with_it(lea: User, clock: Clock) -> None:
    for guess in range(20):
        sign_in("lea", f"guess {guess}")
        clock.pass_s(20)
    assert sign_in("lea", GOOD)[0] == 429
    clock.pass_s(61)
    assert sign_in("lea", GOOD)[0] == 302
    assert [sign_in("lea", "wrong")[0] for _ in range(3)] == [200, 200, 200]


def test_a_sign_in_link_never_waits(lea: User) -> None:
    for guess in range(4):
        sign_in("lea", f"guess {guess}")
    assert Client().get(f"/sign-in/{make_token(lea)}/", REMOTE_ADDR="10.0.0.1").status_code == 302


def test_many_tries_at_once_are_not_more_than_one_after_the_other(db: None, clock: Clock) -> None:
    """What counts is the beginning of a try: nobody looks at fifty passwords while the first is being hashed."""
    waits = [begin_try(subjects_of("lea", "10.0.0.1")) for _ in range(10)]
    assert waits[:3] == [0, 0, 0]
    assert all(wait > 0 for wait in waits[3:])


def test_what_is_remembered_is_forgotten(lea: User, clock: Clock) -> None:
    for number in range(20):
        sign_in(f"guess {number}", "wrong", address=f"10.0.1.{number}")
    assert SignInTally.objects.count() == 60
    clock.pass_s(2 * 3600)
    sign_in("lea", GOOD)
    assert SignInTally.objects.count() == 3
