"""Pages that explain a wait on the stage and need no cluster; those of its changes are in `why_a_change_waits`."""

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_GET

from lab.pages.explorer import opened
from lab.pages.gallery import three_versions
from lab.pages.words import say
from lab.sessions.explained_waits import door_to
from lab.sessions.replay import show_in_lines
from lab.sessions.session import BadSession, encode
from lab.sessions.shown import Severity


@require_GET
def why(request: HttpRequest, situation: str) -> HttpResponse:
    try:
        session = door_to(situation)
    except BadSession as problem:
        raise Http404(str(problem)) from problem
    return opened(session, len(session.steps))


@require_GET
def why_it_waits(request: HttpRequest) -> HttpResponse:
    """The six steps that three versions at once would break, taken by the machine under today's rules."""
    session = three_versions()
    shown = show_in_lines(session)
    damage = next(one for one in shown.verdicts if one.severity is Severity.DAMAGE)
    steps = [*(say(line.text) for line in shown.trace), say(damage.why)]
    stage = f"{reverse('stage')}?s={encode(session)}"
    return render(request, "lab/why_it_waits.html", {"section": "lab", "steps": steps, "stage": stage})
