"""A session as a file: a picture, JSON, a golden script."""

import json
from collections.abc import Callable
from xml.etree import ElementTree

import pytest
from django.test import Client
from django.urls import reverse

from lab.questions.witnesses import witness_of
from lab.scripts import golden
from lab.sessions.replay import show
from lab.sessions.session import BadSession, Session, encode
from lab.sessions.world.script import script_of

ClientOf = Callable[[str], Client]
MODEL = Session("one-jump", steps=("publish.2", "n2.acquire"))
WORLD = Session("leases", left_out=frozenset({"two versions"}), steps=("n1: crash", "step", "tick 10 s"))


def exported(client: Client, form: str, session: Session, at: int | None = None):
    link = encode(session, len(session.steps) if at is None else at)
    return client.get(reverse("stage-export", args=(form,)), {"s": link})


@pytest.mark.parametrize("session", [MODEL, WORLD], ids=["model", "world"])
def test_the_picture_stands_alone(client_of: ClientOf, session: Session) -> None:
    answer = exported(client_of("lea"), "svg", session)
    assert answer["Content-Type"].startswith("image/svg+xml")
    assert answer["Content-Disposition"] == f'attachment; filename="{session.setup}.svg"'
    root = ElementTree.fromstring(answer.content.decode())  # noqa: S314 - our own
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert "style=" not in answer.content.decode()


def test_json_has_the_session_and_what_it_shows_at_its_position(client_of: ClientOf) -> None:
    found = json.loads(exported(client_of("lea"), "json", MODEL, 1).content)
    assert found["session"]["steps"] == list(MODEL.steps)
    assert found["at"] == 1
    assert found["cluster"]["versions"]


def test_a_golden_script_says_today_what_it_said_when_it_was_exported(client_of: ClientOf) -> None:
    text = exported(client_of("lea"), "script", WORLD).content.decode()
    played = golden.play(text)
    assert played.is_same
    assert played.why.startswith("A dead node and its lease, left out: two versions")
    commands = [line for outcome in played.outcomes for line in outcome.block.commands]
    assert commands[-3:] == list(WORLD.steps)
    assert "without two versions" in commands


def test_a_script_ends_before_the_step_that_is_refused() -> None:
    refused = Session("leases", steps=("n1: crash", "no such line"))
    assert show(refused).refused is not None
    assert golden.play(script_of(refused, "why")).is_same
    with pytest.raises(BadSession, match="cannot leave out fence"):
        script_of(Session("leases", left_out=frozenset({"fence"})), "why")


@pytest.mark.parametrize(("form", "link", "status"), [("svg", "no link", 400), ("png", encode(MODEL, 0), 404)])
def test_what_cannot_be_exported_is_said(client_of: ClientOf, form: str, link: str, status: int) -> None:
    assert client_of("lea").get(reverse("stage-export", args=(form,)), {"s": link}).status_code == status


def test_a_counterexample_is_a_golden_script_that_shows_the_same_violation(client_of: ClientOf) -> None:
    """From the explorer's page: the witness of one jump, by the rules of the lab's cluster."""
    lea = client_of("lea")
    answer = lea.get(reverse("lab-model", args=("index-in-one-step",)), {"as": "script"}, follow=True)
    text = answer.content.decode()
    assert answer["Content-Disposition"].endswith('.script"')
    played = golden.play(text)
    assert played.is_same
    assert any("C4: index by_a has no entry" in line for line in played.outcomes[-1].output)
    steps = len(witness_of("index-in-one-step").session.steps)
    assert len(played.outcomes) <= steps + 2


def test_what_no_sentence_says_is_named(client_of: ClientOf) -> None:
    ended = Session("one-jump", steps=("publish.2", "n1.begin", "n1.expire", "n1.end"))
    answer = exported(client_of("lea"), "script", ended)
    assert (answer.status_code, "n1.end" in answer.content.decode()) == (400, True)
    people = exported(client_of("lea"), "script", Session("handbooks"))
    assert (people.status_code, "is about a cluster" in people.content.decode()) == (400, True)
