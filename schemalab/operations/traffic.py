"""Traffic from the page: started as a process of the cluster, watched, stopped. Not a Celery task: it lives for minutes
and must end with the cluster, while an unacknowledged task would begin again."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required, permission_required
from django.db import OperationalError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from catalog import descriptor as descriptors
from catalog.live import snapshot
from catalog.models import Descriptor, Table
from catalog.story import CLUSTER
from catalog.text.mistakes import in_words
from catalog.text.numbers import whole_number
from nodes.models import TrafficRun
from nodes.people.rights import MAY_WRITE
from nodes.traffic import runs
from nodes.traffic.book import WRITES_PERCENT, NotSuitable, shape_of
from schemalab.operations.faults import back_to
from schemalab.supervisor.control import CommandRefused, NotRunning, send

DEMO_TABLE = "flights"
DEFAULTS = {"table": DEMO_TABLE, "clients": "1", "writes": str(WRITES_PERCENT), "minutes": "10"}
DIGITS_MAX = 6


@login_required
@require_GET
def page(request: HttpRequest) -> HttpResponse:
    asked = request.GET.get("table")
    return _page(request, DEFAULTS | ({"table": asked} if asked else {}))


@login_required
@permission_required(MAY_WRITE, raise_exception=True)
@require_POST
def start(request: HttpRequest) -> HttpResponse:
    wanted = {name: request.POST.get(name, otherwise).strip() for name, otherwise in DEFAULTS.items()}
    try:
        run = runs.ask(
            wanted["table"],
            clients=_number(wanted["clients"]),
            writes_percent=_number(wanted["writes"]),
            minutes=_number(wanted["minutes"]),
            who=request.user.get_username(),
        )
        _begin(run)
    except (runs.TrafficRefused, OperationalError) as refused:
        return _page(request, wanted, refusal=in_words(refused))
    messages.success(request, _("Traffic on %(table)s starts. It ends by itself.") % {"table": run.table_name})
    return redirect(back_to(request))


@login_required
@permission_required(MAY_WRITE, raise_exception=True)
@require_http_methods(["GET", "POST"])
def stop(request: HttpRequest, number: int) -> HttpResponse:
    run = TrafficRun.objects.filter(pk=number).first()
    if run is None:
        raise Http404(f"there is no run {number} of traffic")
    refusal = runs.why_not_stopped(run)
    if request.method == "POST":
        try:
            runs.stop(number, who=request.user.get_username())
            messages.success(request, _("Traffic on %(table)s ends in a moment.") % {"table": run.table_name})
            return redirect(back_to(request))
        except (runs.TrafficRefused, OperationalError) as refused:
            refusal = in_words(refused)
    context = {"section": "cluster", "run": run, "refusal": refusal, "back": _asked_from(request)}
    return render(request, "traffic_stop.html", context, status=200 if refusal is None else 409)


def _asked_from(request: HttpRequest) -> str:
    """The page whose link was followed; not the live part itself."""
    came_from = request.headers.get("Referer", "")
    path = urlsplit(came_from).path
    is_ours = url_has_allowed_host_and_scheme(came_from, {request.get_host()})
    return path if request.method == "GET" and is_ours and path != request.path else back_to(request)


def _begin(run: TrafficRun) -> None:
    """Raises `TrafficRefused` when no supervisor starts it."""
    try:
        send(settings.LOCATIONS.control_socket, "traffic", run=run.pk)
    except (CommandRefused, NotRunning, OSError) as refused:
        runs.finish(run, str(refused))
        raise runs.TrafficRefused(f"{refused}; or in a terminal: manage.py traffic --table {run.table_name}") from None


def _number(typed: str) -> int:
    number = whole_number(typed, digits_max=DIGITS_MAX)
    if number is None:
        raise runs.TrafficRefused(f"{typed[:DIGITS_MAX]!r} is no whole number")
    return number


def _page(request: HttpRequest, wanted: dict[str, str], *, refusal: str | None = None) -> HttpResponse:
    context: dict[str, Any] = {
        "section": "cluster",
        "wanted": wanted,
        "refusal": refusal,
        "tables": suitable_tables(),
        "clients_max": runs.CLIENTS_MAX,
        "minutes_max": runs.MINUTES_MAX,
        "back": back_to(request),
    }
    status = 200 if refusal is None else 409
    return render(request, "traffic.html", context | snapshot.page_context(CLUSTER, ("traffic",)), status=status)


def suitable_tables() -> list[str]:
    tables = Table.objects.exclude(state=Table.State.DROPPED).filter(sandbox_of=None)
    newest = Descriptor.objects.filter(table__in=tables).order_by("table_id", "-version").distinct("table_id")
    found = []
    for name, body in newest.values_list("table__name", "body"):
        try:
            shape_of(descriptors.from_json(body))
        except NotSuitable:
            continue
        found.append(name)
    return sorted(found)
