"""Hold it for me: a transaction kept open on a node, so that a change waits for it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from functools import wraps
from typing import Any

import psycopg
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from catalog.models import Table
from catalog.selectors import table_named
from changes.records import windows
from changes.streams import awaited
from leases.models import MAY_CONTROL_NODES, Node
from leases.selectors import leases_on
from nodes.console import hold
from nodes.console.sessions import CONNECT_S
from nodes.people.rights import MAY_WRITE
from nodes.people.vouching import vouched_address
from schemalab.operations.traffic import DEMO_TABLE


def may_hold(user: Any) -> bool:
    """Operators; in the demo also users of the console, who could open it there."""
    return user.has_perm(MAY_CONTROL_NODES) or (user.has_perm(MAY_WRITE) and is_demo())


def for_those_who_may(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    @wraps(view)
    def checked(request: HttpRequest, node: str) -> HttpResponse:
        if not may_hold(request.user):
            raise PermissionDenied
        return view(request, node)

    return checked


def is_demo() -> bool:
    return table_named(DEMO_TABLE) is not None


def part(_id: int) -> dict[str, Any]:
    """The open transactions, and the node for a new one: the last that answers and blocks nothing."""
    lasting = hold.holds()
    up = Node.objects.filter(port__gt=0, state=Node.State.UP).order_by("-name").values_list("name", flat=True)
    taken = {one.node for one in lasting} | {one["node"] for one in awaited()}
    free = next((name for name in up if name not in taken), None)
    shown = [{"node": one.node, "who": one.who, "until": _ends_at(one).isoformat()} for one in lasting]
    return {"holds": shown, "node": free if len(shown) < hold.HOLDS_MAX else None, "is_demo": is_demo()}


def _ends_at(one: hold.Hold) -> datetime:
    """Its limit, or the end of the lease that it uses, once a newer version is published."""
    known = [lease for lease in leases_on(one.table_id, node=one.node) if lease.acquired_at <= one.began]
    used = max(known, key=lambda lease: lease.version, default=None)
    return one.until if used is None or used.version == used.newest else min(one.until, used.expires_at)


@login_required
@for_those_who_may
@require_http_methods(["GET", "POST"])
def begin(request: HttpRequest, node: str) -> HttpResponse:
    found = Node.objects.filter(pk=node, port__gt=0).first()
    table = Table.objects.filter(pk=windows.table_of_interest() or windows.table_at_rest()).first()
    if found is None or table is None:
        raise Http404(f"there is no node {node}, or no table to read")
    refusal = None
    if request.method == "POST":
        user = request.user.get_username()
        try:
            hold.begin(node, who=user, table_id=table.pk, table=table.name, connect=lambda: _connect(found, user))
            messages.success(request, _("A transaction is open on %(node)s now. Submit a change.") % {"node": node})
            return redirect("cluster")
        except hold.HoldRefused as refused:
            refusal = str(refused)
    context = {"section": "cluster", "node": node, "table": table, "refusal": refusal, "minutes": hold.HOLD_S_MAX / 60}
    return render(request, "hold.html", context, status=409 if refusal else 200)


@login_required
@for_those_who_may
@require_http_methods(["GET", "POST"])
def end(request: HttpRequest, node: str) -> HttpResponse:
    refusal = None
    if request.method == "POST":
        try:
            hold.release(node, who=request.user.get_username())
            messages.success(request, _("The transaction on %(node)s has ended.") % {"node": node})
            return redirect("cluster")
        except hold.HoldRefused as refused:
            refusal = str(refused)
    context = {"section": "cluster", "node": node, "refusal": refusal, "is_end": True}
    return render(request, "hold.html", context, status=409 if refusal else 200)


def _connect(node: Node, user: str) -> psycopg.Connection:
    address = vouched_address(settings.SECRET_KEY, node.host, node.port, name=user, application_name=f"{user}'s hold")
    return psycopg.connect(**address, connect_timeout=CONNECT_S, autocommit=True)
