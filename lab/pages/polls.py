"""Polls: a teacher puts a question to the room from the stage; voters come by a QR code, with no course and no account.
Before a poll is revealed no voter gets its counts, or anything after its position."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from django.db.models import Count
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import translation
from django.utils.functional import Promise
from django.utils.safestring import SafeString
from django.utils.translation import get_language, gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from catalog.text.numbers import whole_number
from lab.classroom.selectors import learner_of
from lab.diagrams.handout import picture_of_session
from lab.models import Poll
from lab.pages.courses.classroom import is_only_here, public_link, qr_code
from lab.pages.words import say
from lab.polls import services
from lab.polls.services import CHOICES_MAX, BadPoll
from lab.sessions.replay import show_in_lines
from lab.sessions.session import BadLink, BadSession, Session, decode, encode
from lab.sessions.shown import Severity

PROBLEMS: Mapping[str, str | Promise] = {
    "link": gettext_lazy("The session of this poll cannot be opened. Make the poll from the stage again."),
    "question": gettext_lazy("Write the question, in at most 200 characters."),
    "choices": gettext_lazy("Write 2 to 6 different answers, one on each line."),
    "choice": gettext_lazy("An answer has at most 100 characters."),
    "right": gettext_lazy("Mark at most one answer with *."),
    "vote": gettext_lazy("Choose one of the answers."),
    "revealed": gettext_lazy("The answers are shown already: this vote came too late."),
    "full": gettext_lazy("This poll has as many votes as it can take."),
}


@never_cache
@require_http_methods(["GET", "POST"])
def polls(request: HttpRequest) -> HttpResponse:
    problem = ""
    if request.method == "POST":
        try:
            made = services.make_poll(request.user, **_asked(request), language=get_language() or "en")  # type: ignore[arg-type]
            return redirect("poll", made.pk)
        except BadPoll as error:
            problem = str(PROBLEMS[str(error)])
    link = request.POST.get("s", request.GET.get("s", ""))
    context = {
        "section": "lab",
        "polls": Poll.objects.filter(made_by=request.user).annotate(vote_count=Count("votes")),
        "link": link,
        "asked": request.POST,
        "problem": problem,
        "most": CHOICES_MAX,
    }
    return render(request, "lab/polls.html", context, status=422 if problem else 200)


def _asked(request: HttpRequest) -> dict[str, Any]:
    """The fields of a new poll: an answer that begins with * is the right one."""
    lines = [line.strip() for line in request.POST.get("choices", "").splitlines() if line.strip()]
    marked = [at for at, line in enumerate(lines) if line.startswith("*")]
    return {
        "link": request.POST.get("s", ""),
        "question": request.POST.get("question", ""),
        "choices": [line.removeprefix("*") for line in lines],
        "right": None if not marked else marked[0] if len(marked) == 1 else -1,
    }


@never_cache
@require_GET
def poll(request: HttpRequest, pk: int) -> HttpResponse:
    mine = _mine(request, pk)
    link = public_link(request, reverse("vote", args=[mine.token]))
    context = {
        "section": "lab",
        "link": link,
        "qr": qr_code(link),
        "is_only_here": is_only_here(link),
        **_counted(mine),
    }
    context |= {"before": _before(mine), "session": _after(mine)}
    return render(request, "lab/poll.html", context)


@never_cache
@require_GET
def poll_counts(request: HttpRequest, pk: int) -> HttpResponse:
    return render(request, "lab/poll_counts.html", _counted(_mine(request, pk)))


@require_POST
def poll_change(request: HttpRequest, pk: int) -> HttpResponse:
    mine = _mine(request, pk)
    match request.POST.get("do"):
        case "reveal" | "hide" as what:
            services.reveal(mine, is_revealed=what == "reveal")
        case "clear":
            services.clear(mine)
        case "delete":
            mine.delete()
            return redirect("polls")
    return redirect("poll", pk)


@never_cache
@require_http_methods(["GET", "POST"])
def vote(request: HttpRequest, token: str) -> HttpResponse:
    found = get_object_or_404(Poll, token=token)
    with translation.override(found.language):
        problem = ""
        if request.method == "POST":
            voter = learner_of(request, named=True).owner
            try:
                choice = whole_number(request.POST.get("choice", ""), digits_max=2)
                services.vote(found, voter, -1 if choice is None else choice)
                return redirect("vote", token)
            except BadPoll as error:
                problem = str(PROBLEMS[str(error)])
            except Poll.DoesNotExist as deleted:
                raise Http404("this poll was just deleted") from deleted
        context = {"section": "lab", "problem": problem, **_of_voter(request, found)}
        return render(request, "lab/vote.html", context, status=422 if problem else 200)


def _of_voter(request: HttpRequest, found: Poll) -> dict[str, Any]:
    """A voter sees the session up to the poll's position; the rest, and the votes, once they are revealed."""
    own = found.votes.filter(voter=learner_of(request).owner).first()
    shown: dict[str, Any] = {"poll": found, "own": None if own is None else own.choice}
    if found.is_revealed:
        return _counted(found) | shown | {"session": _after(found)}
    return shown | _session(found)


def _counted(found: Poll) -> dict[str, Any]:
    counted = services.counts(found)
    bars = [
        {"text": text, "count": count, "is_right": found.is_revealed and found.right == at, "at": at}
        for at, (text, count) in enumerate(zip(found.choices, counted, strict=True))
    ]
    return {"poll": found, "own": None, "bars": bars, "votes": sum(counted)}


def _session(found: Poll) -> dict[str, Any]:
    """The session up to the question, drawn and in words, without its verdicts, which may be the answer."""
    try:
        session = _until_the_question(found)
        shown = show_in_lines(session)
    except (BadLink, BadSession):
        return {}
    trace = tuple(replace(line, severity=Severity.HOLDS) for line in shown.trace)
    drawn = picture_of_session(replace(shown, trace=trace, verdicts=(), probe=(), refused=None), found.question, say)
    return {
        "picture": SafeString(drawn),  # every word in it is escaped by the drawing
        "steps": [say(line.text) for line in trace],
    }


def _before(found: Poll) -> str:
    try:
        session = _until_the_question(found)
    except BadLink:
        return reverse("stage")
    return f"{reverse('stage')}?s={encode(session)}&present=1"


def _after(found: Poll) -> str:
    return f"{reverse('stage')}?s={found.link}"


def _until_the_question(found: Poll) -> Session:
    linked = decode(found.link)
    return replace(linked.session, steps=linked.session.steps[: linked.at])


def _mine(request: HttpRequest, pk: int) -> Poll:
    return get_object_or_404(Poll, pk=pk, made_by=request.user)
