"""NUL and halves of surrogate pairs: a request that brings them is answered with 400 or 404, and nothing is stored."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from django.test import Client

from lab.models import Attempt, Question

ClientOf = Callable[[str], Client]
BAD = [pytest.param("\0", id="NUL"), pytest.param("\ud800", id="half of a pair")]
REACH = "/lab/chapters/02-delete-only/tell-apart/"


@pytest.fixture
def client(client_of: ClientOf, monkeypatch: pytest.MonkeyPatch) -> Client:
    monkeypatch.setattr("lab.services._send", lambda: None)
    client = client_of("lea")
    client.raise_request_exception = False
    return client


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("where", ["/lab/stage/", "/lab/stage/random/", "/lab/questions/", "/lab/questions/saving/"])
def test_a_session_with_such_a_step_is_refused(client: Client, where: str, bad: str) -> None:
    for session in (
        {"setup": "one-jump", "parameters": {}, "left_out": [], "steps": ["publish.2", bad]},
        {"setup": "one-jump", "parameters": {bad: 1}, "left_out": [], "steps": []},
        {"setup": bad, "parameters": {}, "left_out": [bad], "steps": []},
    ):
        answer = client.post(where, json.dumps({"session": session}), content_type="application/json")
        assert answer.status_code == 400
        assert json.loads(answer.content)["error"]
    assert not Question.objects.exists()


@pytest.mark.parametrize("bad", BAD)
def test_an_answer_with_such_a_step_is_not_stored(client: Client, bad: str) -> None:
    where = "/lab/chapters/01-one-jump/from-the-start/answer/"
    client.post("/lab/chapters/01-one-jump/what-is-left/solution/")
    answer = client.post(where, {"steps": json.dumps(["publish.2", bad])})
    assert answer.status_code < 500
    assert not Attempt.objects.exists()


@pytest.mark.parametrize(
    "path", ["/join/%00/", "/lab/models/%00/", "/lab/why/%00/", "/lab/chapters/%00/", "/changes/new/proof/%00/"]
)
def test_a_path_with_nul_is_refused(client: Client, path: str) -> None:
    assert client.get(path).status_code in (400, 404)


def test_a_form_or_a_query_with_nul_is_refused(client: Client) -> None:
    assert client.get("/lab/stage/", {"setup": "\0"}).status_code == 400
    assert client.post("/lab/explorer/", {"kind": "\0"}).status_code == 400
    assert client.post("/lab/chapters/01-one-jump/what-is-left/answer/", {"choice": "\0"}).status_code == 400
