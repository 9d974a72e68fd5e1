"""The SQL console: statements on one node, or on two side by side, through the wire as any client's."""

from __future__ import annotations

from typing import Any

import psycopg
from django.conf import settings
from django.contrib.auth.decorators import login_required, permission_required
from django.contrib.auth.signals import user_logged_out
from django.dispatch import receiver
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBadRequest
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_POST

from catalog.text.marking import mark
from leases.models import Node
from nodes.console.sessions import CONNECT_S, PaneError, panes
from nodes.people.rights import MAY_WRITE
from nodes.people.vouching import vouched_address

NUMBERS = ("1", "2")
SQL_CHARS_MAX = 20_000


@login_required
@permission_required(MAY_WRITE, raise_exception=True)
@require_GET
def console(request: HttpRequest) -> HttpResponse:
    count = 2 if request.GET.get("panes") == "2" else 1
    return render(request, "console.html", _page(request, count))


@login_required
@permission_required(MAY_WRITE, raise_exception=True)
@require_POST
def run(request: HttpRequest, number: str) -> HttpResponse:
    """Run the pane's statements; an open transaction stays open."""
    _check(number)
    sql, name = request.POST.get("sql", ""), request.POST.get("node", "")
    if len(sql) > SQL_CHARS_MAX:
        return HttpResponseBadRequest(f"a text of {len(sql)} characters; the console takes {SQL_CHARS_MAX}")
    node = Node.objects.filter(pk=name, port__gt=0).first()
    if node is None:
        raise Http404(f"there is no node {name}")
    shown: dict[str, Any] = {"number": number, "node": node.name}
    try:
        user = request.user.get_username()
        pane = panes.take(_owner(request), number, node.name, lambda: _connect(node, user), user)
        shown["answer"] = pane.run(sql)
    except PaneError as refusal:
        shown["refusal"] = str(refusal)
    return _answer(request, shown, sql)


@login_required
@permission_required(MAY_WRITE, raise_exception=True)
@require_POST
def end(request: HttpRequest, number: str) -> HttpResponse:
    """Close the pane's session; what was not committed is rolled back."""
    _check(number)
    panes.close(_owner(request), number)
    return _answer(request, {"number": number, "ended": True}, request.POST.get("sql", ""))


@login_required
@permission_required(MAY_WRITE, raise_exception=True)
@require_POST
def stop(request: HttpRequest, number: str) -> HttpResponse:
    """Stop the statement that runs in the pane; its own request then brings the node's answer."""
    _check(number)
    pane = panes.get(_owner(request), number)
    if pane is not None:
        pane.stop()
    return HttpResponse(status=204) if request.headers.get("HX-Request") else redirect("console")


def _check(number: str) -> None:
    if number not in NUMBERS:
        raise Http404(f"there is no pane {number}")


def _answer(request: HttpRequest, shown: dict[str, Any], sql: str) -> HttpResponse:
    answer = shown.get("answer")
    if answer is not None and answer.error is not None:
        shown["marked"] = mark(answer.sql, answer.error.position)
    if request.headers.get("HX-Request"):
        return render(request, "parts/pane_answer.html", shown)
    page = _page(request, 2 if request.POST.get("panes") == "2" else 1)
    for pane in page["panes"]:
        if pane["number"] == shown["number"]:
            pane.update(shown, sql=sql)
    return render(request, "console.html", page)


def _page(request: HttpRequest, count: int) -> dict[str, Any]:
    nodes = list(Node.objects.filter(port__gt=0))  # a bulk load is a node without a port
    wished = request.GET.get("node")
    pages = []
    for place, number in enumerate(NUMBERS[:count]):
        held = panes.get(_owner(request), number)
        first = nodes[min(place, len(nodes) - 1)].name if nodes else ""
        node = held.node if held else wished if place == 0 and wished else first
        pages.append({"number": number, "node": node, "transaction": held.transaction if held else "idle", "sql": ""})
    return {"section": "console", "nodes": nodes, "panes": pages, "count": count}


def _owner(request: HttpRequest) -> str:
    """The browser's session: a pane belongs to it, so signing out gives it up."""
    if request.session.session_key is None:
        request.session.save()
    assert request.session.session_key is not None
    return request.session.session_key


@receiver(user_logged_out)
def give_up_panes(request: HttpRequest | None, **_: Any) -> None:
    """Signing out gives up what was left open in the console."""
    key = None if request is None else request.session.session_key
    if key is not None:
        panes.close_all_of(key)


def _connect(node: Node, user: str) -> psycopg.Connection:
    address = vouched_address(
        settings.SECRET_KEY, node.host, node.port, name=user, application_name=f"console of {user}"
    )
    return psycopg.connect(**address, connect_timeout=CONNECT_S, autocommit=True)
