"""A replay that was recorded from a cluster: open to all, also where there is no cluster."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.dateparse import parse_date
from django.views.decorators.http import require_GET

from lab.pages.replay_part import Kept, part
from lab.pages.words import say
from lab.replays.recorded import SESSIONS, recording
from lab.sessions.session import encode
from lab.sessions.titles import title_of


@require_GET
def recorded(request: HttpRequest, name: str) -> HttpResponse:
    try:
        found = recording(name)
    except KeyError as unknown:
        raise Http404(f"there is no recording {name}") from unknown
    session = SESSIONS[name]
    link = encode(session)
    context = {
        "section": "lab",
        "title": say(title_of(session)),
        "link": link,
        "on": parse_date(found["on"]),
        "part": part(Kept(link, found["times"], len(found["times"]), found["outcome"])),
    }
    return render(request, "lab/recorded.html", context)
