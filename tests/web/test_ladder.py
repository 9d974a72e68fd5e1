"""An order of tiles by POST: answered from what is kept, else queued; a prediction chooses what is played."""

import json
from typing import Any

import pytest
from django.test import Client

from lab import services, tasks
from lab.exercises.chapter import Design, Outcome
from lab.exercises.shelf import OURS, read_book
from lab.explorer.spaces.search import Budget
from lab.ladders.order import Order
from lab.models import Question

pytestmark = pytest.mark.django_db(transaction=True)
BODY: dict[str, Any] = {"element": "index", "ground": "absent", "tiles": ["public"]}
BUDGET = Budget()


@pytest.fixture(autouse=True)
def sent(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    names: list[str] = []
    monkeypatch.setattr("schemalab.celery.app.send_task", lambda name, **_: names.append(name))
    return names


def post(client: Client, body: object, language: str = "en") -> Any:
    return client.post("/lab/ladder/", body, content_type="application/json", headers={"accept-language": language})


def test_an_order_that_is_not_kept_waits_for_the_worker(client: Client, sent: list[str]) -> None:
    asked = post(client, BODY).json()
    assert (asked["state"], sent) == ("waiting", [services.TASK])
    assert "verdict" not in asked
    tasks.answer_next_question()
    found = client.get(f"/lab/ladder/{asked['id']}/?predicted=orphan").json()
    assert (found["state"], found["kept"], found["verdict"]) == ("done", False, "violated")
    assert found["played"]["anomaly"] == "orphan"
    assert found["others"] == [{"anomaly": "missing", "name": "missing entry"}]
    again = post(client, BODY).json()
    assert (again["state"], again["kept"]) == ("done", True)


def test_what_was_worked_out_before_is_a_look_up(client: Client, sent: list[str]) -> None:
    services.prepare(Order("index", "absent", ("public",)), budget=BUDGET)
    found = post(client, {**BODY, "predicted": "missing"}).json()
    assert (found["kept"], sent) == (True, [])
    assert found["title"] == "Broken at step 3: missing entry"
    assert found["played"]["query"]["by_index"] == []
    assert found["marks"] == [{"at": 0, "pair": ["absent", "public"], "ok": False}]
    assert not Question.objects.exclude(owner=services.PREPARED).exists()


def test_a_fill_that_came_too_early_is_named_as_the_cause(client: Client) -> None:
    """The damage is many steps behind it: the answer names the step of the fill."""
    services.prepare(Order("index", "absent", ("delete-only", "fill", "write-only", "public")), budget=BUDGET)
    tiles = ["delete-only", "fill", "write-only", "public"]
    found = post(client, BODY | {"tiles": tiles, "predicted": "missing"}).json()
    sentences = [frame["sentence"] for frame in found["played"]["frames"]]
    step = next(at for at, one in enumerate(sentences) if one.endswith("so the fill puts nothing."))
    assert step < len(sentences) - 2
    cause = f"The cause is step {step}: the fill ran while by_a is delete-only, so it put nothing."
    assert found["lines"][0].endswith(cause)


def test_the_reader_s_language(client: Client) -> None:
    services.prepare(Order("index", "absent", ("public",)), budget=BUDGET)
    found = post(client, BODY, "zh-hans").json()
    assert found["title"].startswith("在第")
    assert "发布者" in found["played"]["frames"][1]["sentence"]


def test_a_run_opens_on_the_stage(client: Client) -> None:
    services.prepare(Order("index", "absent", ("public",)), budget=BUDGET)
    played = post(client, BODY).json()["played"]
    page = client.get(f"/lab/stage/?s={played['link']}")
    assert page.status_code == 200
    shown = page.context["answer"]
    assert shown["notice"] == ""
    assert [one["clause"] for one in shown["shown"]["verdicts"] if one["severity"] == "damage"] == [played["clause"]]


def test_answers_of_other_rules_are_forgotten_and_only_those_that_lack_are_worked_out() -> None:
    one, other = Order("index", "absent", ("public",)), Order("index", "absent", ("delete-only",))
    services.prepare(one, budget=BUDGET)
    Question.objects.filter(owner=services.PREPARED).update(key="of-older-rules")
    assert services.unprepared([one, other]) == [one, other]
    assert not Question.objects.exists()
    services.prepare(one, budget=BUDGET)
    assert services.unprepared([one, other]) == [other]


def test_the_worker_hands_on_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    orders = (Order("index", "absent", ("public",)), Order("index", "absent", ("delete-only",)))
    handed_on: list[dict[str, Any]] = []
    monkeypatch.setattr("lab.ladders.built_in.ORDERS", orders)
    monkeypatch.setattr(tasks.prepare_orders, "apply_async", lambda **how: handed_on.append(how))
    monkeypatch.setattr(tasks, "ORDERS_S_EACH", 0.0)
    tasks.prepare_orders()
    assert len(handed_on) == 1
    assert Question.objects.count() == 0
    monkeypatch.setattr(tasks, "ORDERS_S_EACH", 60.0)
    tasks.prepare_orders()
    assert len(handed_on) == 1
    assert Question.objects.filter(owner=services.PREPARED).count() == 2


def test_prepared_answers_stay_while_others_go(monkeypatch: pytest.MonkeyPatch) -> None:
    services.prepare(Order("index", "absent", ("public",)), budget=BUDGET)
    monkeypatch.setattr(services, "KEPT_MAX", 1)
    for tiles in (("delete-only",), ("fill",), ("write-only",)):
        services.ask_order("ann", Order("index", "absent", tiles))
    assert services.kept_order(Order("index", "absent", ("public",))) is not None


@pytest.mark.parametrize(
    "body",
    [
        "",
        "[]",
        "{",
        {**BODY, "tiles": []},
        {**BODY, "element": "elephant"},
        {**BODY, "tiles": ["a"] * 13},
        {"tiles": 7},
    ],
    ids=str,
)
def test_what_is_no_order_is_refused_in_words(client: Client, body: object) -> None:
    answer = post(client, body if isinstance(body, str) else json.dumps(body))
    assert answer.status_code == 400
    assert answer.json()["error"]


def test_others_do_not_see_it(client: Client) -> None:
    asked = post(client, BODY).json()
    assert Client().get(f"/lab/ladder/{asked['id']}/").status_code == 404


def test_a_design_that_is_searched_for_says_nothing_before_it_is_stored(client: Client) -> None:
    """The task's own page stores the answer first, and shows it then. In free play the same order is known then."""
    chapter = read_book(OURS / "03-why-write-only").chapter
    assert chapter is not None
    task = next(screen.task for screen in chapter.screens if screen.id == "the-order")
    owner = Question.objects.get(pk=post(client, BODY).json()["id"]).owner
    assert isinstance(task, Design)
    made = services.ask_design(owner, task, task.wrong)
    assert client.get(f"/lab/ladder/{made.pk}/").status_code == 404
    tasks.answer_next_question()
    assert client.get(f"/lab/ladder/{made.pk}/").status_code == 404
    assert set(client.get(f"/lab/questions/{made.pk}/").json()) <= {"id", "state", "states"}
    made.refresh_from_db()
    judgement = services.judgement_of(made, task, task.wrong)
    assert judgement is not None
    assert judgement.verdict is Outcome.WRONG
    assert post(client, {**BODY, "tiles": list(task.wrong)}).json()["kept"] is True


@pytest.mark.parametrize(("language", "title"), [("en", "No verdict: the search failed"), ("zh-hans", "没有结论")])
def test_a_search_that_fails_is_an_answer_like_others(client: Client, language: str, title: str) -> None:
    services.prepare(Order("index", "absent", ("public",)), budget=BUDGET)
    like_others = post(client, BODY).json()
    asked = post(client, {**BODY, "tiles": ["delete-only"]}).json()
    services.finish(Question.objects.get(pk=asked["id"]), tasks.FAILED)
    found = client.get(f"/lab/ladder/{asked['id']}/", headers={"accept-language": language}).json()
    assert found.keys() == like_others.keys()
    assert (found["state"], found["verdict"], found["played"]) == ("done", "unknown", None)
    assert (found["others"], found["happened"], found["tried"]) == ([], [], [])
    assert found["title"].startswith(title)
