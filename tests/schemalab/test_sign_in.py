"""Signing in by a link: once, soon, and only with a link of ours; and who may do what afterwards."""

import pytest
from django.contrib.auth.models import Group, User
from django.core import signing
from django.core.management import CommandError, call_command
from django.test import Client
from pytest_django import Settings

from schemalab.people import sign_in_links
from schemalab.people.roles import ROLES, give_roles
from schemalab.people.sign_in_links import LinkRefused, make_token, owner, use_token

pytestmark = pytest.mark.django_db


@pytest.fixture
def ann() -> User:
    return User.objects.create_user("ann")


def refusal(token: str) -> str:
    with pytest.raises(LinkRefused) as refused:
        use_token(token)
    return str(refused.value)


def test_a_link_signs_in(client: Client, ann: User) -> None:
    response = client.get(f"/sign-in/{make_token(ann)}/")
    assert (response.status_code, response["Location"]) == (302, "/")
    assert client.session["_auth_user_id"] == str(ann.pk)


def test_a_link_works_once(client: Client, ann: User) -> None:
    link = f"/sign-in/{make_token(ann)}/"
    client.get(link)
    response = Client().get(link)
    assert response.status_code == 403
    assert "This sign-in link was used already." in response.content.decode()


def test_using_one_link_ends_the_others(ann: User) -> None:
    first, second = make_token(ann), make_token(ann)
    use_token(first)
    assert refusal(second) == "used"


def test_of_two_simultaneous_uses_one_wins(ann: User, monkeypatch: pytest.MonkeyPatch) -> None:
    token = make_token(ann)
    first_came = sign_in_links._move_last_login

    def another_use_comes_between(user: User) -> bool:
        monkeypatch.setattr(sign_in_links, "_move_last_login", first_came)
        use_token(token)
        return first_came(user)

    monkeypatch.setattr(sign_in_links, "_move_last_login", another_use_comes_between)
    assert refusal(token) == "used"


def test_a_link_is_refused_after_a_quarter_of_an_hour(ann: User, monkeypatch: pytest.MonkeyPatch) -> None:
    token = make_token(ann)
    now = signing.time.time()
    monkeypatch.setattr(signing.time, "time", lambda: now + 15 * 60 + 1)
    assert refusal(token) == "expired"


@pytest.mark.parametrize(
    "token",
    [
        pytest.param("nonsense", id="a word is not a link"),
        pytest.param(signing.dumps({"user": 1, "last": "never"}, salt="other"), id="a signature for another purpose"),
        pytest.param(signing.dumps({"user": 9999, "last": "never"}, salt=sign_in_links.SALT), id="a user that is not"),
    ],
)
def test_only_our_links_are_taken(token: str) -> None:
    assert refusal(token) == "unknown"


def test_an_inactive_user_is_not_signed_in(ann: User) -> None:
    token = make_token(ann)
    User.objects.filter(pk=ann.pk).update(is_active=False)
    assert refusal(token) == "unknown"


def test_the_owner_may_do_everything_and_has_no_password() -> None:
    assert owner() == owner()
    assert owner().has_perm("changes.add_change")
    assert not owner().has_usable_password()


def test_every_role_is_a_group() -> None:
    assert set(Group.objects.values_list("name", flat=True)) == set(ROLES)


@pytest.mark.parametrize(
    ("role", "permission", "has_it"),
    [
        pytest.param("learner", "catalog.view_table", True, id="a learner looks at tables"),
        pytest.param("learner", "leases.change_lease", False, id="a learner changes no lease"),
        pytest.param("operator", "leases.change_lease", True, id="an operator revokes leases"),
        pytest.param("operator", "leases.drain_node", True, id="an operator drains nodes"),
        pytest.param("submitter", "changes.add_change", True, id="a submitter submits changes"),
        pytest.param("submitter", "leases.change_lease", False, id="a submitter does not revoke leases"),
    ],
)
def test_what_a_role_may_do(ann: User, role: str, permission: str, has_it: bool) -> None:
    give_roles(ann, (role,))
    assert User.objects.get(pk=ann.pk).has_perm(permission) is has_it
    assert User.objects.get(pk=ann.pk).is_staff is (role == "operator")


def test_health_is_reported_without_signing_in(client: Client, redis_url: str) -> None:
    response = client.get("/healthz")
    assert response.json() == {"well": True, "database": True, "redis": True, "nodes_up": 0, "nodes_expected": 3}


def test_ill_health_is_an_error_to_scripts(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("schemalab.embedded.redis.is_ready", lambda _url: False)
    response = client.get("/healthz")
    assert response.status_code == 503
    assert response.json()["redis"] is False


def test_a_link_for_nobody_is_bad_usage() -> None:
    with pytest.raises(CommandError, match="no active user is called 'nobody'") as refused:
        call_command("signin-link", "--user", "nobody")
    assert refused.value.returncode == 2


def test_a_link_leads_to_this_machine_where_the_page_listens_on_every_address(
    ann: User, settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    settings.HOST, settings.PORT, settings.PUBLIC_URL = "0.0.0.0", 8123, ""
    call_command("signin-link", "--user", "ann")
    assert capsys.readouterr().out.startswith("http://127.0.0.1:8123/sign-in/")
