"""The story's page and files, for people who may follow the stream."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_GET

from catalog.live import snapshot
from catalog.story import GROUPS
from catalog.story_list import export, reading
from catalog.story_list.wanted import StoryFilter, wanted

FILES = {"json": ("application/json", export.as_json), "csv": ("text/csv; charset=utf-8", export.as_csv)}


@login_required
@require_GET
def story(request: HttpRequest) -> HttpResponse:
    """A page; with `after` the new lines, for an open page."""
    asked = _permitted(request)
    is_too_long, events, more = False, [], False
    try:
        with snapshot.one_snapshot():
            live = snapshot.follow_context(asked.stream)
            events, more = reading.page(asked)
    except reading.SearchTooLong:
        is_too_long, live = True, {}
    context: dict[str, Any] = {
        "wanted": asked,
        "groups": GROUPS,
        "others": [kind for kind in asked.kinds if kind not in GROUPS],
        "events": events,
        "older": asked.address(before=events[-1]["seq"]) if more else None,
        "newest": asked.address(),
        "events_max": export.EVENTS_MAX,
        "search_s_max": reading.SEARCH_S_MAX if is_too_long else None,
    }
    return render(request, "story.html", context | live, status=503 if is_too_long else 200)


@login_required
@require_GET
def file(request: HttpRequest, form: str) -> HttpResponseBase:
    asked = _permitted(request)
    content_type, written = FILES[form]
    name = f"story-{asked.stream.replace(':', '-')}-{timezone.now():%Y-%m-%d}.{form}"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return StreamingHttpResponse(written(asked), content_type=content_type, headers=headers)


def _permitted(request: HttpRequest) -> StoryFilter:
    asked = wanted(request.GET)
    try:
        snapshot.check_may_follow(request.user, asked.stream)
    except snapshot.NoSuchStream as absent:
        raise Http404(str(absent)) from absent
    return asked
