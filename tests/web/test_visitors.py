"""Visitors who have not signed in: every address asks for a sign-in, or SECURITY.md says that it does not."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from django.http.response import HttpResponseBase
from django.test import Client
from django.urls import get_resolver

from catalog.models import Descriptor, Table
from catalog.services import append_event

SECURITY = Path(__file__).parents[2] / "SECURITY.md"
MISSING = 10**6
REFUSED = (403, 404, 405)


def addresses(patterns: list, before: str, table_id: int) -> Iterator[str]:
    """Every address of the site, with a table that exists, and of all else that has a number or a name one that does
    not: the door comes before what is behind it."""
    for one in patterns:
        route = before + str(one.pattern).replace("^", "").replace("$", "")
        if hasattr(one, "url_patterns"):
            yield from addresses(one.url_patterns, route, table_id)
        else:
            known = route.replace("<int:table_id>", str(table_id))
            yield re.sub(r"\(\?P<[^)]*\)|<\w+:\w+>", lambda found: str(MISSING) if "int" in found[0] else "x", known)


def documented() -> list[str]:
    section = SECURITY.read_text().partition("## Without a sign-in")[2].partition("\n## ")[0]
    return re.findall(r"`(/[^`]*)`", section)


def asks_for_a_sign_in(answer: HttpResponseBase) -> bool:
    return answer.status_code == 302 and answer["Location"].startswith(("/sign-in/", "/admin/login/"))


@pytest.fixture
def all_addresses(flights: Table) -> list[str]:
    return list(addresses(get_resolver().url_patterns, "/", flights.pk))


def test_what_asks_for_no_sign_in_is_documented(all_addresses: list[str]) -> None:
    open_ones = set()
    for address in all_addresses:
        for ask in (Client().get, Client().post):
            answer = ask(address)
            if not asks_for_a_sign_in(answer) and answer.status_code not in (403, 405):
                open_ones.add(address)
    assert len(all_addresses) > 100
    roots = [one for one in documented() if one != "/"]
    assert [one for one in sorted(open_ones) if one != "/" and not one.startswith(tuple(roots))] == []
    served = (*open_ones, *all_addresses, "/alive")
    assert [root for root in roots if not any(one.startswith(root) for one in served)] == []


def test_a_visitors_form_is_never_a_mistake_of_ours(all_addresses: list[str]) -> None:
    """A form where JSON is expected, and JSON where a form is."""
    client = Client(raise_request_exception=False)
    for address in all_addresses:
        statuses = [client.get(address), client.post(address, {"a": "b"})]
        statuses.append(client.post(address, "[", content_type="application/json"))
        assert [answer.status_code for answer in statuses if answer.status_code >= 500] == [], address


def test_a_visitor_sees_nothing_of_the_cluster(
    all_addresses: list[str], flights: Table, client_of: Callable[[str], Client]
) -> None:
    Table.objects.filter(pk=flights.pk).update(name="secretive")
    for version in Descriptor.objects.filter(table=flights):
        Descriptor.objects.filter(pk=version.pk).update(body=version.body | {"name": "secretive"})
    append_event("node joined", "secretive", {"node": "secretive", "incarnation": 1}, ["cluster"])
    assert all(b"secretive" in client_of("lea").get(address).content for address in ("/", "/tables/"))
    assert [address for address in all_addresses if b"secretive" in Client().get(address).content] == []
