"""`manage.py users`: the people of a cluster from its terminal."""

import io
import json

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command

from nodes.models import SqlPassword
from nodes.wire.scram import verifier_from
from schemalab.people.sign_in_links import owner

pytestmark = pytest.mark.django_db
GOOD = "correct horse battery"


def users(*words: str, typed: str = "", monkeypatch: pytest.MonkeyPatch | None = None) -> str:
    out = io.StringIO()
    if monkeypatch is not None:
        monkeypatch.setattr("sys.stdin", io.StringIO(typed))
    call_command("users", *words, stdout=out)
    return out.getvalue()


def refusal(*words: str, **more) -> tuple[int, str]:
    with pytest.raises(CommandError) as refused:
        users(*words, **more)
    return refused.value.returncode, str(refused.value)


def test_people_are_added_listed_and_given_roles(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "nobody yet" in users()
    users("add", "ann", "submitter")
    users("sql-password", "ann", typed=GOOD + "\n", monkeypatch=monkeypatch)
    assert users() == "ann  learner, submitter; SQL password\n"
    users("roles", "ann", "operator")
    [ann] = json.loads(users("--json"))
    assert ann == {
        "name": "ann",
        "roles": ["learner", "operator"],
        "is_superuser": False,
        "is_active": True,
        "has_password": False,
        "has_sql_password": True,
    }
    assert User.objects.get().is_staff
    users("roles", "ann")
    assert not User.objects.get().is_staff
    assert not User.objects.get().has_perm("changes.add_change")


def test_passwords_come_by_standard_input_and_are_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    users("add", "ann")
    users("password", "ann", typed=GOOD + "\n", monkeypatch=monkeypatch)
    assert User.objects.get().check_password(GOOD)
    for action in ("password", "sql-password"):
        code, said = refusal(action, "ann", typed="short\n", monkeypatch=monkeypatch)
        assert code == 2
        assert said.startswith("nothing was changed: This password is too short.")
    assert User.objects.get().check_password(GOOD)
    assert not SqlPassword.objects.exists()


def test_an_sql_password_is_kept_as_what_checks_it(monkeypatch: pytest.MonkeyPatch) -> None:
    users("add", "ann")
    users("sql-password", "ann", typed=GOOD + "\n", monkeypatch=monkeypatch)
    assert verifier_from(SqlPassword.objects.get().verifier).iterations == 4096
    users("sql-password", "ann", "--remove")
    assert refusal("sql-password", "ann", "--remove") == (1, "ann has no SQL password")


def test_accounts_are_closed_and_opened_but_the_owners() -> None:
    owner()
    users("add", "ann")
    users("close", "ann")
    assert "ann  learner; closed" in users()
    users("open", "ann")
    assert User.objects.get(username="ann").is_active
    assert refusal("close", "owner") == (1, "the owner's account stays open: nobody else could open it again")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        pytest.param(("add", "a b"), "'a b' cannot be added: Enter a valid username.", id="a name that cannot be"),
        pytest.param(("add", "ann", "king"), "there is no role king; there are learner, submitter", id="no such role"),
        pytest.param(("close", "nobody"), "nobody is called 'nobody'", id="nobody of that name"),
    ],
)
def test_mistakes_are_bad_usage(words: tuple[str, ...], said: str) -> None:
    code, message = refusal(*words)
    assert (code, message[: len(said)]) == (2, said)
