"""The lab in the browser: its front page, and the stage, which is one page and two questions to the server."""

from collections.abc import Callable
from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from lab import services
from lab.classroom.selectors import learner_of, member_here
from lab.learning.views import listed
from lab.models import Question
from lab.pages.answers import answer, described_setups, linked_answer, random_answer
from lab.pages.courses.chapters import course_of
from lab.pages.first_minute import SETUP as FIRST_SETUP
from lab.pages.first_minute import link as first_link
from lab.pages.gallery import cards
from lab.pages.questions import question_in, savings_in, worded
from lab.pages.requests import BadRequest, asked, body_of
from lab.pages.words import say, stage_words
from lab.sessions.replay import new_session
from lab.sessions.session import BadLink, BadSession, decode


@require_GET
def lab(request: HttpRequest) -> HttpResponse:
    setups = [setup for setup in described_setups() if setup["chapter"]]
    chapters = listed(request)
    context = {"section": "lab", "chapters": chapters, "cards": cards(), "setups": setups}
    member = member_here(request)
    own = chapters if member is None else [one for one in chapters if one["id"] in member.course.chapters]
    context["course"] = course_of(own)
    return render(request, "lab/lab.html", context)


@require_http_methods(["GET", "POST"])
def stage(request: HttpRequest) -> HttpResponse:
    """The page, or for a POST a session at a position. The set-up of the first minute has a page of its own."""
    if request.method == "POST":
        return _answered(lambda: _shown(body_of(request)))
    if request.GET.dict() == {"setup": FIRST_SETUP}:
        return render(request, "lab/first_minute.html", {"section": "lab", "link": first_link()})
    notice, status = "", 200
    try:
        shown = _of_link(request)
    except (BadLink, BadSession) as problem:
        shown, status = answer(new_session(FIRST_SETUP), None, None), 400
        notice = _("This link cannot be opened: {why}. Here is the first set-up instead.").format(why=problem)
    context = {
        "section": "lab",
        "answer": shown | ({"notice": notice} if notice else {}),
        "setups": described_setups(),
        "words": stage_words(),
        "is_presenting": request.GET.get("present") == "1",
        "is_asking": request.GET.get("ask") == "1",
    }
    return render(request, "lab/stage.html", context, status=status)


@require_POST
def random_step(request: HttpRequest) -> HttpResponse:
    return _answered(lambda: random_answer(asked(body_of(request))))


@require_POST
def ask(request: HttpRequest) -> HttpResponse:
    def asked_now() -> dict[str, Any]:
        found = question_in(body_of(request))
        made = services.ask(learner_of(request, named=True).owner, found.question)
        return worded(made) | {"why_not_here": say(found.why_not_here)}

    return _answered(asked_now)


@require_GET
def question(request: HttpRequest, pk: int) -> HttpResponse:
    return JsonResponse(worded(get_object_or_404(Question, pk=pk, owner=learner_of(request).owner)))


@require_POST
def stop_question(request: HttpRequest, pk: int) -> HttpResponse:
    services.stop(learner_of(request).owner, pk)
    return JsonResponse(worded(get_object_or_404(Question, pk=pk, owner=learner_of(request).owner)))


@require_POST
def saving(request: HttpRequest) -> HttpResponse:
    return _answered(lambda: {"savings": savings_in(body_of(request))})


def _shown(body: bytes) -> dict[str, Any]:
    request = asked(body)
    return answer(request.session, request.at, request.single_steps)


def _of_link(request: HttpRequest) -> dict[str, Any]:
    if "s" in request.GET:
        return linked_answer(decode(request.GET["s"]))
    return answer(new_session(request.GET.get("setup", FIRST_SETUP)), None, None)


def _answered(work: Callable[[], dict[str, Any]]) -> JsonResponse:
    """Answers a mistake of the request in words, with 400."""
    try:
        return JsonResponse(work())
    except (BadRequest, BadSession) as problem:
        return JsonResponse({"error": str(problem)}, status=400)
