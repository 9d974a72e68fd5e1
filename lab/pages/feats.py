"""The live part of a chapter's screen: feats on the real cluster, for visitors only in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest

from lab.exercises.chapter import Live, Screen
from lab.models import Replay
from lab.pages.words import say
from lab.replays.feats import FEATS, Feat
from lab.replays.recorded import OF_FEATS
from lab.sessions.session import encode

MAY_REPLAY = "changes.add_change"
"""A replay makes a table and publishes versions, so it takes the right to submit changes."""


def live_part(request: HttpRequest, screen: Screen) -> dict[str, Any]:
    if not isinstance(screen.task, Live):
        return {}
    may = request.user.has_perm(MAY_REPLAY)
    links = {name: encode(one) for name in screen.task.asks if (one := FEATS[name].replay) is not None}
    ran = _ran(request, links)
    asked = [
        {
            "text": say(feat.text),
            "is_done": may and _has_done(request, feat),
            "link": links.get(name, ""),
            "ran": ran.get(name),
            "recorded": OF_FEATS.get(name, ""),
            "needs_operator": feat.by_operators and not _may_control(request),
        }
        for name, feat in ((name, FEATS[name]) for name in screen.task.asks)
    ]
    return {"feats": asked, "may_submit": may, "is_done": bool(asked) and all(one["is_done"] for one in asked)}


def _ran(request: HttpRequest, links: Mapping[str, str]) -> dict[str, int]:
    if not request.user.is_authenticated:
        return {}
    compared = Replay.objects.filter(link__in=links.values(), outcome__result="compared").order_by("pk")
    newest = dict(compared.values_list("link", "pk"))
    return {name: newest[link] for name, link in links.items() if link in newest}


def _has_done(request: HttpRequest, feat: Feat) -> bool:
    from lab.live.feats import has_done  # looks at a cluster's rows: the lab in a browser has none

    return has_done(request.user.get_username(), feat)


def _may_control(request: HttpRequest) -> bool:
    if not request.user.is_authenticated:
        return False
    from leases.models import MAY_CONTROL_NODES

    return request.user.has_perm(MAY_CONTROL_NODES)
