"""Replays on the live cluster: what would be done, or why it cannot be; asked for with a button, watched to its end."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required, permission_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from catalog.live import snapshot
from changes.ddl.errors import DdlError
from changes.services import ChangeError
from lab.live import replays, sandbox
from lab.live.replays import Busy, MayNotHarm
from lab.models import Replay
from lab.pages.feats import MAY_REPLAY
from lab.pages.words import say
from lab.replays.recorded import SESSIONS
from lab.replays.trace import NotReplayable
from lab.sessions.session import BadLink, BadSession, decode
from lab.sessions.titles import title_of
from leases.models import MAY_CONTROL_NODES

LISTED_MAX = 20


@require_POST
@permission_required(MAY_REPLAY, raise_exception=True)
def sandboxes(request: HttpRequest) -> HttpResponse:
    who, name = request.user.get_username(), request.POST.get("drop", "")
    try:
        if name:
            sandbox.drop(name, who=who)
        else:
            sandbox.make(who)
    except (ChangeError, DdlError) as refused:
        return _page(request, "", refused=str(refused), status=409)
    return redirect(reverse("replays") + "#sandboxes")


@require_http_methods(["GET", "POST"])
def live(request: HttpRequest) -> HttpResponse:
    """One's last replays; with a session, its script on the cluster; for a POST, it is requested."""
    if request.method == "POST":
        return _asked(request)
    return _page(request, request.GET.get("s", ""))


@permission_required(MAY_REPLAY, raise_exception=True)
def _asked(request: HttpRequest) -> HttpResponse:
    link = request.POST.get("s", "")
    try:
        may_harm = request.user.has_perm(MAY_CONTROL_NODES)
        made = replays.ask(request.user.get_username(), decode(link).session, may_harm=may_harm)
    except MayNotHarm:
        return _page(request, link, status=403)
    except Busy as busy:
        return _page(request, link, why=_words(busy), under_way=busy.own, status=409)
    except (NotReplayable, BadLink, BadSession):
        return _page(request, link, status=400)
    return redirect("replay", made.pk)


def _words(busy: Busy) -> str:
    if busy.own is not None:
        return _("Your last replay has not ended: one at a time.")
    if busy.alone:
        return _(
            "A replay that takes a node away has the cluster for itself: try again when those under way have ended."
        )
    return _("As many replays as the cluster takes at once are under way: try again when one has ended.")


def _page(
    request: HttpRequest,
    link: str,
    *,
    why: str = "",
    under_way: int | None = None,
    refused: str = "",
    status: int = 200,
) -> HttpResponse:
    lines: list[str] = []
    title, setup, lags, harms = "", "", False, False
    if link:
        try:
            session = decode(link).session
            title, setup = say(title_of(session)), session.setup
            script = replays.ready(session)
            lines, lags = [say(narrated.text) for narrated in script.actions], script.lags
            harms = script.harms
        except NotReplayable as problem:
            why = why or say(problem.why)
        except (BadLink, BadSession) as problem:
            why = str(problem)
    own = Replay.objects.none()
    if request.user.is_authenticated:
        own = Replay.objects.filter(owner=request.user.get_username()).order_by("-pk")[:LISTED_MAX]
    context = {
        "section": "lab",
        "link": link,
        "title": title,
        "recorded": next((name for name, one in SESSIONS.items() if link and one.setup == setup), ""),
        "lines": lines,
        "lags": lags,
        "harms": harms,
        "why_not": why,
        "under_way": under_way,
        "may": request.user.has_perm(MAY_REPLAY),
        "may_kill": request.user.has_perm(MAY_CONTROL_NODES),
        "replays": own,
        "sandboxes": sandbox.sandboxes(request.user.get_username()) if request.user.is_authenticated else [],
        "refused": refused,
    }
    return render(request, "lab/live.html", context, status=status)


@login_required
@require_GET
def replay(request: HttpRequest, pk: int) -> HttpResponse:
    shown = get_object_or_404(Replay, pk=pk)
    context = {"section": "lab", "replay": shown} | snapshot.page_context(replays.stream_of(pk))
    return render(request, "lab/replay.html", context)
