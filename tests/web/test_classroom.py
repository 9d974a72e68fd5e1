"""A class through its pages: ines and ivo teach, lea has an account, visitors have none."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.http import HttpResponse
from django.test import Client
from django.utils import timezone

from lab.classroom import selectors, services
from lab.exercises.chapter import Chapter, Screen
from lab.exercises.shelf import books
from lab.learning import services as learning
from lab.learning.learner import MEMBER, Learner
from lab.models import Attempt, Course, Membership, Progress, Question
from lab.pages.courses.chapters import chapter_after, teachable
from lab.pages.courses.pacing import address_of
from lab.sessions.session import decode
from tests.web.layout import flat

ClientOf = Callable[[str], Client]
CHAPTER = "01-one-jump"
PREDICT, REACH = "what-is-left", "from-the-start"
RIGHT, WRONG = {"choice": "entry"}, {"choice": "nothing"}
STEPS = ["publish.2", "n2.acquire", "n2.insert.1.1"]


@pytest.fixture
def chapter() -> Chapter:
    found = next(book.chapter for book in books() if book.folder == CHAPTER)
    assert found is not None
    return found


@pytest.fixture
def ines(client_of: ClientOf) -> Client:
    return client_of("ines")


def make(teacher: Client, **other: str) -> Course:
    form = {"name": "Databases, spring", "chapters": [CHAPTER, "00-new-messenger"], "language": "en"}
    answer = teacher.post("/lab/courses/", form | {"members": "named"} | other)
    assert answer.status_code == 302, answer.content.decode()
    return Course.objects.get(pk=answer["Location"].split("/")[-2])


def join(course: Course, name: str = "", client: Client | None = None) -> Client:
    client = client or Client()
    answer = client.post(f"/join/{course.token}/", {"name": name})
    led_to = address_of(Course.objects.get(pk=course.pk)) or "/lab/course/"
    assert (answer.status_code, answer.get("Location")) == (302, led_to), answer.content.decode()
    return client


def member(client: Client) -> Membership:
    return Membership.objects.get(pk=client.session[MEMBER])


def screen(chapter: Chapter, task: str) -> Screen:
    found = chapter.screen(task)
    assert found is not None
    return found


def answer(client: Client, chapter: Chapter, task: str, body: dict[str, Any], *, minutes_ago: float = 0) -> None:
    """An answer from this browser, stored as the chapter's page stores it."""
    learner = Learner(member_id=member(client).pk)
    learning.answer(learner, chapter, screen(chapter, task), body)
    newest = Attempt.objects.order_by("-pk")[:1].values("pk")
    Attempt.objects.filter(pk__in=newest).update(at=timezone.now() - timedelta(minutes=minutes_ago))


def page(client: Client, path: str) -> str:
    answer = client.get(path)
    assert answer.status_code == 200, (path, answer.status_code)
    return flat(answer.content.decode())


def cells(text: str) -> dict[str, list[str]]:
    """The statuses of each learner in a page's grid."""
    rows = re.findall(r'<tr><th scope="row"><a [^>]*>([^<]*)</a></th>(.*?)</tr>', text, re.DOTALL)
    return {name: found for name, row in rows if (found := re.findall(r'data-status="([^"]+)"', row))}


# Making a course


def test_instructors_make_courses(ines: Client) -> None:
    course = make(ines, members="anonymous", language="zh-hans")
    assert (course.is_anonymous, course.language, course.is_open) == (True, "zh-hans", True)
    assert course.chapters == ["00-new-messenger", CHAPTER]  # in the order of the shelf
    assert len(course.token) >= 20


@pytest.mark.parametrize(
    ("field", "value", "says"),
    [
        pytest.param("name", " \u200b ", "has a name", id="no name"),
        pytest.param("name", "x" * 101, "has a name", id="a long name"),
        pytest.param("chapters", [], "Choose the chapters", id="no chapters"),
        pytest.param("chapters", ["../secrets"], "Choose the chapters", id="a chapter that is none"),
        pytest.param("language", "tlh", "Choose the language", id="an unknown language"),
    ],
)
def test_a_course_that_cannot_be_made_is_refused_in_words(ines: Client, field: str, value: Any, says: str) -> None:
    form = {"name": "A", "chapters": [CHAPTER], "language": "en", "members": "named"}
    refused = ines.post("/lab/courses/", form | {field: value})
    assert refused.status_code == 422
    assert says in refused.content.decode()
    assert not Course.objects.exists()


def test_a_teacher_has_a_bounded_number_of_courses(ines: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(services, "COURSES_MAX", 1)
    make(ines)
    form = {"name": "A", "chapters": [CHAPTER], "language": "en"}
    assert "as many courses" in ines.post("/lab/courses/", form).content.decode()


TEACHERS_PAGES = (
    "",
    "grid/",
    "answers.csv",
    "projector/",
    "projector/counts/",
    "learners/1/",
    f"1/{CHAPTER}/{PREDICT}/",
)


@pytest.mark.parametrize("name", ["lea", "sam", "olga", None])
def test_only_instructors_see_a_teachers_pages(ines: Client, client_of: ClientOf, name: str | None) -> None:
    course = make(ines)
    other = Client() if name is None else client_of(name)
    join(course, "Bo", other)
    for where in ("/lab/courses/", *(f"/lab/courses/{course.pk}/{path}" for path in TEACHERS_PAGES)):
        refused = other.get(where)
        assert refused.status_code in (302, 403), where
        assert refused.get("Location", "/sign-in/").startswith("/sign-in/")
    for where in ("change", "delete", "pace"):
        assert other.post(f"/lab/courses/{course.pk}/{where}/", {"do": "close"}).status_code in (302, 403)
    assert Course.objects.get().is_open


def test_another_teachers_course_is_not_there(ines: Client, client_of: ClientOf) -> None:
    course, ivo = make(ines), client_of("ivo")
    join(course, "Bo")
    for path in TEACHERS_PAGES:
        assert ivo.get(f"/lab/courses/{course.pk}/{path}").status_code == 404
    for where in ("change", "delete"):
        assert ivo.post(f"/lab/courses/{course.pk}/{where}/", {"do": "close"}).status_code == 404
    assert course.name not in page(ivo, "/lab/courses/")
    assert course.name in page(ines, "/lab/courses/")


# Joining and leaving


def test_visitors_join_with_a_name_and_see_only_their_own(ines: Client, chapter: Chapter) -> None:
    course = make(ines)
    assert "Your name" in page(Client(), f"/join/{course.token}/")
    bo, cy = join(course, "  Bo\n Li "), join(course, "Cy")
    answer(bo, chapter, REACH, {"steps": STEPS})
    assert (member(bo).name, member(bo).number, member(cy).number) == ("Bo Li", 1, 2)
    seen = page(cy, "/lab/course/")
    assert "You are here as Cy." in seen
    assert "Bo Li" not in seen
    assert "0 of 5 tasks done" in seen


@pytest.mark.parametrize("name", ["", "  ", "\u200b\u202e", "x" * 61])
def test_a_course_with_names_needs_one(ines: Client, name: str) -> None:
    course = make(ines)
    refused = Client().post(f"/join/{course.token}/", {"name": name})
    assert refused.status_code == 422
    assert "Say who you are" in refused.content.decode()
    assert not Membership.objects.exists()


def test_who_has_an_account_joins_with_it_and_comes_back_in_another_browser(
    ines: Client, client_of: ClientOf, people: dict[str, User]
) -> None:
    course = make(ines)
    lea = join(course, client=client_of("lea"))
    assert (member(lea).user, member(lea).name) == (people["lea"], "")
    again = client_of("lea")
    assert again.get(f"/join/{course.token}/")["Location"] == "/lab/course/"
    assert member(again) == member(lea)


def test_an_anonymous_course_stores_no_name_and_no_account(ines: Client, client_of: ClientOf, chapter: Chapter) -> None:
    course = make(ines, members="anonymous")
    lea, visitor = join(course, "lea", client_of("lea")), join(course, "Bo")
    answer(lea, chapter, PREDICT, WRONG)
    assert [(one.user, one.name) for one in Membership.objects.all()] == [(None, ""), (None, "")]
    assert {(row.user, row.visitor) for row in Progress.objects.all()} == {(None, "")}
    seen = page(ines, f"/lab/courses/{course.pk}/?chapter={CHAPTER}")
    assert list(cells(seen)) == ["Learner 1", "Learner 2"]
    csv_text = ines.get(f"/lab/courses/{course.pk}/answers.csv").content.decode()
    for text in (seen, csv_text):
        assert not re.search(r"\blea\b|\bBo\b", text)
    assert "You are here as Learner 2." in page(visitor, "/lab/course/")


def test_a_closed_course_lets_nobody_in_but_its_members(ines: Client) -> None:
    course = make(ines)
    bo = join(course, "Bo")
    ines.post(f"/lab/courses/{course.pk}/change/", {"do": "close"})
    for refused in (Client().get(f"/join/{course.token}/"), Client().post(f"/join/{course.token}/", {"name": "Cy"})):
        assert refused.status_code == 403
        assert "The course is closed to new learners" in refused.content.decode()
    assert join(course, client=bo).session[MEMBER] == member(bo).pk
    ines.post(f"/lab/courses/{course.pk}/change/", {"do": "open"})
    join(course, "Cy")


def test_a_course_has_a_bounded_number_of_members(ines: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(services, "MEMBERS_MAX", 1)
    course = make(ines)
    join(course, "Bo")
    assert Client().post(f"/join/{course.token}/", {"name": "Cy"}).status_code == 403


def test_joining_brings_the_language_of_the_course(ines: Client) -> None:
    course = make(ines, language="zh-hans")
    client = Client()
    assert 'lang="zh-Hans"' in page(client, f"/join/{course.token}/")
    assert 'lang="zh-Hans"' in page(join(course, "Bo", client), "/lab/course/")


def test_a_link_that_is_none_leads_nowhere(db: None) -> None:
    assert Client().get("/join/nonsense/").status_code == 404


def test_who_steps_out_works_for_themselves_and_what_they_did_stays(
    ines: Client, client_of: ClientOf, chapter: Chapter
) -> None:
    course = make(ines)
    lea = join(course, client=client_of("lea"))
    answer(lea, chapter, PREDICT, RIGHT)
    lea.post("/lab/course/step-out/")
    assert MEMBER not in lea.session
    assert lea.get("/lab/course/")["Location"] == "/lab/"
    assert Attempt.objects.count() == 1
    assert "1 of 5 tasks done" in page(join(course, client=lea), "/lab/course/")


def test_who_leaves_takes_their_answers_along_and_their_number_is_not_given_again(
    ines: Client, chapter: Chapter
) -> None:
    course = make(ines)
    join(course, "Bo")
    cy = join(course, "Cy")
    answer(cy, chapter, PREDICT, RIGHT)
    cy.post("/lab/course/leave/")
    assert not Attempt.objects.exists()
    assert member(join(course, "Di")).number == 3


def test_a_learner_can_be_removed(ines: Client, chapter: Chapter) -> None:
    course = make(ines)
    bo, cy = join(course, "Bo"), join(course, "Cy")
    answer(bo, chapter, PREDICT, RIGHT)
    for number in ("1", "99", "x", "²"):
        assert ines.post(f"/lab/courses/{course.pk}/change/", {"do": "remove", "number": number}).status_code == 302
    assert list(Membership.objects.values_list("name", flat=True)) == ["Cy"]
    assert not Attempt.objects.exists()
    assert bo.get("/lab/course/").status_code == 302
    assert page(cy, "/lab/course/")


@pytest.mark.parametrize("how", ["leave", "remove", "delete"])
def test_with_a_member_their_questions_go(ines: Client, monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    monkeypatch.setattr("lab.services._send", lambda: None)
    course = make(ines)
    bo, cy = join(course, "Bo"), join(make(ines), "Cy")
    session = {"setup": "one-jump", "parameters": {}, "left_out": [], "steps": []}
    for client in (bo, cy):
        client.post("/lab/questions/", {"session": session}, content_type="application/json")
    owner = f"member:{member(cy).pk}"
    match how:
        case "leave":
            bo.post("/lab/course/leave/")
        case "remove":
            ines.post(f"/lab/courses/{course.pk}/change/", {"do": "remove", "number": "1"})
        case "delete":
            ines.post(f"/lab/courses/{course.pk}/delete/")
    assert list(Question.objects.values_list("owner", flat=True)) == [owner]


def test_a_deleted_course_leaves_nothing_and_nobody_elses_goes_with_it(
    ines: Client, client_of: ClientOf, chapter: Chapter, people: dict[str, User]
) -> None:
    course, other = make(ines), make(ines)
    lea, bo = join(course, client=client_of("lea")), join(course, "Bo")
    cy = join(other, "Cy")
    for learner in (lea, bo, cy):
        answer(learner, chapter, PREDICT, RIGHT)
    learning.answer(Learner(people["lea"].pk), chapter, screen(chapter, PREDICT), RIGHT)
    ines.post(f"/lab/courses/{course.pk}/delete/")
    assert list(Course.objects.all()) == [other]
    assert {(row.user, row.member) for row in Progress.objects.all()} == {(people["lea"], None), (None, member(cy))}
    assert bo.get("/lab/course/")["Location"] == "/lab/"
    assert selectors.member_of(lea.session) is None


@pytest.mark.parametrize("is_removed", [True, False], ids=["removed", "deleted"])
@pytest.mark.parametrize("at", [PREDICT, REACH])
def test_a_learner_at_work_reads_that_the_course_is_gone(
    ines: Client, chapter: Chapter, is_removed: bool, at: str
) -> None:
    course = make(ines)
    bo = join(course, "Bo")
    answer(bo, chapter, PREDICT, RIGHT)
    if is_removed:
        services.remove_member(course, member(bo).number)
    else:
        services.delete_course(course)
    where = f"/lab/chapters/{CHAPTER}/{at}/"
    assert bo.get("/lab/course/pace/").json() == {"address": "/lab/course/"}
    sent = bo.post(f"{where}answer/", RIGHT, follow=True)
    assert sent.redirect_chain == [("/lab/", 302)]  # type: ignore[attr-defined]
    assert "Your course was deleted, or your teacher removed you" in sent.content.decode()
    assert not Attempt.objects.exists()
    assert "Your course was deleted" not in page(bo, "/lab/")


@pytest.mark.django_db(transaction=True)
def test_a_course_that_is_deleted_amid_an_answer(ines: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    course = make(ines)
    bo, store = join(course, "Bo"), learning.answer

    def answer(*given: Any) -> Any:
        services.delete_course(Course.objects.get(pk=course.pk))
        return store(*given)

    monkeypatch.setattr("lab.learning.services.answer", answer)
    sent = bo.post(f"/lab/chapters/{CHAPTER}/{PREDICT}/answer/", RIGHT, follow=True)
    assert "Your course was deleted, or your teacher removed you" in sent.content.decode()
    assert not Attempt.objects.exists()


def test_work_in_a_course_is_kept_apart_from_ones_own(
    ines: Client, client_of: ClientOf, chapter: Chapter, people: dict[str, User], rf: Any
) -> None:
    course = make(ines)
    lea = join(course, client=client_of("lea"))
    session = lea.session

    def learner() -> Learner:
        request = rf.get("/")
        request.user, request.session = people["lea"], session
        return selectors.learner_of(request)

    assert learner() == Learner(member_id=member(lea).pk)
    services.leave(session)
    assert learner() == Learner(people["lea"].pk)


@pytest.mark.parametrize("who", ["visitor", "user"])
def test_a_row_of_a_member_is_of_nobody_else(ines: Client, people: dict[str, User], who: str) -> None:
    bo = member(join(make(ines), "Bo"))
    other = {"visitor": "x"} if who == "visitor" else {"user": people["lea"]}
    with pytest.raises(IntegrityError), transaction.atomic():
        Progress.objects.create(member=bo, exercise="e", task="t", begun_at=timezone.now(), **other)


# At work


def test_a_visitor_who_has_joined_works_in_chapters_and_on_the_stage(ines: Client, chapter: Chapter) -> None:
    course = make(ines)
    bo = join(course, "Bo")
    done = bo.post(f"/lab/chapters/{CHAPTER}/{PREDICT}/answer/", RIGHT)
    assert done.status_code == 302
    [row] = Progress.objects.all()
    assert (row.member, row.task, row.passed_at is None) == (member(bo), PREDICT, False)
    assert course.name in page(bo, f"/lab/chapters/{CHAPTER}/{PREDICT}/")
    body = {"session": {"setup": "one-jump", "parameters": {}, "left_out": [], "steps": ["publish.2"]}}
    assert bo.post("/lab/stage/", body, content_type="application/json").status_code == 200
    assert course.name in page(bo, "/lab/")
    bo.post("/lab/course/leave/")
    assert course.name not in page(bo, "/lab/")


def test_questions_of_members_are_their_own(ines: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("schemalab.celery.app.send_task", lambda *_, **__: None)
    course = make(ines)
    bo, cy = join(course, "Bo"), join(course, "Cy")
    session = {"setup": "one-jump", "parameters": {}, "left_out": [], "steps": []}
    asked = bo.post("/lab/questions/", {"session": session}, content_type="application/json").json()
    assert Question.objects.get().owner == f"member:{member(bo).pk}"
    assert bo.get(f"/lab/questions/{asked['id']}/").status_code == 200
    assert cy.get(f"/lab/questions/{asked['id']}/").status_code == 404
    theirs = cy.post("/lab/questions/", {"session": session}, content_type="application/json").json()
    assert theirs["before"] == 1


# The grid


def test_the_grid_shows_who_is_where(ines: Client, chapter: Chapter) -> None:
    course = make(ines)
    for name in ("Ann", "Bo", "Cy", "Di", "Eve", "Fay"):
        join(course, name)
    clients = {name: _as(course, name) for name in ("Ann", "Bo", "Cy", "Di", "Eve", "Fay")}
    answer(clients["Ann"], chapter, PREDICT, RIGHT)
    answer(clients["Bo"], chapter, PREDICT, WRONG)
    for given in (WRONG, RIGHT):
        answer(clients["Fay"], chapter, PREDICT, given)
    for minutes in (12, 6):
        answer(clients["Cy"], chapter, REACH, {"steps": STEPS}, minutes_ago=minutes)
    answer(clients["Di"], chapter, REACH, {"steps": STEPS})
    seen = page(ines, f"/lab/courses/{course.pk}/?chapter={CHAPTER}")
    assert {name: statuses[:2] for name, statuses in cells(seen).items()} == {
        "Ann": ["done", "not started"],
        "Bo": ["predicted wrong", "not started"],
        "Cy": ["not started", "stuck"],
        "Di": ["not started", "working"],
        "Eve": ["not started", "not started"],
        "Fay": ["done after a wrong prediction", "not started"],
    }
    assert "6 learners" in seen
    assert re.findall(r"<a id=\"stuck-3-from-the-start\"[^>]*>Cy: ([^<]+)</a>", seen)
    own = {name: page(client, "/lab/course/") for name, client in clients.items()}
    done = {name: int(re.findall(r"(\d) of 5 tasks done", text)[-1]) for name, text in own.items()}
    assert done == {"Ann": 1, "Bo": 0, "Cy": 0, "Di": 0, "Eve": 0, "Fay": 1}
    assert sum(map(int, re.findall(r'<td class="num">(\d)</td>', seen))) == sum(done.values())


def _as(course: Course, name: str) -> Client:
    """A browser in which this member works."""
    client = Client()
    session = client.session
    session[MEMBER] = Membership.objects.get(course=course, name=name).pk
    session.save()
    return client


def test_the_grid_alone_is_what_the_page_asks_for_again(ines: Client, chapter: Chapter) -> None:
    course = make(ines)
    bo = join(course, "Bo")
    text = page(ines, f"/lab/courses/{course.pk}/?chapter={CHAPTER}")
    found = re.search(r'id="grid" class="stack" data-url="([^"]+)"', text)
    assert found is not None
    answer(bo, chapter, PREDICT, RIGHT)
    again = page(ines, found[1].replace("&amp;", "&"))
    assert again.lstrip().startswith('<div id="grid"')
    assert cells(again)["Bo"][0] == "done"


def test_the_grid_takes_few_queries_however_many_learners(
    ines: Client, chapter: Chapter, django_assert_max_num_queries: Any
) -> None:
    course = make(ines)
    for n in range(30):
        answer(join(course, f"Learner {n}"), chapter, PREDICT, WRONG)
    with django_assert_max_num_queries(8):
        page(ines, f"/lab/courses/{course.pk}/grid/?chapter={CHAPTER}")


def test_a_learners_page_takes_few_queries_however_many_chapters(
    ines: Client, chapter: Chapter, django_assert_max_num_queries: Any
) -> None:
    course = make(ines, chapters=[book.folder for book in teachable()])  # type: ignore[arg-type]
    ines.post(f"/lab/courses/{course.pk}/change/", {"do": "share"})
    bo = join(course, "Bo")
    answer(bo, chapter, PREDICT, WRONG)
    with django_assert_max_num_queries(5):
        assert "<progress" in page(bo, "/lab/course/")


def test_the_list_of_courses_takes_few_queries_however_many(ines: Client, django_assert_max_num_queries: Any) -> None:
    for _ in range(5):
        join(make(ines), "Bo")
    with django_assert_max_num_queries(6):
        assert page(ines, "/lab/courses/").count('<td class="right">1</td>') == 5


def test_who_a_browser_is_is_looked_up_once_for_a_step(ines: Client, django_assert_max_num_queries: Any) -> None:
    bo = join(make(ines), "Bo")
    with django_assert_max_num_queries(4):
        page(bo, f"/lab/chapters/{CHAPTER}/{PREDICT}/")


def test_the_next_chapter_is_the_next_of_the_course(ines: Client) -> None:
    course = make(ines, chapters=["00-new-messenger", "02-delete-only"])  # type: ignore[arg-type]
    assert [chapter_after(one, course) for one in ("00-new-messenger", "02-delete-only", "05-two-versions")] == [
        "02-delete-only",
        "",
        "",
    ]


def test_the_lab_and_the_course_go_on_with_the_same_chapter(ines: Client) -> None:
    course = make(ines, chapters=["02-delete-only", "05-two-versions"])  # type: ignore[arg-type]
    bo = join(course, "Bo")
    pages = [page(bo, at) for at in ("/lab/", "/lab/course/")]
    onward = [re.findall(r'class="button first" href="([^"]+)"', one)[0] for one in pages]
    assert onward == ["/lab/chapters/02-delete-only/"] * 2


def test_a_click_on_a_cell_opens_the_learners_last_session(ines: Client, chapter: Chapter) -> None:
    course = make(ines)
    bo = join(course, "Bo")
    answer(bo, chapter, REACH, {"steps": STEPS})
    answer(bo, chapter, REACH, {"steps": [*STEPS, "n1.delete.1"]})
    opened = ines.get(f"/lab/courses/{course.pk}/1/{CHAPTER}/{REACH}/")
    where, _, link = opened["Location"].partition("?s=")
    assert where == "/lab/stage/"
    assert decode(link).session.steps[-1] == "n1.commit"
    assert decode(link).at == len(decode(link).session.steps)
    every = page(ines, f"/lab/courses/{course.pk}/1/{CHAPTER}/{REACH}/?all=1")
    first = Attempt.objects.order_by("pk")[0].pk
    assert re.findall(r'href="\?attempt=(\d+)"', every)[-1] == str(first)
    at_first = ines.get(f"/lab/courses/{course.pk}/1/{CHAPTER}/{REACH}/?attempt={first}")["Location"]
    assert decode(at_first.partition("?s=")[2]).session.steps[-1] == "n2.commit"
    assert "publish.2 n2.acquire n2.insert.1.1 n1.delete.1.0" in every


@pytest.mark.parametrize(
    "where", [f"2/{CHAPTER}/{REACH}/", f"1/{CHAPTER}/two-servers/", f"1/{CHAPTER}/x/", f"1/02-delete-only/{REACH}/"]
)
def test_a_trace_that_is_none_is_not_there(ines: Client, where: str) -> None:
    course = make(ines)
    join(course, "Bo")
    assert ines.get(f"/lab/courses/{course.pk}/{where}").status_code == 404


def test_names_are_shown_as_text(ines: Client) -> None:
    course = make(ines, name="<script>1</script>")
    join(course, "<b>Bo</b>")
    text = page(ines, f"/lab/courses/{course.pk}/")
    assert "<b>Bo" not in text
    assert "<script>1" not in text
    assert "&lt;b&gt;Bo" in text


# First answers


def test_first_answers_are_counted_and_later_ones_are_not(ines: Client, chapter: Chapter) -> None:
    course = make(ines)
    ann, bo, cy = (join(course, name) for name in ("Ann", "Bo", "Cy"))
    for learner, answers in ((ann, [WRONG, RIGHT]), (bo, [RIGHT])):
        for one in answers:
            answer(learner, chapter, PREDICT, one)
    learning.show_solution(Learner(member_id=member(cy).pk), chapter, screen(chapter, PREDICT))
    answer(cy, chapter, PREDICT, RIGHT)  # no prediction: the solution was shown before
    text = page(ines, f"/lab/courses/{course.pk}/?chapter={CHAPTER}")
    counts = re.findall(r'<progress max="2" value="(\d)"', text)
    assert counts == ["1", "1", "0", "0"]
    assert "ok-text" not in text  # a class may see this page
    right = page(ines, f"/lab/courses/{course.pk}/?chapter={CHAPTER}&right=1")
    assert right.count("ok-text") == 1


def test_learners_see_counts_only_when_the_teacher_says_so_and_after_their_own_answer(
    ines: Client, chapter: Chapter
) -> None:
    course = make(ines)
    bo, cy = join(course, "Bo"), join(course, "Cy")
    answer(bo, chapter, PREDICT, WRONG)
    assert "progress" not in page(bo, "/lab/course/")
    ines.post(f"/lab/courses/{course.pk}/change/", {"do": "share"})
    assert "<progress" in page(bo, "/lab/course/")
    assert "<progress" not in page(cy, "/lab/course/")
    ines.post(f"/lab/courses/{course.pk}/change/", {"do": "unshare"})
    assert "<progress" not in page(bo, "/lab/course/")


# CSV, QR code


def test_the_csv_file_has_a_line_for_each_learner_and_task(ines: Client, chapter: Chapter) -> None:
    course = make(ines)
    bo = join(course, "=Bo")
    answer(bo, chapter, PREDICT, WRONG)
    answer(bo, chapter, PREDICT, RIGHT)
    file = ines.get(f"/lab/courses/{course.pk}/answers.csv")
    assert file["Content-Type"] == "text/csv; charset=utf-8"
    assert "attachment" in file["Content-Disposition"]
    rows = list(csv.DictReader(io.StringIO(file.content.decode("utf-8-sig"))))
    [line] = [row for row in rows if row["task"] == PREDICT]
    assert (line["learner"], line["first answer"], line["first outcome"]) == ("'=Bo", "nothing", "wrong")
    assert (line["answers"], line["failed"], line["status"]) == ("2", "1", "done after a wrong prediction")
    assert {row["chapter"] for row in rows} == {"00-new-messenger", CHAPTER}


def test_the_invite_link_has_a_qr_code_without_styles(ines: Client, settings: Any) -> None:
    course = make(ines)
    text = page(ines, f"/lab/courses/{course.pk}/")
    assert f"http://testserver/join/{course.token}/" in text
    svg = re.search(r'<svg viewBox="[^"]+" class="qr">.*?</svg>', text, re.DOTALL)
    assert svg is not None
    assert "style" not in svg[0]
    assert "Only this computer" not in text
    assert "Only this computer" in ines.get(f"/lab/courses/{course.pk}/", HTTP_HOST="127.0.0.1:8000").content.decode()
    settings.PUBLIC_URL = "https://lab.example.org"
    assert f"https://lab.example.org/join/{course.token}/" in page(ines, f"/lab/courses/{course.pk}/")


def test_changes_of_a_course_need_a_form_of_ours(ines: Client) -> None:
    course = make(ines)
    assert ines.get(f"/lab/courses/{course.pk}/delete/").status_code == 405
    assert ines.post(f"/lab/courses/{course.pk}/change/", {"do": "burn"}).status_code == 404
    strict: HttpResponse = Client(enforce_csrf_checks=True).post(f"/join/{course.token}/", {"name": "Bo"})  # type: ignore[assignment]
    assert strict.status_code == 403
