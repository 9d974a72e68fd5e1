"""Proofs of plans: asked by name, answered once, kept, and unknown when nobody answers."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client
from django.utils.timezone import now

from changes import proofs, services
from changes.driver import driver
from changes.models import Proof
from lab.explorer.spaces.search import Budget
from lab.tasks import USUAL, prove_plan, prove_usual_plans
from tests.changes.tables import every_plan, people, planned, plans

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.filterwarnings("ignore::celery.exceptions.AlwaysEagerIgnored"),
]
PLANS = plans()
USERS = "CREATE TABLE users (id bigint PRIMARY KEY, age integer)"
JUMP = {"statement": "CREATE INDEX by_age ON users (age)", "steps": ["publish public", "drain"]}
Sent = list[str]


@pytest.fixture(autouse=True)
def has_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """These are no measurements: the machine may be busy."""
    monkeypatch.setattr("lab.tasks.BUDGET", Budget(seconds=60))


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> Sent:
    """Questions wait here for a worker that never comes."""
    waiting: Sent = []
    monkeypatch.setattr(proofs, "_send", waiting.append)
    return waiting


@pytest.fixture
def worker(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that answers at once."""
    monkeypatch.setattr(proofs, "_send", prove_plan)


def made(statement: str) -> None:
    driver.drive(services.submit(statement, who="ann").pk, holder="w")


def run(*words: str) -> tuple[int, str]:
    out = io.StringIO()
    try:
        call_command("plan", *words, stdout=out)
    except SystemExit as end:
        return int(str(end.code)), out.getvalue()
    return 0, out.getvalue()


@pytest.fixture
def file_of(tmp_path: Path) -> Callable[[Any], str]:
    def written(body: Any) -> str:
        file = tmp_path / "plan.json"
        file.write_text(json.dumps(body))
        return str(file)

    return written


# --- asking and answering


def test_a_plan_is_asked_about_once_and_its_answer_is_kept(sent: Sent) -> None:
    plan = PLANS["add an index"]
    first = proofs.ask(plan)
    assert proofs.shown(first)["verdict"] == "proving"
    proofs.ask(plan)
    assert sent == [first.key]
    prove_plan(first.key)
    shown = proofs.shown(proofs.ask(plan))
    assert (shown["verdict"], shown["model"]["nodes"], shown["is_over"]) == ("proved", 3, True)
    assert sent == [first.key]


def test_a_task_that_runs_twice_answers_once(sent: Sent) -> None:
    key = proofs.ask(PLANS["drop an index"]).key
    prove_plan(key)
    at = Proof.objects.get(key=key).answered_at
    prove_plan(key)
    prove_plan("nobody asked this")
    assert Proof.objects.get(key=key).answered_at == at


def test_a_plan_that_ends_its_process_again_and_again_is_unknown_for_good(sent: Sent) -> None:
    plan = PLANS["add an index"]
    key = proofs.ask(plan).key
    for _ in range(proofs.BEGINNINGS_MAX):
        assert proofs.begin(key) is not None
        Proof.objects.update(asked_at=now() - timedelta(seconds=proofs.ASK_AGAIN_S + 1))
        proofs.ask(plan)
    assert proofs.begin(key) is None
    assert proofs.shown(proofs.ask(plan))["why"] == "it gave up after 3 attempts"
    Proof.objects.update(asked_at=now() - timedelta(seconds=proofs.ASK_AGAIN_S + 1))
    before = len(sent)
    assert proofs.shown(proofs.ask(plan))["why"] == "it gave up after 3 attempts"
    assert len(sent) == before


def test_a_search_that_ends_without_a_verdict_is_begun_as_often_as_asked(sent: Sent) -> None:
    key = proofs.ask(PLANS["add an index"]).key
    for _ in range(proofs.BEGINNINGS_MAX + 1):
        assert proofs.begin(key) is not None
        proofs.answer(key, {"verdict": "unknown", "why": "the budget is spent"})
        Proof.objects.update(asked_at=now() - timedelta(seconds=proofs.ASK_AGAIN_S + 1))
        proofs.ask(PLANS["add an index"])


def test_plans_that_differ_in_names_share_an_answer(worker: None, monkeypatch: pytest.MonkeyPatch) -> None:
    made(USERS)
    first = proofs.ask(services.plan_ahead("CREATE INDEX one ON users (age)").plan)
    monkeypatch.setattr("lab.tasks.prove_parts", lambda *_, **__: pytest.fail("it was explored twice"))
    second = proofs.ask(services.plan_ahead("CREATE INDEX other ON users (age DESC)").plan)
    assert first.key != second.key
    second.refresh_from_db()
    assert second.answer["verdict"] == "proved"


def test_a_part_without_a_model_is_named_and_never_taken_for_proved(worker: None) -> None:
    """Not even when the rest was proved before, for another plan."""
    made(USERS)
    known = proofs.ask(services.plan_ahead("ALTER TABLE users ADD boss bigint").plan)
    known.refresh_from_db()
    assert known.answer["verdict"] == "proved"
    both = proofs.ask(services.plan_ahead("ALTER TABLE users ADD boss bigint REFERENCES users").plan)
    both.refresh_from_db()
    assert both.answer["verdict"] == "unknown"
    assert proofs.shown(both)["why"].endswith("while column boss is not public. The rest is proved: column boss")


def test_the_usual_plans_are_proved_before_anybody_asks(worker: None, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("worker@host", "lab@host"):
        prove_usual_plans(type("Worker", (), {"hostname": name}))
        assert Proof.objects.count() == (len(USUAL) if name.startswith("lab") else 0)
    assert {proof.answer["verdict"] for proof in Proof.objects.all()} == {"proved"}
    monkeypatch.setattr("lab.tasks.prove_parts", lambda *_, **__: pytest.fail("it was explored again"))
    made(USERS)
    for statement in ("CREATE TABLE t (a text PRIMARY KEY)", "CREATE INDEX u ON users (age DESC)", "DROP TABLE users"):
        assert run(statement, "--prove")[0] == 0


def test_other_rules_make_it_another_question(sent: Sent, monkeypatch: pytest.MonkeyPatch) -> None:
    before = proofs.key_of(PLANS["add a table"])
    monkeypatch.setattr(proofs, "_rules", [lambda: "rules of another day"])
    assert proofs.key_of(PLANS["add a table"]) != before


def test_a_page_asks_for_the_process_after_a_minute_without_it(sent: Sent) -> None:
    """A worker takes a question up late after a start: until then it is being checked."""
    proof = proofs.ask(PLANS["add a table"])
    proof.asked_at -= timedelta(seconds=59)
    assert (proofs.shown(proof)["verdict"], proofs.shown(proof)["is_over"]) == ("proving", False)
    proof.asked_at -= timedelta(seconds=2)
    shown = proofs.shown(proof)
    assert (shown["verdict"], shown["is_over"]) == ("unknown", True)
    assert shown["why"] == "no worker has taken it up: is the process lab running?"


def test_a_command_waits_for_a_proof_behind_another_for_two_seconds(sent: Sent) -> None:
    proofs.begin(proofs.ask(PLANS["add an index"]).key)
    seen = proofs.wait(PLANS["add a table"])
    assert (seen["verdict"], seen["is_over"]) == ("unknown", False)
    assert seen["why"] == "there is no answer after 2 s; the search goes on for a while"


@pytest.mark.parametrize("answer", [None, {"verdict": "unknown", "why": "gave up"}], ids=["none", "unknown"])
def test_what_stayed_unknown_is_asked_again_later(sent: Sent, answer: Any) -> None:
    key = proofs.ask(PLANS["add a table"]).key
    Proof.objects.filter(key=key).update(answer=answer, asked_at=now() - timedelta(seconds=61))
    assert proofs.shown(proofs.ask(PLANS["add a table"]))["verdict"] == "proving"
    assert sent == [key, key]


def test_old_proofs_make_room(sent: Sent, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proofs, "KEPT_MAX", 2)
    keys = [proofs.ask(plan).key for plan in PLANS.values()]
    assert sorted(Proof.objects.values_list("key", flat=True)) == sorted(keys[-2:])


@pytest.mark.parametrize("name", ["rename a column", "rename a table", "set a default"])
def test_of_names_and_defaults_there_is_nothing_to_prove(sent: Sent, name: str) -> None:
    seen = proofs.shown(proofs.ask(every_plan()[name]))
    assert (seen["verdict"], seen["is_over"]) == ("nothing", True)
    assert proofs.in_words(seen)[0].startswith("nothing to prove: Only names and defaults change.")
    assert sent == []
    assert not Proof.objects.exists()


def test_a_column_that_becomes_wider_is_proved() -> None:
    """No step moves a pair, and yet two versions store and read it in two types."""
    proof = proofs.ask(planned("ALTER TABLE people ALTER age TYPE bigint", people()))
    prove_plan(proof.key)
    proof.refresh_from_db()
    assert proof.answer["verdict"] == "proved"


def test_what_cannot_be_explored_is_unknown_and_says_why(sent: Sent, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proofs, "moves_nothing", lambda _plan: False)
    proof = proofs.ask(every_plan()["rename a column"])
    prove_plan(proof.key)
    proof.refresh_from_db()
    assert proof.answer["verdict"] == "unknown"
    assert (
        proofs.shown(proof)["why"]
        == "it cannot be explored: names and defaults move no pair: there is nothing to explore"
    )


# --- the command


def test_the_plan_of_a_rename_says_that_nothing_is_to_prove() -> None:
    made(USERS)
    code, said = run("ALTER TABLE users RENAME age TO years", "--prove")
    assert (code, "nothing to prove: Only names and defaults change" in said) == (0, True)
    proof = json.loads(run("ALTER TABLE users RENAME age TO years", "--json")[1])["proof"]
    assert (proof["verdict"], proof["is_over"]) == ("nothing", True)


def test_a_plan_says_that_it_is_proved(worker: None) -> None:
    code, said = run(USERS, "--prove")
    assert code == 0
    assert "proved safe for 3 nodes, 2 rows, 2 values, any number of operations" in said


def test_without_a_worker_it_is_unknown_and_only_prove_makes_that_a_code(sent: Sent) -> None:
    code, said = run(USERS)
    assert code == 0
    assert said.splitlines()[-1].startswith("unknown whether it is safe: no worker has taken it up")
    Proof.objects.all().delete()
    assert run(USERS, "--prove")[0] == 3


def test_a_plan_as_json_holds_its_proof(worker: None) -> None:
    shown = json.loads(run(USERS, "--json")[1])
    assert (shown["proof"]["verdict"], shown["faults"]) == ("proved", [])
    assert shown["plan"]["forward"][0]["transitions"][0]["after"] == "delete-only"


def test_a_written_plan_that_is_unsafe_is_refused_with_a_story(worker: None, file_of: Callable[[Any], str]) -> None:
    made(USERS)
    code, said = run("--file", file_of(JUMP))
    assert code == 1
    assert "refused at step 1 (C3 and C4): index by_age: absent and public are not compatible" in said
    assert "not safe, with 3 nodes, 2 rows, 2 values" in said
    assert "  1  " in said.split("so it breaks:")[1]
    assert "by_a " not in said, "the explorer's own name of the index"
    told = json.loads(run("--file", file_of(JUMP), "--json")[1])
    assert told["faults"][0]["step"] == 1
    assert told["proof"]["verdict"] == "violated"


def test_a_counterexample_is_told_in_the_names_of_its_plan(
    worker: None, file_of: Callable[[Any], str], client: Client
) -> None:
    """In the verdict, the steps, on the stage and in its link; another plan of the same model has names of its own."""
    made(USERS)
    made("CREATE TABLE ships (number bigint PRIMARY KEY, flag text)")
    other = {"statement": "CREATE INDEX by_flag ON ships (flag)", "steps": JUMP["steps"]}
    for plan, names in ((JUMP, ("by_age", "age")), (other, ("by_flag", "flag"))):
        proof = json.loads(run("--file", file_of(plan), "--json")[1])["proof"]
        sentences = [step["sentence"] for step in proof["counterexample"]]
        assert any(names[0] in sentence for sentence in sentences)
        assert all(fault["why"].startswith(names[0]) for fault in proof["broken"])
        assert not re.search(r"\bby_a\b", json.dumps([sentences, proof["broken"]]))
        stage = client.get(proof["stage"]).content.decode()
        assert f"{names[0]} is public" in stage
        assert not re.search(r"\bby_a\b", stage.split('id="stage-answer"')[1].split('"parameters"')[0])


def test_a_plan_that_the_stage_cannot_follow_is_told_in_the_words_of_the_model(
    worker: None, file_of: Callable[[Any], str]
) -> None:
    made(USERS)
    unfilled = JUMP | {
        "steps": ["publish delete-only", "drain", "publish write-only", "drain", "publish public", "drain"]
    }
    proof = json.loads(run("--file", file_of(unfilled), "--json")[1])["proof"]
    assert (proof["verdict"], "is_in_its_names" in proof) == ("violated", False)


def test_a_written_plan_that_is_safe_is_proved(worker: None, file_of: Callable[[Any], str]) -> None:
    made(USERS)
    steps = [
        "publish delete-only", "drain", "publish write-only filling", "drain",
        "fill", "verify", "close", "publish public", "drain", "purge",
    ]  # fmt: skip
    code, said = run("--file", file_of(JUMP | {"steps": steps}), "--prove")
    assert (code, "proved safe" in said) == (0, True)
    assert not services.Change.objects.filter(status="queued").exists()
