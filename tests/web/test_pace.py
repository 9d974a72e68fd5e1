"""A class at its teacher's pace, through its pages."""

from __future__ import annotations

import pytest
from django.test import Client

from lab.exercises.chapter import Chapter
from lab.models import Course
from lab.sessions.short_steps import in_full
from tests.web.test_answers import data
from tests.web.test_classroom import CHAPTER, PREDICT, RIGHT, WRONG, answer, chapter, ines, join, make, page

__all__ = ["chapter", "ines"]


def pace(teacher: Client, course: Course, **form: str) -> None:
    assert teacher.post(f"/lab/courses/{course.pk}/pace/", form).status_code == 302


@pytest.fixture
def course(ines: Client) -> Course:
    made = make(ines)
    pace(ines, made, do="begin", chapter=CHAPTER)
    return made


def opened(client: Client, path: str) -> str:
    """The address to which one comes."""
    found = client.get(path, follow=True)
    return found.redirect_chain[-1][0] if found.redirect_chain else path  # type: ignore[attr-defined]


def test_nobody_is_ahead_of_the_class(ines: Client, course: Course, chapter: Chapter) -> None:
    bo = join(course, "Bo")
    first, second = (f"/lab/chapters/{CHAPTER}/{one.id}/" for one in chapter.screens[:2])
    assert opened(bo, second) == first
    assert "Your teacher moves everybody on." in page(bo, first)
    pace(ines, course, do="on")
    assert opened(bo, second) == second
    pace(ines, course, do="back")
    assert opened(bo, second) == first
    pace(ines, course, do="end")
    assert opened(bo, second) == second


def test_a_chapter_behind_the_class_is_open_and_one_ahead_is_not(ines: Client, course: Course) -> None:
    bo = join(course, "Bo")
    assert opened(bo, "/lab/chapters/00-new-messenger/").startswith("/lab/chapters/00-new-messenger/")
    pace(ines, course, do="begin", chapter="00-new-messenger")
    assert opened(bo, f"/lab/chapters/{CHAPTER}/") == "/lab/course/"
    assert opened(bo, f"/lab/chapters/{CHAPTER}/two-servers/") == "/lab/course/"
    assert bo.post(f"/lab/chapters/{CHAPTER}/{PREDICT}/answer/", RIGHT).status_code == 404


def test_a_learners_page_hears_where_the_class_is(ines: Client, course: Course, chapter: Chapter) -> None:
    bo = join(course, "Bo")
    where = f"/lab/chapters/{CHAPTER}/"
    assert bo.get("/lab/course/pace/").json() == {"address": f"{where}{chapter.screens[0].id}/"}
    pace(ines, course, do="on")
    assert bo.get("/lab/course/pace/").json() == {"address": f"{where}{chapter.screens[1].id}/"}
    pace(ines, course, do="end")
    assert bo.get("/lab/course/pace/").json() == {"address": ""}
    assert Client().get("/lab/course/pace/").json() == {"address": ""}


def test_a_learner_is_taken_along_from_every_page_of_the_course(ines: Client, chapter: Chapter) -> None:
    course = make(ines)
    bo = join(course, "Bo")
    first = f"/lab/chapters/{CHAPTER}/{chapter.screens[0].id}/"
    for path in ("/lab/course/", first):
        before = page(bo, path)
        assert 'data-pace="/lab/course/pace/"' in before
        assert "pace.js" in before
    assert "Go to where the class is" not in page(bo, "/lab/course/")
    pace(ines, course, do="begin", chapter=CHAPTER)
    assert f'href="{first}"' in page(bo, "/lab/course/").partition("Go to where the class is")[0]
    late = Client()
    assert late.post(f"/join/{course.token}/", {"name": "Late"})["Location"] == first


def test_a_learner_who_has_not_begun_is_shown_where_to(ines: Client) -> None:
    bo = join(make(ines), "Bo")
    found = page(bo, "/lab/course/")
    assert found.count('class="button first"') == 1
    assert "Begin" in found


def test_the_teacher_reads_which_chapter_is_meant(ines: Client) -> None:
    course = make(ines)
    assert "Take everybody through “One jump”" in page(ines, f"/lab/courses/{course.pk}/?chapter={CHAPTER}")


def test_the_projector_counts_first_and_shows_the_answer_when_asked(
    ines: Client, course: Course, chapter: Chapter
) -> None:
    bo, cy = join(course, "Bo"), join(course, "Cy")
    pace(ines, course, do="on")
    assert chapter.screens[1].id == PREDICT
    answer(bo, chapter, PREDICT, WRONG)
    before = page(ines, f"/lab/courses/{course.pk}/projector/")
    assert "1 of 2 have answered" in before
    assert "<progress" not in before
    steps = data(before, "stage-answer")["session"]["steps"]
    assert steps[-1] == "n2.commit", "the hidden steps"
    answer(cy, chapter, PREDICT, RIGHT)
    assert "2 of 2 have answered" in page(ines, f"/lab/courses/{course.pk}/projector/counts/")
    after = page(ines, f"/lab/courses/{course.pk}/projector/?right=1")
    assert "<progress" in after
    assert data(after, "stage-answer")["session"]["steps"] == [*steps, *in_full(["n1.delete.1"])]
    assert "data-play" in after


def test_the_projector_moves_everybody_on(ines: Client, course: Course, chapter: Chapter) -> None:
    moved = ines.post(f"/lab/courses/{course.pk}/pace/", {"do": "on", "from": "projector"})
    assert moved["Location"] == f"/lab/courses/{course.pk}/projector/"
    assert Course.objects.get(pk=course.pk).paced_screen == chapter.screens[1].id


def test_without_a_pace_there_is_no_projector_page(ines: Client) -> None:
    course = make(ines)
    assert ines.get(f"/lab/courses/{course.pk}/projector/")["Location"] == f"/lab/courses/{course.pk}/"
    assert ines.get(f"/lab/courses/{course.pk}/projector/counts/").status_code == 404
    for do in ("on", "back", "no such"):
        assert ines.post(f"/lab/courses/{course.pk}/pace/", {"do": do}).status_code == 404
    assert ines.post(f"/lab/courses/{course.pk}/pace/", {"do": "begin", "chapter": "x"}).status_code == 404


def test_a_learner_has_a_page_with_their_first_answers(ines: Client, course: Course, chapter: Chapter) -> None:
    bo = join(course, "Bo")
    join(course, "Cy")
    answer(bo, chapter, PREDICT, WRONG)
    answer(bo, chapter, PREDICT, RIGHT)
    seen = page(ines, f"/lab/courses/{course.pk}/learners/1/")
    assert "Nothing: row and entry are deleted." in seen
    assert "The entry only." not in seen
    assert 'data-status="done after a wrong prediction"' in seen
    assert "Nothing is stored yet" in page(ines, f"/lab/courses/{course.pk}/learners/2/")
