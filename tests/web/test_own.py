"""The page "with your own tables": from a text to its plan, to a question, to the answer in the text's own names."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from django.http import HttpResponse
from django.test import Client

from catalog.models import Descriptor, Table
from changes import services as changes
from changes.models import Change
from lab import tasks
from lab.models import Question
from lab.sessions.replay import show
from lab.sessions.session import decode
from tests.web.test_hostile_pages import CHARS

ClientOf = Callable[[str], Client]
PAGE, ASK = "/lab/own/", "/lab/own/ask/"
TEXT = "CREATE TABLE pets (id bigint PRIMARY KEY, kind text);\nCREATE INDEX pets_by_kind ON pets (kind);"


@pytest.fixture(autouse=True)
def unsent(monkeypatch: pytest.MonkeyPatch) -> None:
    """Questions wait until a test answers them."""
    monkeypatch.setattr("lab.services._send", lambda: None)


def words_of(answer: HttpResponse) -> str:
    """The answer's text as it reads."""
    text = re.sub(r"<[^>]+>", " ", answer.content.decode())
    for mark, sign in (("&#x27;", "'"), ("&quot;", '"'), ("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&")):
        text = text.replace(mark, sign)
    return re.sub(r"\s+", " ", text)


def asked(client: Client, *left_out: str, **sent: str) -> HttpResponse:
    return client.post(ASK, {"statement": TEXT, "case": "0", "leave_out": left_out} | sent)  # type: ignore[return-value]


def test_a_text_of_ones_own_from_plan_to_stage(db: None) -> None:
    visitor = Client()
    page = words_of(visitor.post(PAGE, {"statement": TEXT}))
    assert "Leave something out of index pets_by_kind" in page
    assert "pets_by_kind is delete-only" in page
    waiting = asked(visitor, "state-2")
    assert waiting.status_code == 302
    assert "Waiting for the explorer 0 questions before yours" in words_of(visitor.get(waiting["Location"]))
    tasks.answer_next_question()
    done = visitor.get(waiting["Location"])
    assert "n1 inserts row 1, kind = 'x'. For it pets_by_kind is" in words_of(done)
    assert "It breaks, in 4 steps" in words_of(done)
    assert "C5 (v2): pets_by_kind has an entry for row 1 with a value that the row no longer has" in words_of(done)
    [link] = re.findall(r'href="(/lab/stage/\?s=[^"]+)"', done.content.decode())
    opened = decode(parse_qs(urlsplit(link).query)["s"][0])
    assert opened.at == len(opened.session.steps)
    assert show(opened.session).cluster.versions[0].table == "pets"
    stage = visitor.get(link).content.decode()
    assert "pets_by_kind" in stage
    assert "by_a" not in stage.partition("stage-answer")[2].partition('"session"')[0]
    assert not Table.objects.filter(name="pets").exists()
    assert not Descriptor.objects.filter(table__name="pets").exists()
    assert not Change.objects.exists()


def test_an_answer_comes_in_place_and_is_nobody_elses(client_of: ClientOf) -> None:
    lea = client_of("lea")
    card = lea.post(ASK, {"statement": TEXT, "case": "0", "leave_out": ["skipped"]}, headers={"HX-Request": "true"})
    assert 'hx-trigger="every 400ms"' in card.content.decode()
    assert 'aria-live="off"' in card.content.decode()  # it is replaced each time; only the last one is read out
    assert "<html" not in card.content.decode()
    tasks.answer_next_question()
    [made] = Question.objects.all()
    found = lea.get(f"/lab/own/answers/{made.pk}/", headers={"HX-Request": "true"})
    assert "SELECT id FROM pets WHERE kind = 'x'" in words_of(found)
    assert "hx-trigger" not in found.content.decode()
    assert "aria-live" not in found.content.decode()
    assert client_of("sam").get(f"/lab/own/answers/{made.pk}/").status_code == 404


def test_what_is_known_is_answered_at_once_under_any_names(client_of: ClientOf) -> None:
    asked(client_of("lea"), "skipped")
    tasks.answer_next_question()
    other = "CREATE TABLE toys (n int PRIMARY KEY, size int); CREATE INDEX i ON toys (size)"
    answer = client_of("sam").post(ASK, {"statement": other, "case": "0", "leave_out": ["skipped"]}, follow=True)
    assert "SELECT n FROM toys WHERE size = 10" in words_of(answer)  # type: ignore[arg-type]


def test_nothing_left_out_is_proved(client_of: ClientOf) -> None:
    lea = client_of("lea")
    where = asked(lea)["Location"]
    tasks.answer_next_question()
    assert "No query and no write is harmed" in words_of(lea.get(where))


def test_until_it_is_done_only_the_question_is_looked_at(client_of: ClientOf, monkeypatch: pytest.MonkeyPatch) -> None:
    lea = client_of("lea")
    where = asked(lea, "state-2")["Location"]

    def never(*_: object) -> None:
        raise AssertionError("nothing of this is shown yet")

    monkeypatch.setattr("lab.pages.own.model_of", never)
    assert "Waiting for the explorer" in words_of(lea.get(where))


def test_a_refusal_in_place_is_no_page(client_of: ClientOf) -> None:
    lea = client_of("lea")
    for sent, status, words in (
        ({"statement": "CREATE TABLE"}, 422, "syntax error"),
        ({"leave_out": "gravity"}, 404, "gravity"),
    ):
        form = {"statement": TEXT, "case": "0"} | sent
        answer = lea.post(ASK, form, headers={"HX-Request": "true"})
        assert (answer.status_code, words in words_of(answer)) == (status, True)
        assert "This cannot be done" in words_of(answer)
        assert "<html" not in answer.content.decode()


@pytest.mark.parametrize("left_out", [(), ("state-2",)], ids=["proved", "violated"])
def test_a_proof_in_chinese_has_its_bounds_and_reasons_in_chinese(
    client_of: ClientOf, left_out: tuple[str, ...]
) -> None:
    lea = client_of("lea")
    lea.cookies["django_language"] = "zh-hans"
    where = asked(lea, *left_out)["Location"]
    tasks.answer_next_question()
    card = words_of(lea.get(where, headers={"HX-Request": "true"}))
    assert not re.search(r"\b(nodes|transactions|rows|has an entry)\b", card), card


def test_why_there_is_no_answer_is_said_in_chinese(client_of: ClientOf) -> None:
    lea = client_of("lea")
    lea.cookies["django_language"] = "zh-hans"
    where = asked(lea, "state-2")["Location"]
    why = ["it gave up after {n} s", {"n": 60}]
    Question.objects.update(answer={"verdict": "unknown", "why": why, "steps": [], "states": 5})
    assert "gave up" not in words_of(lea.get(where))


def test_the_answer_in_chinese(client_of: ClientOf) -> None:
    lea = client_of("lea")
    lea.cookies["django_language"] = "zh-hans"
    where = asked(lea, "state-2")["Location"]
    tasks.answer_next_question()
    page = words_of(lea.get(where))
    assert "会被破坏，共 4 步" in page
    assert "pets_by_kind" in page


def test_single_tables_of_the_cluster_are_picked_and_the_names_of_the_others_are_free(
    client_of: ClientOf, flights: Table
) -> None:
    lea = client_of("lea")
    statement = "CREATE TABLE flights (id bigint PRIMARY KEY); ALTER TABLE flights ADD COLUMN note text"
    beside_all = lea.post(PAGE, {"statement": statement, "tables": "cluster"})
    assert (beside_all.status_code, "already" in beside_all.content.decode()) == (422, True)
    picked = lea.post(PAGE, {"statement": statement, "table": "nothing"})
    assert picked.status_code == 200
    assert '<input type="hidden" name="table" value="nothing">' in picked.content.decode()
    one = lea.post(PAGE, {"statement": "ALTER TABLE flights ADD COLUMN note text", "table": "flights"})
    assert (one.status_code, 'value="flights" checked' in one.content.decode()) == (200, True)
    assert Client().post(PAGE, {"statement": "DROP TABLE flights", "table": "flights"}).status_code == 422


def test_the_cluster_s_tables_for_those_who_have_signed_in(client_of: ClientOf, flights: Table) -> None:
    statement = {"statement": "ALTER TABLE flights ADD COLUMN note text", "tables": "cluster"}
    assert "column note" in words_of(client_of("lea").post(PAGE, statement))
    refused = Client().post(PAGE, statement)
    assert (refused.status_code, 'relation "flights" does not exist' in words_of(refused)) == (422, True)
    assert "Beside the tables of this cluster" not in Client().get(PAGE).content.decode()


def test_a_change_brings_its_own_plan(client_of: ClientOf, flights: Table) -> None:
    change = changes.submit("ALTER TABLE flights ADD COLUMN note text UNIQUE", who="sam")
    lea = client_of("lea")
    page = lea.get(f"{PAGE}?change={change.pk}")
    assert "the plan of change" in words_of(page)
    assert "unique index flights_note_key" in words_of(page)
    where = asked(lea, "state-2", change=str(change.pk))["Location"]
    tasks.answer_next_question()
    assert "flights_note_key" in words_of(lea.get(where))
    assert Client().get(f"{PAGE}?change={change.pk}").status_code == 404
    assert lea.get(f"{PAGE}?change=999999").status_code == 404


def test_doors_bring_the_statement(client_of: ClientOf, flights: Table) -> None:
    sam = client_of("sam")
    statement = "ALTER TABLE flights ADD COLUMN note text DEFAULT 'a & b'"
    plan = sam.post("/changes/new/plan/", {"statement": statement}).content.decode()
    [door] = re.findall(r'href="(/lab/own/[^"]*)"', plan)
    assert "column note" in words_of(sam.get(door.replace("&amp;", "&")))
    long = f"ALTER TABLE flights ADD COLUMN note text DEFAULT '{'x' * 2000}'"
    assert 'href="/lab/own/"' in sam.post("/changes/new/plan/", {"statement": long}).content.decode()
    change = changes.submit(statement, who="sam")
    assert f"/lab/own/?change={change.pk}" in sam.get(f"/changes/{change.pk}/").content.decode()
    assert "/lab/own/" in Client().get("/lab/").content.decode()


def test_one_of_several_statements_is_looked_at(client_of: ClientOf) -> None:
    lea = client_of("lea")
    assert "Leave something out of table pets" in words_of(lea.post(PAGE, {"statement": TEXT, "at": "1"}))
    assert "Leave something out of index pets_by_kind" in words_of(lea.post(PAGE, {"statement": TEXT, "at": "7"}))


@pytest.mark.parametrize(
    ("sent", "words"),
    [
        pytest.param(
            {"statement": f"{TEXT}\nCREATE INDEX ON pets (age)"}, "line 3, column 23", id="a mistake and its place"
        ),
        pytest.param({"statement": "CREATE"}, "syntax error", id="no statement"),
        pytest.param({"statement": "SELECT 1"}, "does not change a schema", id="no DDL"),
        pytest.param({"statement": "x" * 20_001}, "the limit is 20000", id="too long"),
        pytest.param(
            {"statement": "CREATE TABLE a\x00b (id int PRIMARY KEY)"}, "This cannot be done", id="a zero byte"
        ),
    ],
)
def test_a_mistake_is_said_and_shown(client_of: ClientOf, sent: dict[str, str], words: str) -> None:
    answer = client_of("lea").post(PAGE, sent)
    assert answer.status_code == 422
    assert words in words_of(answer)
    assert asked(client_of("lea"), **sent).status_code == 422


def test_what_has_no_model_says_so_and_what_has(client_of: ClientOf) -> None:
    page = words_of(client_of("lea").post(PAGE, {"statement": f"{TEXT} ALTER TABLE pets RENAME kind TO sort"}))
    assert "This has no model names and defaults move no pair" in page
    assert "CREATE and DROP TABLE" in page


@pytest.mark.parametrize(
    "sent",
    [{"case": "9"}, {"case": "x"}, {"leave_out": "gravity"}, {"statement": ""}],
    ids=lambda sent: next(iter(sent)),
)
def test_what_a_page_never_sends_is_not_found(client_of: ClientOf, sent: dict[str, str]) -> None:
    expected = 302 if sent == {"case": "x"} else 404
    assert client_of("lea").post(ASK, {"statement": TEXT, "case": "0"} | sent).status_code == expected


def test_a_name_is_text_wherever_it_stands(db: None) -> None:
    odd = '"<script>alert(1)</script>"'
    text = f'CREATE TABLE {odd} (id int PRIMARY KEY, "{{x}}" int); CREATE INDEX ON {odd} ("{{x}}")'
    visitor = Client()
    where = visitor.post(ASK, {"statement": text, "case": "0", "leave_out": "state-2"})["Location"]
    tasks.answer_next_question()
    page = visitor.get(where)
    assert "<script>alert" not in page.content.decode()
    assert '"{x}" = 10' in words_of(page)
    [link] = re.findall(r'href="(/lab/stage/\?s=[^"]+)"', page.content.decode())
    assert "<script>alert" not in visitor.get(link).content.decode()
    picture = visitor.get(link.replace("/lab/stage/", "/lab/stage/export.svg"))
    assert picture.status_code == 200
    assert b"<script>" not in picture.content


@pytest.mark.parametrize(
    "clause",
    [
        pytest.param("CHECK (" + " OR ".join(f"id = {n}" for n in range(300)) + ")", id="many alternatives"),
        pytest.param("CHECK (dest LIKE '" + "%_" * 100 + "x')", id="a pattern of wildcards"),
        pytest.param("CHECK (repeat(dest, 1000000000) <> '')", id="a text of a gigabyte"),
        pytest.param("CHECK (" + "NOT " * (CHARS // 4) + "true)", id="a word on a word"),
    ],
)
def test_a_hostile_text_is_answered(db: None, clause: str) -> None:
    text = f"CREATE TABLE odd (id int PRIMARY KEY, dest text); ALTER TABLE odd ADD CONSTRAINT c {clause}"
    assert Client().post(PAGE, {"statement": text}).status_code in (200, 422)


def test_a_link_brings_a_text_of_bounded_length(db: None) -> None:
    assert "index pets_by_kind" in words_of(Client().get(f"{PAGE}?{urlencode({'statement': TEXT})}"))
    long = Client().get(f"{PAGE}?{urlencode({'statement': 'x' * 2001})}")
    assert (long.status_code, "the limit is 2000" in words_of(long)) == (200, True)


def used_up(client: Client, **extra: str) -> HttpResponse:
    """The answer once this visitor's planning time is used."""
    for _ in range(200):
        answer = client.post(PAGE, {"statement": EXPENSIVE}, **extra)
        if answer.status_code == 429:
            return answer  # type: ignore[return-value]
        assert answer.status_code in (200, 422)
    raise AssertionError("a visitor may plan for ever")


EXPENSIVE = "CREATE TABLE wide (id bigint PRIMARY KEY, " + ", ".join(f"c{n} int" for n in range(900)) + ")"


def test_a_visitor_may_not_plan_all_day(client_of: ClientOf, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lab.own.allowance.PLANNING_S_MAX", 0.5)
    monkeypatch.setattr("lab.own.allowance.SHARE", 0.01)
    refused = used_up(Client())
    assert 0 < int(refused["Retry-After"]) < 600
    assert f"Try again in {refused['Retry-After']} s." in words_of(refused)
    assert "c899" in words_of(refused)  # what was written is still there
    assert Client().get(PAGE).status_code == 200
    lea = client_of("lea")
    for other, address in ((lea, "127.0.0.1"), (Client(), "10.0.0.9")):
        assert other.post(PAGE, {"statement": TEXT}, REMOTE_ADDR=address).status_code == 200
    again = Client()
    again.cookies["sessionid"] = "made-up"
    assert again.post(PAGE, {"statement": TEXT}).status_code == 429
    part = asked(again, "skipped")
    assert (part.status_code, Question.objects.count()) == (429, 0)


def test_a_refusal_for_htmx_is_the_note_alone(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lab.own.allowance.PLANNING_S_MAX", 0.2)
    monkeypatch.setattr("lab.own.allowance.SHARE", 0.01)
    visitor = Client()
    used_up(visitor)
    card = visitor.post(ASK, {"statement": TEXT, "case": "0"}, headers={"HX-Request": "true"})
    assert card.status_code == 429
    assert "<html" not in card.content.decode()
    assert "Your statements have used the planning time" in words_of(card)  # type: ignore[arg-type]


def test_a_plan_is_a_ladder_in_the_planners_order(client_of: ClientOf) -> None:
    text = "CREATE TABLE flights (flight bigint PRIMARY KEY, dest text); CREATE INDEX by_dest ON flights (dest);"
    page = client_of("lea").get(PAGE, {"statement": text}).content.decode()
    found = re.search(r'<script id="ladder-case-0" type="application/json">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    ladder = json.loads(found[1])
    assert (ladder["ground"]["value"], ladder["order"]) == ("absent", ["delete-only", "write-only", "fill", "public"])
    assert "by_dest" in ladder["names"]


def test_an_order_is_run_in_the_names_of_the_schema(client_of: ClientOf) -> None:
    names = json.dumps({"words": {"t": "flights", "a": "dest", "by_a": "by_dest"}, "values": ["'ORD'", "'LHR'"]})
    asked = {"element": "index", "ground": "absent", "tiles": ["write-only", "fill", "public"], "predicted": "none"}
    lea = client_of("lea")
    found = lea.post("/lab/ladder/", asked | {"names": names}, content_type="application/json").json()
    if found["state"] != "done":
        tasks.answer_next_question()
        found = lea.get(f"/lab/ladder/{found['id']}/", {"predicted": "none", "names": names}).json()
    told = " ".join(frame["sentence"] for frame in found["played"]["frames"])
    assert "It does not know by_dest" in told
    assert "dest = 'ORD'" in told
    assert "by_a" not in told
    refused = lea.post("/lab/ladder/", asked | {"names": "["}, content_type="application/json")
    assert refused.status_code == 400


@pytest.mark.parametrize(
    ("language", "why", "computed"),
    [
        pytest.param("en", "cannot be explored: PostgreSQL alone computes it", "The lab computes comparisons", id="en"),
        pytest.param("zh-hans", "无法探索：只有 PostgreSQL 能计算它", "实验室能计算比较", id="zh"),
    ],
)
def test_an_expression_that_postgresql_alone_computes_is_not_explored_and_the_page_says_why(
    client_of: ClientOf, language: str, why: str, computed: str
) -> None:
    text = "CREATE TABLE pets (id bigint PRIMARY KEY, kind text);\nCREATE INDEX cats ON pets (id) WHERE kind ~ '^cat';"
    answer = client_of("lea").post(PAGE, {"statement": text}, headers={"accept-language": language})
    assert answer.status_code == 422
    words = words_of(answer)
    assert f"kind ~ '^cat' {why}" in words
    assert computed in words
