"""Who may open what in the lab: every address, as a visitor, a member, somebody with an account, and a teacher."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from django.http import HttpResponse
from django.test import Client
from django.urls import URLPattern, reverse
from django.utils.timezone import now

from lab import urls
from lab.models import Course, Question
from lab.pages import urls as pages

ClientOf = Callable[[str], Client]
WHO = ("visitor", "member", "account", "teacher")
SCREEN = ("01-one-jump", "what-is-left")
SESSION = json.dumps({"session": {"setup": "one-jump", "parameters": {}, "left_out": [], "steps": ["publish.2"]}})
ORDER = json.dumps({"element": "index", "ground": "absent", "tiles": ["public"]})


@dataclass(frozen=True)
class Address:
    """How a page is asked for, and what the four get: a status each, or one for all."""

    get: tuple[int, ...] = ()
    post: tuple[int, ...] = ()
    args: tuple[Any, ...] = ()
    body: str = ""


def everybody(status: int) -> tuple[int, ...]:
    return (status,) * len(WHO)


SIGN_IN_OR_NOT = (302, 302, 403)  # a visitor and a visitor's membership are sent to sign in; others may not
ADDRESSES = {
    "lab": Address(get=everybody(200)),
    "stage": Address(get=everybody(200), post=everybody(200), body=SESSION),
    "stage-random": Address(post=everybody(200), body=SESSION),
    "stage-export": Address(get=everybody(400), args=("json",)),  # without a link
    "lab-explorer": Address(get=everybody(200), post=everybody(302)),
    "own": Address(get=everybody(200), post=everybody(200), body="statement=CREATE+TABLE+t+(id+int+PRIMARY+KEY)"),
    "own-ask": Address(post=everybody(302), body="statement=CREATE+TABLE+t+(id+int+PRIMARY+KEY)&case=0"),
    "own-answer": Address(get=everybody(404), args=(0,)),
    "lab-model": Address(get=everybody(302), args=("add-table",)),
    "lab-without": Address(get=everybody(302), args=("fence",)),
    "lab-why": Address(get=everybody(302), args=("lease",)),
    "why-it-waits": Address(get=everybody(200)),
    "lab-why-change": Address(get=everybody(404), args=(0,)),
    "ladder": Address(post=everybody(200), body=ORDER),
    "ladder-question": Address(get=everybody(404), args=(0,)),
    "question-ask": Address(post=everybody(200), body=SESSION),
    "question-saving": Address(post=everybody(200), body=SESSION),
    "question": Address(get=everybody(404), args=(0,)),
    "question-stop": Address(post=everybody(404), args=(0,)),
    "chapter": Address(get=everybody(302), args=SCREEN[:1]),
    "chapter-handout": Address(get=everybody(200), args=SCREEN[:1]),
    "chapter-screen": Address(get=everybody(200), args=SCREEN),
    "chapter-answer": Address(post=everybody(302), args=SCREEN, body="choice=entry"),
    "chapter-hint": Address(post=everybody(302), args=SCREEN),
    "chapter-solution": Address(post=everybody(302), args=SCREEN),
    "courses": Address(get=(*SIGN_IN_OR_NOT, 200), post=(*SIGN_IN_OR_NOT, 422)),
    "course": Address(get=(*SIGN_IN_OR_NOT, 404), args=(0,)),
    "course-grid": Address(get=(403, 403, 403, 404), args=(0,)),
    "course-change": Address(post=(*SIGN_IN_OR_NOT, 404), args=(0,)),
    "course-pace": Address(post=(*SIGN_IN_OR_NOT, 404), args=(0,)),
    "course-projector": Address(get=(*SIGN_IN_OR_NOT, 404), args=(0,)),
    "course-projector-counts": Address(get=(403, 403, 403, 404), args=(0,)),
    "course-learner": Address(get=(*SIGN_IN_OR_NOT, 404), args=(0, 1)),
    "pace-here": Address(get=everybody(200)),
    "course-done": Address(get=everybody(200)),
    "chapter-reached": Address(post=everybody(200), args=SCREEN),
    "course-delete": Address(post=(*SIGN_IN_OR_NOT, 404), args=(0,)),
    "course-csv": Address(get=(*SIGN_IN_OR_NOT, 404), args=(0,)),
    "course-trace": Address(get=(*SIGN_IN_OR_NOT, 404), args=(0, 1, *SCREEN)),
    "replays": Address(get=everybody(200), post=(403, 403, 403, 403)),
    "sandboxes": Address(post=(403, 403, 403, 403)),
    "replay": Address(get=(302, 302, 404, 404), args=(0,)),
    "recorded": Address(get=everybody(200), args=("orphan",)),
    "polls": Address(get=(*SIGN_IN_OR_NOT, 200), post=(*SIGN_IN_OR_NOT, 422)),
    "poll": Address(get=(*SIGN_IN_OR_NOT, 404), args=(0,)),
    "poll-counts": Address(get=(403, 403, 403, 404), args=(0,)),
    "poll-change": Address(post=(*SIGN_IN_OR_NOT, 404), args=(0,)),
    "vote": Address(get=everybody(404), post=everybody(404), args=("nothing",)),
    "my-course": Address(get=(302, 200, 302, 302)),
    "step-out": Address(post=everybody(302)),
    "leave-course": Address(post=everybody(302)),
    "join": Address(get=everybody(404), post=everybody(404), args=("nothing",)),
}


@pytest.fixture
def client_who(client_of: ClientOf, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Client]:
    monkeypatch.setattr("lab.services._send", lambda: None)
    teacher = client_of("ines")

    def client(who: str) -> Client:
        if who == "member":
            made = {"name": "C", "chapters": [SCREEN[0]], "language": "en", "token": "t", "is_anonymous": True}
            user_id = int(teacher.session["_auth_user_id"])
            course = Course.objects.create(**made, made_by_id=user_id, made_at=now())
            joined = Client()
            joined.post(f"/join/{course.token}/")
            return joined
        return {"visitor": Client(), "account": client_of("lea"), "teacher": teacher}[who]

    return client


def test_every_address_of_the_lab_is_here() -> None:
    patterns = [*pages.urlpatterns, *(one for one in urls.urlpatterns if isinstance(one, URLPattern))]
    assert {pattern.name for pattern in patterns} == set(ADDRESSES)


@pytest.mark.parametrize("name", sorted(ADDRESSES))
def test_who_may_what(client_who: Callable[[str], Client], name: str) -> None:
    address = ADDRESSES[name]
    where = reverse(name, args=address.args)
    kind = "application/json" if address.body.startswith("{") else "application/x-www-form-urlencoded"
    for at, who in enumerate(WHO):
        client = client_who(who)
        if address.get:
            assert client.get(where).status_code == address.get[at], (who, "GET")
        if address.post:
            answer: HttpResponse = client.post(where, address.body, content_type=kind)  # type: ignore[assignment]
            assert answer.status_code == address.post[at], (who, "POST", answer.content[:300])
            assert not answer.get("Location", "").startswith("/sign-in/") or address.post[at] == 302


def test_nobody_is_sent_to_sign_in_by_what_is_for_everybody(client_who: Callable[[str], Client]) -> None:
    visitor = client_who("visitor")
    for name, address in ADDRESSES.items():
        if address.get and len(set(address.get)) == 1:
            answer = visitor.get(reverse(name, args=address.args))
            assert not answer.get("Location", "").startswith("/sign-in/"), name


def test_a_visitor_asks_the_explorer_and_others_do_not_see_it(client_who: Callable[[str], Client]) -> None:
    visitor, other = client_who("visitor"), Client()
    asked = visitor.post("/lab/questions/", SESSION, content_type="application/json").json()
    assert Question.objects.get().owner.startswith("visitor:")
    assert visitor.get(f"/lab/questions/{asked['id']}/").status_code == 200
    assert other.get(f"/lab/questions/{asked['id']}/").status_code == 404


@pytest.mark.parametrize("who", WHO)
def test_everybody_has_the_explorer_on_the_stage(client_who: Callable[[str], Client], who: str) -> None:
    assert 'data-questions="/lab/questions/"' in client_who(who).get("/lab/stage/").content.decode()
