"""From a change that waits, or has failed, to the stage in the same state (`?node=n3`: with this node, where several
block it). A change without a model, or one that has gone on since, leads to the situation that is named like it."""

from collections.abc import Mapping
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.http import require_GET

from catalog.live.snapshot import NoSuchStream, check_may_follow
from catalog.story import change_stream
from changes.executor.state import Direction
from changes.models import Change
from changes.selectors import blockers, execution_of
from lab.own.sessions_of_changes import Holder, session_of_failure, session_of_wait
from lab.pages.explorer import opened
from lab.sessions.explained_waits import door_to
from lab.sessions.session import Session
from lab.sessions.titles import chapter_of
from leases.selectors import LeaseOn, held_leases

OF_SQLSTATES = {"23505": "duplicates", "23503": "reference"}
"""The situation of a failure, by its code; any other is a row that breaks a rule."""


@require_GET
def why_change(request: HttpRequest, pk: int) -> HttpResponse:
    session = _session(change_for(request, pk), request.GET.get("node", ""))
    return opened(session, len(session.steps))


def change_for(request: HttpRequest, pk: int) -> Change:
    try:
        check_may_follow(request.user, change_stream(pk))
    except NoSuchStream as absent:
        raise Http404(str(absent)) from absent
    return Change.objects.get(pk=pk)


def _session(change: Change, node: str) -> Session:
    state = execution_of(change)
    if change.error is not None:
        situation = OF_SQLSTATES.get(change.error.get("sqlstate", ""), "violation")
        return session_of_failure(state.plan, _chapter(situation)) or door_to(situation)
    held = blockers(change, state)
    chosen = next((one for one in held if one["node"] == node), held[0] if held else None)
    if chosen is None:
        return door_to("lease")
    lease = _lease(chosen)
    has_transaction = lease is None or bool(lease.holders)
    situation = door_of(chosen, has_lease=lease is not None, has_transaction=has_transaction)
    step = state.step
    if step is None or state.direction is not Direction.FORWARD or chosen["table"] != state.plan.table:
        return door_to(situation)
    holder = Holder(chosen["node"], chosen["version"], lease is not None, has_transaction)
    return session_of_wait(state.plan, step.kind, step.version, holder, _chapter(situation)) or door_to(situation)


def door_of(blocker: Mapping[str, Any], *, has_lease: bool, has_transaction: bool) -> str:
    if not has_lease:
        return "outlived-lease"
    if blocker["is_down"]:
        return "dead-node"
    return "open-transaction" if has_transaction else "lease"


def _lease(blocker: Mapping[str, Any]) -> LeaseOn | None:
    found = (lease for lease in held_leases(blocker["table_id"]) if lease.node == blocker["node"])
    return next((lease for lease in found if lease.version == blocker["version"]), None)


def _chapter(situation: str) -> str:
    return chapter_of(door_to(situation))
