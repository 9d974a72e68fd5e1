"""The first-visit card: what this is, and three things to do. It leaves after the first change, or when put away."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.db.models import Q
from django.db.models.functions import Now
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from catalog import selectors
from catalog.models import Table
from changes.models import ENDED, Change
from leases.models import MAY_CONTROL_NODES, Node
from nodes.people.rights import MAY_WRITE
from nodes.traffic import runs
from schemalab.operations.traffic import DEMO_TABLE
from spark_tasks.models import LoadJob, RunState

COOKIE = "first_visit"
BETWEEN = timedelta(seconds=30)
"""From the end of one load of the demo to the next one's beginning."""
COOKIE_S = 365 * 24 * 3600
INDEXED = ("dest", "origin", "carrier", "tailnum")
KILLED = "n2"
MINUTES = 40
"""Traffic that a newcomer starts lasts longer than the tutorial."""


@require_POST
def show(request: HttpRequest) -> HttpResponse:
    if not request.user.is_authenticated:
        return redirect("sign-in")
    answer = redirect("cluster")
    if "again" in request.POST:
        answer.delete_cookie(COOKIE, samesite="Lax")
    else:
        answer.set_cookie(COOKIE, str(request.user.pk), max_age=COOKIE_S, samesite="Lax", httponly=True)
    return answer


def card(request: HttpRequest) -> dict[str, Any]:
    """The context of the card; `is_shown` is False after the person's first change, or when put away."""
    if not request.user.is_authenticated or request.COOKIES.get(COOKIE) == str(request.user.pk):
        return {"is_shown": False}
    own = Change.objects.filter(who=request.user.get_username(), status__in=ENDED)
    if own.exclude(statement__istartswith="CREATE TABLE").exists():
        return {"is_shown": False}
    demo = selectors.table_named(DEMO_TABLE)
    # the demo's table, or the one before it, gets rows or did a moment ago
    under_way = Q(state__in=(RunState.WAITING, RunState.RUNNING))
    if demo:
        is_loading = LoadJob.objects.filter(under_way, table_id=demo.pk).exists()
    else:
        is_loading = LoadJob.objects.filter(under_way | Q(state=RunState.DONE, ended_at__gt=Now() - BETWEEN)).exists()
    if is_loading:
        demo = None
    # n2, or the last node; one that answers
    up = Node.objects.filter(port__gt=0).exclude(state=Node.State.DOWN)
    names = list(up.order_by("name").values_list("name", flat=True))
    traffic = list(runs.going_on().filter(table_id=demo.pk).values_list("figures", flat=True)) if demo else []
    return {
        "is_shown": True,
        "is_loading": is_loading,
        "demo": DEMO_TABLE if demo else None,
        "has_traffic": bool(traffic),
        "is_starting": not any(figures.get("statements") for figures in traffic),
        "statement": demo and index_statement(demo),
        "node": KILLED if KILLED in names else names[-1] if names else "",
        "minutes": MINUTES,
        "may_write": request.user.has_perm(MAY_WRITE),
        "may_control": request.user.has_perm(MAY_CONTROL_NODES),
    }


def index_statement(table: Table) -> str:
    descriptor = selectors.newest_descriptor(table.pk)
    taken = {index.name for index in descriptor.indexes} if descriptor else set()
    column = next((one for one in INDEXED if f"{DEMO_TABLE}_by_{one}" not in taken), INDEXED[0])
    return f"CREATE INDEX {DEMO_TABLE}_by_{column} ON {DEMO_TABLE} ({column})"
