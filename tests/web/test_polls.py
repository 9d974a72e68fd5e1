"""A question to the room: ines and ivo teach, lea has an account, the room has none."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from django.test import Client

from lab.models import Poll, Vote
from lab.polls import services
from lab.sessions.session import Session, decode, encode

ClientOf = Callable[[str], Client]
BEFORE = ("publish.2", "n2.acquire", "n2.begin", "n2.read.1", "n2.write.insert.1.1", "n2.commit")
AFTER = ("n1.begin", "n1.read.1", "n1.write.delete.1.0", "n1.commit")
LINK = encode(Session("one-jump", steps=(*BEFORE, *AFTER)), len(BEFORE))
FORM = {"s": LINK, "question": "What is left?", "choices": "nothing\n*the entry\nboth"}


@pytest.fixture
def ines(client_of: ClientOf) -> Client:
    return client_of("ines")


@pytest.fixture
def poll(ines: Client) -> Poll:
    answer = ines.post("/lab/polls/", FORM)
    assert answer.status_code == 302, answer.content.decode()
    return Poll.objects.get()


def text_of(client: Client, path: str, status: int = 200) -> str:
    answer = client.get(path)
    assert answer.status_code == status
    return answer.content.decode()


def cast(poll: Poll, choice: int | str, client: Client | None = None, status: int = 302) -> Client:
    client = client or Client()
    assert client.post(f"/vote/{poll.token}/", {"choice": choice}).status_code == status
    return client


def test_a_poll_is_made_from_the_stage_and_has_a_code_to_scan(ines: Client, poll: Poll) -> None:
    assert (poll.choices, poll.right) == (["nothing", "the entry", "both"], 1)
    assert f"?s={LINK}" in text_of(ines, f"/lab/polls/?s={LINK}")
    page = text_of(ines, f"/lab/polls/{poll.pk}/")
    assert f"/vote/{poll.token}/" in page
    assert "<svg" in page
    assert "1 vote" not in page
    assert "data-polls" in text_of(ines, "/lab/stage/")


def test_a_browser_has_one_vote_and_may_change_it(ines: Client, poll: Poll) -> None:
    phone = cast(poll, 0)
    cast(poll, 2, phone)
    cast(poll, 1)
    assert services.counts(poll) == [0, 1, 1]
    assert "2 votes" in text_of(ines, f"/lab/polls/{poll.pk}/counts/")
    assert re.search(r'value="2"[^>]*checked', text_of(phone, f"/vote/{poll.token}/"))


def test_before_it_is_revealed_nothing_says_what_comes_next_or_how_others_voted(ines: Client, poll: Poll) -> None:
    phone = cast(poll, 0)
    cast(poll, 1)
    page = text_of(phone, f"/vote/{poll.token}/")
    assert LINK not in page
    assert "progress" not in page
    assert "n2" in page
    assert "deletes" not in page
    teacher = text_of(ines, f"/lab/polls/{poll.pk}/")
    assert "<progress" not in teacher
    (before,) = re.findall(r'href="/lab/stage/\?s=([^&"]+)&', teacher.replace("&amp;", "&"))
    assert decode(before).session.steps == BEFORE


def test_a_poll_at_the_end_of_a_session_does_not_print_its_answer(ines: Client) -> None:
    at_end = encode(Session("one-jump", steps=(*BEFORE, *AFTER)), len(BEFORE) + len(AFTER))
    assert ines.post("/lab/polls/", FORM | {"s": at_end}).status_code == 302
    page = text_of(Client(), f"/vote/{Poll.objects.get().token}/")
    assert "<li>n1 deletes row 1" in page, "steps are told, without the lane that acts"
    for answer in ("Damage", "by table", "\u2717 "):
        assert answer not in page


def test_when_it_is_revealed_everybody_sees_the_votes_and_what_happens(ines: Client, poll: Poll) -> None:
    phone = cast(poll, 0)
    ines.post(f"/lab/polls/{poll.pk}/change/", {"do": "reveal"})
    page = text_of(phone, f"/vote/{poll.token}/")
    assert LINK in page
    assert "<progress" in page
    assert re.search(r"the entry\s*<span[^>]*>.*?right", page, re.DOTALL)
    cast(poll, 1, phone, status=422)
    assert services.counts(poll) == [1, 0, 0]
    ines.post(f"/lab/polls/{poll.pk}/change/", {"do": "hide"})
    cast(poll, 1, phone)
    assert services.counts(poll) == [0, 1, 0]


def test_the_next_class_begins_with_no_votes(ines: Client, poll: Poll) -> None:
    cast(poll, 0)
    ines.post(f"/lab/polls/{poll.pk}/change/", {"do": "reveal"})
    ines.post(f"/lab/polls/{poll.pk}/change/", {"do": "clear"})
    poll.refresh_from_db()
    assert (poll.is_revealed, services.counts(poll)) == (False, [0, 0, 0])
    ines.post(f"/lab/polls/{poll.pk}/change/", {"do": "delete"})
    assert not Poll.objects.exists()
    assert not Vote.objects.exists()


@pytest.mark.parametrize(
    "wrong",
    [
        {"s": "no link"},
        {"question": " "},
        {"question": "x" * 201},
        {"choices": "one"},
        {"choices": "one\n*\ntwo"},
        {"choices": "one\n*two\n*three"},
        {"choices": "same\nsame"},
        {"choices": "\n".join("abcdefg")},
        {"choices": f"a\n{'b' * 101}"},
    ],
    ids=str,
)
def test_a_poll_that_cannot_be_made_says_why(ines: Client, wrong: dict[str, str]) -> None:
    answer = ines.post("/lab/polls/", FORM | wrong)
    assert (answer.status_code, "Nothing was made" in answer.content.decode()) == (422, True)
    assert not Poll.objects.exists()


@pytest.mark.parametrize("choice", ["", "3", "-1", "one", "99999999999", "²"])
def test_a_vote_for_nothing_does_not_count(poll: Poll, choice: str) -> None:
    refused = Client().post(f"/vote/{poll.token}/", {"choice": choice})
    assert (refused.status_code, "Choose one of the answers." in refused.content.decode()) == (422, True)
    assert not Vote.objects.exists()


def test_a_poll_that_is_deleted_amid_a_vote_is_not_found(poll: Poll, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lab.polls.services.vote", lambda found, *_: Poll.objects.get(pk=found.pk + 1))
    cast(poll, 1, status=404)


def test_only_who_made_a_poll_sees_and_changes_it(client_of: ClientOf, poll: Poll) -> None:
    for person, status in (("ivo", 404), ("lea", 403)):
        client = client_of(person)
        assert client.get(f"/lab/polls/{poll.pk}/").status_code == status
        assert client.get(f"/lab/polls/{poll.pk}/counts/").status_code == status
        assert client.post(f"/lab/polls/{poll.pk}/change/", {"do": "reveal"}).status_code == status
    assert Client().get(f"/lab/polls/{poll.pk}/")["Location"].startswith("/sign-in/")
    assert Client().get("/vote/no-such-token/").status_code == 404


def test_the_oldest_poll_goes_when_there_is_one_too_many(
    ines: Client, people: dict[str, User], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(services, "POLLS_MAX", 2)
    for question in ("one", "two", "three"):
        ines.post("/lab/polls/", FORM | {"question": question})
    assert [poll.question for poll in Poll.objects.all()] == ["three", "two"]


def test_a_poll_whose_session_cannot_be_opened_any_more_still_counts(ines: Client, poll: Poll) -> None:
    Poll.objects.update(link="of another time")
    cast(poll, 1)
    text_of(Client(), f"/vote/{poll.token}/")
    text_of(ines, f"/lab/polls/{poll.pk}/")
