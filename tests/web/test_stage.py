"""The lab's stage as a browser asks for it: what is shown, links, and what is refused in which words."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.http import HttpResponse
from django.test import Client
from django.utils.translation import override

from lab.models import Question
from lab.pages.gallery import FAMOUS, cards
from lab.pages.words import say, stage_words
from lab.sessions.replay import new_session, show
from lab.sessions.session import Session, decode, encode
from lab.sessions.setups import SETUPS
from lab.sessions.shown import Text
from lab.tasks import answer_next_question

ClientOf = Callable[[str], Client]
STAGE_PAGE = "/lab/stage/"
INSERT = ["n2.begin", "n2.read.1", "n2.write.insert.1.1", "n2.commit"]
DELETE = ["n1.begin", "n1.read.1", "n1.write.delete.1.0", "n1.commit"]
BEGINS = ["publish.2", "n2.acquire"]
ORPHAN = {"setup": "one-jump", "parameters": {}, "left_out": [], "steps": [*BEGINS, *INSERT, *DELETE]}


def post(client: Client, body: object, where: str = STAGE_PAGE) -> HttpResponse:
    text = body if isinstance(body, str) else json.dumps(body)
    return client.post(where, text, content_type="application/json")  # type: ignore[return-value]


def shown(client: Client, **asked: Any) -> dict[str, Any]:
    answer = post(client, {"session": ORPHAN, **asked})
    assert answer.status_code == 200
    return json.loads(answer.content)


def in_page(page: str, name: str) -> Any:
    found = re.search(rf'<script id="{name}" type="application/json">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    return json.loads(found[1])


def test_the_orphan_is_damage_under_the_new_version_and_danger_under_the_old(client_of: ClientOf) -> None:
    found = shown(client_of("lea"))["shown"]
    assert [(one["clause"], one["version"], one["severity"]) for one in found["verdicts"]] == [
        ("C3", 1, "danger"),
        ("C5", 2, "damage"),
    ]
    [entry] = [pair for pair in found["cluster"]["pairs"] if pair["sort"] == "entry"]
    assert (entry["row"], entry["dangles"], entry["unseen_by"]) == ("1", True, [1])


def test_a_statement_is_one_line_and_single_steps_are_a_switch(client_of: ClientOf) -> None:
    lea = client_of("lea")
    whole = shown(lea)["shown"]
    assert [line["until"] for line in whole["trace"]] == [1, 2, 6, 10]
    assert {len(row["cells"]) for row in whole["strip"]} == {5}
    single = shown(lea, single_steps=True)["shown"]
    assert [line["until"] for line in single["trace"]] == list(range(1, 11))
    middle = shown(lea, at=4)["shown"]
    assert [line["until"] for line in middle["trace"]] == [1, 2, 3, 4, 5, 6, 10]


def test_going_back_keeps_the_future(client_of: ClientOf) -> None:
    found = shown(client_of("lea"), at=6)
    assert found["shown"]["at"] == 6
    assert len(found["shown"]["trace"]) == 4
    assert decode(found["link"]).at == 6


def test_a_link_opens_what_it_was_made_of(client_of: ClientOf) -> None:
    lea = client_of("lea")
    link = shown(lea)["link"]
    page = lea.get(f"{STAGE_PAGE}?s={link}").content.decode()
    answer = in_page(page, "stage-answer")
    assert answer["session"] == ORPHAN
    assert answer["shown"]["trace"][-1]["severity"] == "damage"
    assert answer["notice"] == ""
    in_words = page.partition("<script id")[0]  # for those without JavaScript
    assert "n1 deletes row 1. It does not know by_a, so the entry stays." in in_words


def test_a_step_that_is_not_possible_ends_the_session_and_says_why(client_of: ClientOf) -> None:
    session = ORPHAN | {"steps": [*BEGINS, *DELETE]}
    found = json.loads(post(client_of("lea"), {"session": session}).content)["shown"]
    assert found["refused"]["step"] == "n1.write.delete.1.0"
    assert found["refused"]["why"]
    assert len(found["trace"]) == found["refused"]["at"]


@pytest.mark.parametrize(
    ("session", "in_words"),
    [
        ({"setup": "one-jump", "steps": [*BEGINS, *DELETE]}, "n1：删除第 1 行"),
        ({"setup": "one-jump", "steps": ["publish.3"]}, "publish.3"),
        ({"setup": "one-jump", "steps": ["n1.commit"]}, "n1：提交"),
        ({"setup": "frozen-node", "steps": ["n1: freeze", "n1: late commit", "n1: commit"]}, "n1：提交"),
        ({"setup": "handbooks", "steps": ["ann.looks"]}, "Ann：看手册"),
    ],
    ids=["model", "no step of the model", "a step elsewhere", "world", "handbooks"],
)
def test_a_refused_step_is_named_in_the_readers_language(
    client_of: ClientOf, session: dict[str, Any], in_words: str
) -> None:
    """Not by the line of a script, which is the step's name; what is no step of the set-up stands for itself."""
    sent = json.dumps({"session": {"parameters": {}, "left_out": [], **session}})
    headers = {"Accept-Language": "zh-hans"}
    answer = client_of("lea").post(STAGE_PAGE, sent, content_type="application/json", headers=headers)
    assert answer.json()["shown"]["refused"]["label"] == in_words


@pytest.mark.parametrize(
    ("setup", "parameters", "english", "chinese"),
    [
        ("one-jump", {}, "One jump", "一步到位"),
        ("variant", {"name": "index-in-one-step"}, "Index: absent → public", "索引：不存在 → 公开"),
        (
            "variant",
            {"name": "fill-skipped"},
            "Index: absent → delete-only → write-only → public, left out: skipped",
            "索引：不存在 → 仅删除 → 仅写入 → 公开，未使用规则：skipped",
        ),
    ],
)
def test_a_session_is_called_by_what_it_is(
    client_of: ClientOf, setup: str, parameters: dict[str, Any], english: str, chinese: str
) -> None:
    sent = json.dumps({"session": {"setup": setup, "parameters": parameters, "left_out": [], "steps": []}})
    for language, title in (("en", english), ("zh-hans", chinese)):
        headers = {"Accept-Language": language}
        answer = client_of("lea").post(STAGE_PAGE, sent, content_type="application/json", headers=headers).json()
        assert answer["title"] == title
        assert bool(answer["details"]) is (setup == "variant")


def test_a_link_of_other_rules_says_so(client_of: ClientOf, monkeypatch: pytest.MonkeyPatch) -> None:
    link = encode(new_session("one-jump"), 2)
    monkeypatch.setattr("lab.sessions.session.rules", lambda: "others")
    answer = in_page(client_of("lea").get(f"{STAGE_PAGE}?s={link}").content.decode(), "stage-answer")
    assert "made with other rules" in answer["notice"]


@pytest.mark.parametrize(
    ("where", "status", "says"),
    [
        pytest.param("?setup=fill", 200, "", id="a set-up by its name"),
        pytest.param("?s=nonsense", 400, "This link cannot be opened", id="no link"),
        pytest.param(f"?s={'A' * 9000}", 400, "This link cannot be opened", id="a link that is too long"),
        pytest.param("?setup=nothing", 400, "there is no set-up nothing", id="an unknown set-up"),
        pytest.param("?present=1", 200, "", id="presenter mode"),
    ],
)
def test_the_page_opens_whatever_the_link_says(client_of: ClientOf, where: str, status: int, says: str) -> None:
    answer = client_of("lea").get(STAGE_PAGE + where)
    assert answer.status_code == status
    page = answer.content.decode()
    assert says in in_page(page, "stage-answer")["notice"]
    assert ("data-present" in page) is ("present" in where)


@pytest.mark.parametrize(
    ("body", "says"),
    [
        pytest.param("", "no JSON", id="nothing"),
        pytest.param("[" * 60_000, "no JSON", id="brackets in brackets"),
        pytest.param("[" * 800 + "]" * 800, "request is missing", id="fewer brackets, which are read"),
        pytest.param("x" * 70_000, "longer than 65536 bytes", id="too long"),
        pytest.param("7", "request is missing", id="a number"),
        pytest.param({}, "session is missing", id="no session"),
        pytest.param({"session": ORPHAN | {"setup": "no"}}, "there is no set-up no", id="an unknown set-up"),
        pytest.param({"session": ORPHAN | {"setup": 7}}, "setup is missing", id="a set-up that is no name"),
        pytest.param({"session": ORPHAN | {"steps": "n1"}}, "steps is missing", id="steps that are no list"),
        pytest.param({"session": ORPHAN | {"steps": ["n1.expire"] * 201}}, "at most 200 steps", id="too many steps"),
        pytest.param({"session": ORPHAN | {"steps": ["x" * 300]}}, "at most 200 characters", id="a long step"),
        pytest.param({"session": ORPHAN | {"left_out": ["L99"]}}, "cannot leave out L99", id="an unknown rule"),
        pytest.param({"session": ORPHAN | {"parameters": {"b": 1}}}, "has no parameter b", id="an unknown parameter"),
        pytest.param({"session": ORPHAN | {"parameters": {"rows": None}}}, "rows is missing", id="a parameter of null"),
        pytest.param({"session": ORPHAN | {"parameters": {"rows": [[1]]}}}, "rows", id="a list in a list"),
        pytest.param({"session": ORPHAN, "at": 11}, "at is a number from 0 to 10", id="beyond the end"),
        pytest.param({"session": ORPHAN, "at": True}, "at is a number", id="a position that is none"),
        pytest.param({"session": ORPHAN, "single_steps": "yes"}, "single_steps is missing", id="a grain that is none"),
        pytest.param({"session": ORPHAN, "seed": -1}, "seed is a number from 0", id="a seed that is none"),
    ],
)
def test_a_mistake_is_named(client_of: ClientOf, body: object, says: str) -> None:
    lea = client_of("lea")
    for where in (STAGE_PAGE, f"{STAGE_PAGE}random/"):
        answer = post(lea, body, where)
        assert answer.status_code == 400
        assert says in json.loads(answer.content)["error"]


def test_a_run_takes_the_same_steps_for_the_same_seed(client_of: ClientOf) -> None:
    lea = client_of("lea")

    def run(seed: int) -> list[str]:
        session, taken = ORPHAN | {"steps": BEGINS}, []
        for _ in range(5):
            found = json.loads(post(lea, {"session": session, "seed": seed}, f"{STAGE_PAGE}random/").content)
            session = found["session"]
            taken.append(found["took"])
        return taken

    first = run(1)
    assert all(first)
    assert run(1) == first
    assert any(run(seed) != first for seed in range(2, 6))


def test_texts_are_in_the_readers_language(client_of: ClientOf) -> None:
    lea = client_of("lea")
    page = lea.get("/lab/", headers={"Accept-Language": "zh-hans"}).content.decode()
    assert "孤儿条目" in page
    words = in_page(lea.get(STAGE_PAGE, headers={"Accept-Language": "zh-hans"}).content.decode(), "stage-words")
    assert words["damage"] == "损害"


def test_a_text_within_a_text_is_said_too() -> None:
    assert say(Text("{a} and {b}", {"a": Text("row {n}", {"n": 1}), "b": 2})) == "row 1 and 2"
    assert say(Text("")) == ""


SAID = re.compile(r"""(?:\bsay\(|words=)["`]([^"`$]+)["`]""")


def test_the_page_has_words_for_all_that_its_scripts_say() -> None:
    folder = Path(__file__).parents[2] / "static" / "lab"
    sources = "".join(path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.js")))
    said = set(SAID.findall(sources))
    assert said <= set(stage_words())
    unsaid = {key for key in stage_words() if f'"{key.removesuffix(" (one)")}"' not in sources}
    composed = (
        "actor ",
        "export ",
        "state ",
        "clause ",
        "condition ",
        "difference ",
        "plan ",
        "name ",
        "rule ",
        "holds",
        "danger",
        "damage",
    )
    assert {key for key in unsaid if not key.startswith(composed)} == set()


def test_every_rule_that_forbids_a_step_has_a_name() -> None:
    lab = Path(__file__).parents[2] / "lab"
    sources = [lab / "explorer" / "spaces" / "reasons.py", lab / "sessions" / "handbooks.py"]
    rules = set(re.findall(r'"([LRTX]\d+)"\)', "".join(path.read_text(encoding="utf-8") for path in sources)))
    assert {"L2", "L7", "X6"} <= rules
    assert {f"rule {rule}" for rule in rules} <= set(stage_words())


def test_every_famous_anomaly_opens_in_damage(client_of: ClientOf) -> None:
    assert len(cards()) == len(FAMOUS)
    for card in cards():
        linked = decode(card.link)
        at_the_end = show(linked.session)
        assert at_the_end.refused is None, card.anomaly.title
        assert card.clauses, card.anomaly.title
        before = show(linked.session, linked.at - 1)
        assert not {(one.clause, one.version) for one in at_the_end.verdicts} <= {
            (one.clause, one.version) for one in before.verdicts
        }, f"{card.anomaly.title}: the damage is done by its last step"


@pytest.mark.parametrize("name", sorted(SETUPS))
def test_every_set_up_opens(client_of: ClientOf, name: str) -> None:
    answer = client_of("lea").get(f"{STAGE_PAGE}?setup={name}&present=0")  # alone, one set-up is the first minute
    page = answer.content.decode()
    found = in_page(page, "stage-answer")
    if name == "model":  # it has none of its own
        assert "this is no model" in found["notice"]
        return
    assert answer.status_code == 200
    assert found["session"]["setup"] == name
    assert found["shown"]["offers"]


def test_a_session_without_steps_is_one(client_of: ClientOf) -> None:
    session = Session("full-ladder")
    assert decode(encode(session, 0)).session == session


# --- questions to the explorer

QUESTIONS = "/lab/questions/"


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was sent to the worker, which is not there."""
    messages: list[str] = []
    monkeypatch.setattr("lab.services._send", lambda: messages.append("sent"))
    return messages


@pytest.mark.django_db(transaction=True)
def test_a_question_waits_is_answered_and_its_way_can_be_played(client_of: ClientOf, sent: list[str]) -> None:
    lea = client_of("lea")
    begun = ORPHAN | {"steps": BEGINS}
    asked = json.loads(post(lea, {"session": begun, "at": 2}, QUESTIONS).content)
    assert (asked["state"], asked["before"], asked["why_not_here"]) == ("waiting", 0, "")
    assert sent == ["sent"]
    where = f"{QUESTIONS}{asked['id']}/"
    assert client_of("sam").get(where).status_code == 404
    answer_next_question()
    answer = json.loads(lea.get(where).content)
    assert (answer["state"], answer["verdict"]) == ("done", "violated")
    played = shown(lea, session=begun | {"steps": answer["steps"]})["shown"]
    assert {one["severity"] for one in played["verdicts"]} == {"damage"}
    again = json.loads(post(lea, {"session": begun, "at": 2}, QUESTIONS).content)
    assert again["state"] == "done"


@pytest.mark.django_db(transaction=True)
def test_a_question_is_stopped(client_of: ClientOf, sent: list[str]) -> None:
    lea = client_of("lea")
    asked = json.loads(post(lea, {"session": ORPHAN}, QUESTIONS).content)
    stopped = json.loads(post(lea, {}, f"{QUESTIONS}{asked['id']}/stop/").content)
    assert stopped["state"] == "stopped"


@pytest.mark.django_db(transaction=True)
def test_from_the_middle_of_a_transaction_it_is_asked_from_before(client_of: ClientOf, sent: list[str]) -> None:
    lea = client_of("lea")
    asked = json.loads(post(lea, {"session": ORPHAN, "at": 4, "from_here": True}, QUESTIONS).content)
    assert asked["why_not_here"] == "n2 has an open transaction"
    assert Question.objects.get(pk=asked["id"]).asked["session"]["steps"] == BEGINS
    assert "asked" not in asked  # it is known to who asked, and each look would bring it again


@pytest.mark.parametrize(
    ("body", "says"),
    [
        pytest.param({"session": ORPHAN, "goal": {"clauses": ["C99"]}}, "a goal's clauses are of", id="a clause"),
        pytest.param({"session": ORPHAN, "goal": 7}, "a goal has clauses and versions", id="no goal"),
        pytest.param({"session": ORPHAN, "from_here": 1}, "from_here is missing", id="no yes or no"),
        pytest.param({"session": {"setup": "handbooks"}}, "runs on no explorer's model", id="nothing to explore"),
        pytest.param("[]", "request is missing", id="no request"),
    ],
)
def test_a_mistake_in_a_question_is_named(client_of: ClientOf, body: object, says: str) -> None:
    answer = post(client_of("lea"), body, QUESTIONS)
    assert answer.status_code == 400
    assert says in json.loads(answer.content)["error"]


def test_the_last_choice_would_have_saved_it(client_of: ClientOf) -> None:
    lea = client_of("lea")
    [saving] = json.loads(post(lea, {"session": ORPHAN}, f"{QUESTIONS}saving/").content)["savings"]
    assert (saving["at"], saving["step"], saving["label"]) == (6, "n1.acquire", "n1: lease the newest version")
    saved = shown(lea, session=ORPHAN | {"steps": saving["steps"]})["shown"]
    assert {one["severity"] for one in saved["verdicts"]} <= {"danger"}


def test_values_in_a_chinese_sentence_have_the_spaces_of_print() -> None:
    values = {"element": Text("the new placement"), "what": Text("copy")}
    knows = Text("It does not know {element}, so the {what} stays.", values)
    marked = Text("a tombstone where {pair} might be", {"pair": Text("the entry {value}", {"value": 1})})
    with override("zh-hans"):
        assert "不知道新放置" in say(knows)
        assert "条目 1 可能" in say(marked)
    assert say(knows) == "It does not know the new placement, so the copy stays."
