"""Glossary and recordings, which are a cluster's pages elsewhere, and the answer to all that needs a cluster."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from catalog.templatetags.glossary import glossary_words
from lab.exercises.goals import goal_text
from lab.pages.words import say
from lab.replays.feats import FEATS
from lab.replays.recorded import SESSIONS
from lab.sessions.session import BadLink, BadSession, Session, decode
from lab.sessions.titles import title_of


@require_GET
def glossary(request: HttpRequest) -> HttpResponse:
    return render(request, "glossary.html", {"section": "help", "terms": glossary_words()})


def needs_a_cluster(request: HttpRequest, **_: object) -> HttpResponse:
    """One sentence and a link to the lab; with 501, so that scripts can tell."""
    return render(request, "anywhere/needs_a_cluster.html", {"section": "lab"}, status=501)


def replays(request: HttpRequest) -> HttpResponse:
    try:
        setup = decode(request.GET.get("s", "")).session.setup
    except (BadLink, BadSession):
        setup = ""
    titles = {name: _title(name, session) for name, session in SESSIONS.items()}
    near = {name: titles[name] for name, session in SESSIONS.items() if session.setup == setup}
    context = {"section": "lab", "recordings": near or titles}
    return render(request, "anywhere/needs_a_cluster.html", context, status=501)


def _title(name: str, session: Session) -> str:
    """The set-up's title, and the clauses that break: two recordings may be of one set-up."""
    broken = " ".join(say(goal_text(clause)) for clause in sorted(FEATS[name].clauses))
    return f"{say(title_of(session))} · {broken}" if broken else say(title_of(session))
