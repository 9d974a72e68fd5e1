"""The lease console: which node uses which version until when, what it blocks, and the actions. For staff."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps

from django.contrib import messages
from django.contrib.auth.decorators import login_required, permission_required
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_GET, require_http_methods

from catalog.live import snapshot
from catalog.story import LEASES
from catalog.text.numbers import whole_number
from leases import selectors, services
from leases.selectors import LeaseOn
from schemalab.operations import lease_history, lease_list

View = Callable[..., HttpResponse]


def for_staff(view: View) -> View:
    @login_required
    @wraps(view)
    def guarded(request: HttpRequest, *args: object, **more: object) -> HttpResponse:
        if not request.user.is_staff:
            raise PermissionDenied
        return view(request, *args, **more)

    return guarded


@for_staff
@require_GET
def leases(request: HttpRequest) -> HttpResponse:
    return render(request, "leases.html", {"section": "leases"} | snapshot.page_context(LEASES))


@for_staff
@permission_required("leases.release_lease", raise_exception=True)
@require_http_methods(["GET", "POST"])
def release(request: HttpRequest, lease_id: int) -> HttpResponse:
    lease = selectors.held_lease(lease_id)
    if request.method == "POST":
        try:
            services.release_lease(lease_id, who=request.user.get_username())
        except services.REFUSALS as refusal:
            return _ask(request, "release", lease, refusal=str(refusal))
        messages.success(request, _("Released."))
        return redirect("leases")
    return _ask(request, "release", lease)


@for_staff
@permission_required("leases.revoke_lease", raise_exception=True)
@require_http_methods(["GET", "POST"])
def revoke(request: HttpRequest, lease_id: int) -> HttpResponse:
    lease = selectors.held_lease(lease_id)
    if request.method == "GET" or lease is None:
        return _ask(request, "revoke", lease)
    if request.POST.get("typed", "").strip() != lease.node:
        return _ask(request, "revoke", lease, is_mistyped=True)
    who = request.user.get_username()
    try:
        revoked = services.revoke_lease(lease.table_id, lease.node, version=lease.version, who=who)
    except services.REFUSALS as refusal:
        return _ask(request, "revoke", lease, refusal=str(refusal))
    ended = sum(one.sessions_ended for one in revoked)
    words = ngettext("Revoked: %(n)s session was ended.", "Revoked: %(n)s sessions were ended.", ended)
    messages.success(request, words % {"n": ended})
    return redirect("leases")


@for_staff
@require_GET
def history(request: HttpRequest) -> HttpResponse:
    node = request.GET.get("node", "")
    table_id = whole_number(request.GET.get("table", ""), digits_max=9)
    context = {"section": "leases", "table_id": table_id, "node": node}
    return render(request, "leases_history.html", context | lease_history.history(table_id=table_id, node=node or None))


def _ask(
    request: HttpRequest, act: str, lease: LeaseOn | None, *, refusal: str | None = None, is_mistyped: bool = False
) -> HttpResponse:
    """Shows the effect; 409 with the reason when impossible, 422 when the name is wrong."""
    shown = lease_list.row_of(lease) if lease else None
    context = {"section": "leases", "act": act, "lease": lease, "refusal": refusal, "is_mistyped": is_mistyped}
    if lease is None or shown is None:
        context["lease"] = None
        context["refusal"] = refusal or _(
            "There is no such lease any more: it was given back, or is over. What waited for it goes on."
        )
    else:
        sessions = selectors.sessions_using(lease.table_id, lease.version, node=lease.node)
        context |= {"shown": shown, "sessions": len(sessions), "unreported": max(0, len(sessions) - len(lease.holders))}
        if act == "release" and refusal is None and sessions:
            context["refusal"] = _("Transactions run under it: it can be revoked, not released.")
    status = 409 if context["refusal"] else 422 if is_mistyped else 200
    return render(request, "lease_act.html", context, status=status)
