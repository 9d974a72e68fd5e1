"""Pages of changes: write, preview, submit, watch, decide."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required, permission_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.template.loader import render_to_string
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from catalog.live import snapshot
from catalog.models import Table
from catalog.selectors import live_tables
from catalog.story import change_stream
from catalog.story_list import reading
from changes import change_list, proofs, selectors, services
from changes.ddl.errors import DdlError
from changes.ddl.resolve import NothingToDo
from changes.executor import interventions
from changes.models import Change, Proof, Status
from changes.pages import change_page, plan_json
from changes.pages.plan_ladder import rungs
from changes.pages.refused import check_length, refused
from changes.pages.timeline import points
from changes.plan.rollback import rollback_steps
from changes.records import incident as incidents
from changes.streams import over_time
from changes.submission import approval, tables_ahead
from changes.submission.rate_limits import TooFast

EVENTS_OF_INCIDENT = 300
QUEUE = "queue"
EXAMPLES = (
    (("flights",), "CREATE INDEX flights_by_dest ON flights (dest)"),
    (("flights",), "ALTER TABLE flights ADD COLUMN gate text DEFAULT 'A1', ADD CHECK (gate <> '')"),
    (("flights", "airlines"), "ALTER TABLE flights ADD FOREIGN KEY (carrier) REFERENCES airlines (carrier)"),
    (("flights", "airports"), "ALTER TABLE flights ADD FOREIGN KEY (dest) REFERENCES airports (faa)"),
)
"""Changes of the demo's tables, with the tables that each needs."""
ACTS = {"cancel": services.cancel, "pause": services.pause, "resume": services.resume}


@login_required
@require_GET
def changes(request: HttpRequest) -> HttpResponse:
    asked = change_list.wanted(request.GET)
    found = change_list.page(asked)
    status = 503 if found["search_s_max"] else 200
    if request.GET.get("part") == "list":
        return render(request, "parts/change_list.html", {"wanted": asked, "list": found}, status=status)
    context = snapshot.page_context(QUEUE) | {"list": found}
    choices = {"tables": [table.name for table in live_tables()], "statuses": [status.value for status in Status]}
    return render(request, "changes.html", {"section": "changes", "wanted": asked} | choices | context, status=status)


@login_required
@permission_required("changes.add_change", raise_exception=True)
@require_http_methods(["GET", "POST"])
def new(request: HttpRequest) -> HttpResponse:
    """The editor with the plan; a POST without htmx previews."""
    statement = (request.POST if request.method == "POST" else request.GET).get("statement", "")
    context = {"section": "changes", "statement": statement} | _help()
    return render(request, "change_new.html", context | _plan(statement, request.user.get_username()))


@login_required
@permission_required("changes.add_change", raise_exception=True)
@require_POST
def preview(request: HttpRequest) -> HttpResponse:
    """The plan of the editor's statement; stores nothing."""
    return render(request, "parts/plan.html", _plan(request.POST.get("statement", ""), request.user.get_username()))


@login_required
@permission_required("changes.add_change", raise_exception=True)
@require_GET
def proof(request: HttpRequest, key: str) -> HttpResponse:
    """The explorer's answer so far; no content when the page shows it already (`seen`)."""
    found = Proof.objects.filter(pk=key).first()
    if found is None:
        raise Http404("this proof was not asked for, or not lately")
    shown = proofs.shown(found)
    if shown["verdict"] == request.GET.get("seen") and not shown["is_over"]:
        return HttpResponse(status=204)
    return render(request, "parts/proof.html", {"proof": shown})


@login_required
@permission_required("changes.add_change", raise_exception=True)
@require_POST
def submit(request: HttpRequest) -> HttpResponse:
    statement = request.POST.get("statement", "")
    try:
        check_length(statement)
        with services.answered_in_time("nothing was stored"):
            change = services.submit(statement, who=request.user.get_username())
    except (DdlError, NothingToDo, services.ChangeError) as refusal:
        status = 429 if isinstance(refusal, TooFast) else 422
        context = {"section": "changes", "statement": statement} | _help() | refused(statement, refusal)
        return render(request, "change_new.html", context, status=status)
    if change.status == Status.AWAITING:
        messages.info(request, _("Submitted. It awaits approval: somebody other than you has to approve it."))
    return redirect("change", change.pk)


@login_required
@require_GET
def change(request: HttpRequest, change_id: int) -> HttpResponse:
    stream = change_stream(change_id)
    try:
        snapshot.check_may_follow(request.user, stream)
    except snapshot.NoSuchStream as absent:
        raise Http404(str(absent)) from absent
    return render(request, "change.html", {"section": "changes"} | snapshot.page_context(stream))


@login_required
@permission_required("changes.change_change", raise_exception=True)
@require_http_methods(["GET", "POST"])
def act(request: HttpRequest, change_id: int, intervention: str) -> HttpResponse:
    """Shows the effect; performs it on POST. 409 with the reason when refused."""
    found = get_object_or_404(Change, pk=change_id)
    if intervention not in ACTS:
        raise Http404(f"there is nothing called {intervention}")
    who, may_steer_all = request.user.get_username(), selectors.may_steer_all(request.user)
    if request.method == "GET":
        refusal = interventions.why_not_whose(found.who, who, may_steer_all=may_steer_all)
        return _before_acting(request, found, intervention, refusal)
    try:
        ACTS[intervention](change_id, who=who, may_steer_all=may_steer_all)
    except services.ChangeError as error:
        found.refresh_from_db()
        return _before_acting(request, found, intervention, str(error))
    answers = {"cancel": _("It will roll back."), "pause": _("It will pause."), "resume": _("It goes on.")}
    messages.success(request, answers[intervention])
    return redirect("change", change_id)


@login_required
@require_GET
def incident(request: HttpRequest) -> HttpResponse:
    try:
        shown = incidents.incident(request.GET)
    except (Change.DoesNotExist, Table.DoesNotExist):
        raise Http404("there is no such change or table") from None
    facts = incidents.facts_of(shown)
    try:
        (events, more), is_too_long = reading.page(shown.part, EVENTS_OF_INCIDENT), False
    except reading.SearchTooLong:
        (events, more), is_too_long = ([], True), True
    context = {
        "section": "changes",
        "incident": shown,
        "longest_h": incidents.LONGEST.total_seconds() / 3600,
        "parts": {
            "over_time": render_to_string(
                "parts/over_time.html", {"part": over_time(facts, is_range=True), "stream": ""}
            )
        },
        "events": events,
        "more": more,
        "search_s_max": reading.SEARCH_S_MAX if is_too_long else None,
    }
    return render(request, "incident.html", context)


@login_required
@permission_required(approval.MAY_APPROVE, raise_exception=True)
@require_http_methods(["GET", "POST"])
def decide(request: HttpRequest, change_id: int, *, is_approved: bool) -> HttpResponse:
    """Shows the plan; approves or rejects on POST. 409 when refused."""
    found = get_object_or_404(Change, pk=change_id)
    who, why = request.user.get_username(), request.POST.get("why", "")
    refusal, is_missing = interventions.why_no_decision(selectors.standing_of(found), owner=found.who, who=who), False
    if request.method == "POST":
        try:
            (approval.approve if is_approved else approval.reject)(change_id, who=who, why=why)
        except approval.NoReason:
            is_missing = True
        except services.ChangeError as error:
            refusal = str(error)
        else:
            messages.success(request, _("Approved: it begins when its turn comes.") if is_approved else _("Rejected."))
            return redirect("change", change_id)
    shown = change_page.view(selectors.change_snapshot(change_id), [])
    context = {"section": "changes", "is_approved": is_approved, "refusal": refusal, "change": shown, "why": why}
    context |= {"is_missing": is_missing, "reason_chars_max": services.REASON_CHARS_MAX}
    return render(request, "change_decide.html", context, status=409 if refusal else 422 if is_missing else 200)


@login_required
@permission_required("changes.change_change", raise_exception=True)
@require_http_methods(["GET", "POST"])
def throttle(request: HttpRequest, change_id: int) -> HttpResponse:
    """Asks for rows per second; sets them on POST. 409 when refused."""
    found = get_object_or_404(Change, pk=change_id)
    who, may_steer_all = request.user.get_username(), selectors.may_steer_all(request.user)
    if request.method == "GET":
        refusal = interventions.why_not_whose(found.who, who, may_steer_all=may_steer_all)
        return _before_throttling(request, found, refusal)
    if "target" in request.POST:
        try:
            slower_ms, kept = interventions.target_in(
                request.POST.get("slower_ms", ""), request.POST.get("kept_percent", "")
            )
            services.move_target(found.pk, slower_ms, kept, who=who, may_steer_all=may_steer_all)
        except (interventions.NoRate, services.ChangeError) as error:
            return _before_throttling(request, found, str(error))
        messages.success(request, _("It keeps to the new target from its next look on."))
        return redirect("change", found.pk)
    typed = request.POST.get("rows", "").strip()
    try:
        rows = None if "off" in request.POST else interventions.rows_per_s_in(typed)
        services.throttle(change_id, rows, who=who, why=request.POST.get("why", ""), may_steer_all=may_steer_all)
    except (interventions.NoRate, services.ChangeError) as error:
        return _before_throttling(request, found, str(error))
    messages.success(request, _("Its next chunks keep the limit.") if rows else _("It has no limit any more."))
    return redirect("change", change_id)


@login_required
@permission_required("changes.add_change", raise_exception=True)
@require_http_methods(["GET", "POST"])
def retry(request: HttpRequest, change_id: int) -> HttpResponse:
    """Shows the change and its failure; submits again on POST. 409 when refused."""
    found = get_object_or_404(Change, pk=change_id)
    refusal, status, others = selectors.why_not_retried(found), 409, []
    if request.method == "POST":
        names_now = request.POST.get("names") == "now"
        try:
            again = services.retry(change_id, who=request.user.get_username(), names_now=names_now)
        except services.OtherElements:
            pass  # the page below asks
        except (DdlError, NothingToDo, services.ChangeError) as error:
            refusal, status = str(error), 429 if isinstance(error, TooFast) else 409
        else:
            messages.success(request, _("It was submitted again."))
            return redirect("change", again.pk)
    change = change_page.view(selectors.change_snapshot(change_id), [])
    if refusal is None:
        with suppress(DdlError, NothingToDo):  # the answer to the form says so
            others = services.namesakes_of(found)
    context = {"section": "changes", "refusal": refusal, "change": change, "others": others}
    is_unasked = request.method == "POST" and refusal is None
    return render(request, "change_retry.html", context, status=200 if refusal is None and not is_unasked else status)


def _before_throttling(request: HttpRequest, found: Change, refusal: str | None) -> HttpResponse:
    run = selectors.writing_run(selectors.runs_of(found.pk))
    refusal = refusal or interventions.why_no_throttle(selectors.standing_of(found), None, is_writing=run is not None)
    shown = change_page.view(selectors.change_snapshot(found.pk), [])
    rows_per_s = 0.0 if run is None else run.pulse.rows_per_s_max or run.pulse.rows_per_s
    at = interventions.nearest_step(rows_per_s) if rows_per_s else len(interventions.THROTTLE_STEPS) - 1
    context = {
        "section": "changes",
        "refusal": refusal,
        "change": shown,
        "p": shown["progress"],
        "steps": interventions.THROTTLE_STEPS,
        "at": at,
        "at_rows": interventions.THROTTLE_STEPS[at],
        "has_rate": bool(rows_per_s),
        "in_force": None if run is None else run.pulse,
        "limits": (interventions.THROTTLE_MIN, interventions.THROTTLE_MAX),
        "target_limits": {
            "slower_ms": interventions.SLOWER_MS_LIMITS,
            "kept_percent": interventions.KEPT_PERCENT_LIMITS,
        },
        "reason_chars_max": services.REASON_CHARS_MAX,
    }
    return render(request, "change_throttle.html", context, status=200 if refusal is None else 409)


def _before_acting(request: HttpRequest, found: Change, intervention: str, refusal: str | None) -> HttpResponse:
    standing = selectors.standing_of(found)
    refusal = refusal or interventions.why_not(interventions.Intervention(intervention), standing)
    steps = (
        rollback_steps(standing.state.plan, standing.state.published)
        if intervention == "cancel" and refusal is None
        else ()
    )
    rollback = [plan_json.step_json(standing.state.plan, number, step) for number, step in enumerate(steps)]
    context = {
        "section": "changes",
        "intervention": intervention,
        "refusal": refusal,
        "change": change_page.view(selectors.change_snapshot(found.pk), []),
        "back": points(rollback, -1),
        "back_steps": rollback,
    }
    return render(request, "change_act.html", context, status=200 if refusal is None else 409)


def _plan(statement: str, who: str) -> dict[str, Any]:
    if not statement.strip():
        return {}
    try:
        check_length(statement)
        foreseen = services.plan_ahead(statement)
        services.check_sandbox_is_of(who, foreseen.plan)
    except (DdlError, NothingToDo, services.ChangeError) as refusal:
        return refused(statement, refusal)
    plan = services.described(statement, foreseen)
    shown = proofs.shown(proofs.ask(foreseen.plan))
    awaits = settings.CHANGES_NEED_APPROVAL and (foreseen.plan.base is None or services.needs_approval(foreseen.plan))
    return {"plan": plan, "ladder": rungs(plan["steps"]), "proof": shown, "needs_approval": awaits}


def _help() -> dict[str, Any]:
    tables = {
        table.name: [column.name for column in table.public_columns] for table in tables_ahead.catalog_view().tables
    }
    return {
        "tables": [{"name": name, "columns": columns} for name, columns in tables.items()],
        "examples": [statement for names, statement in EXAMPLES if set(names) <= tables.keys()],
    }
