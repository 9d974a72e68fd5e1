"""The page "with your own tables": DDL of one's own, its plan, what to leave out, and the explorer's answer.

Nothing is stored but the question. Signed-in readers may also name the cluster's tables, of which only the descriptors
are read, and come from a change: then the plan is the change's. Planning time is bounded for each account, each member
of a course and each address without either (`lab.own.allowance`).
"""

import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from catalog.descriptor import Descriptor
from catalog.text.numbers import whole_number
from catalog.text.sentence import in_other_words
from changes.ddl.errors import DdlError
from changes.ddl.resolve import CatalogView
from changes.pages.plan_json import plan_json
from changes.pages.plan_ladder import rungs
from changes.pages.refused import check_length, refused
from changes.plan.model import plan_from_json
from lab import services
from lab.classroom.selectors import learner_of, member_here
from lab.models import Question
from lab.own.allowance import Allowances, PlanningTimeUsed
from lab.own.cases import STEPS, Case, Cases, Omission, cases_of, states_of
from lab.own.findings import finding_of
from lab.own.orders import order_of
from lab.own.statements import NO_TABLES, PlannedStatement, check_moves, planned
from lab.pages.addresses import address_of
from lab.pages.ladder_form import free_builder
from lab.pages.questions import worded
from lab.pages.words import say
from lab.questions import search
from lab.sessions.as_json import to_json
from lab.sessions.model.setups import PROTECTS, model_of, names_of
from lab.sessions.names import CHILD_TABLE, COLUMN, KEY, PARENT_KEY, PARENT_TABLE, TABLE, Names
from lab.sessions.session import BadSession
from lab.sessions.setups import setup_named
from lab.sessions.shown import NOTHING
from nodes.people.attempts import network_of

LINK_CHARACTERS_MAX = 2_000
"""A statement in a link; longer ones are sent by the form."""

CLUSTER = "cluster"
DIGITS_MAX = 9
PICKED_MAX = 100
CASES_SHOWN_MAX = 6
EXAMPLES = (
    "CREATE TABLE flights (flight bigint PRIMARY KEY, dest text);\nCREATE INDEX flights_by_dest ON flights (dest);",
    "CREATE TABLE people (id bigint PRIMARY KEY, email text);\nCREATE UNIQUE INDEX people_by_email ON people (email);",
    "CREATE TABLE parcels (id bigint PRIMARY KEY);\n"
    "ALTER TABLE parcels ADD COLUMN state text DEFAULT 'new' CHECK (state <> '');",
    "CREATE TABLE airports (faa text PRIMARY KEY);\nCREATE TABLE trips (id bigint PRIMARY KEY, dest text);\n"
    "ALTER TABLE trips ADD FOREIGN KEY (dest) REFERENCES airports;",
)


PROCESSOR_S = getattr(time, "thread_time", time.process_time)
"""The clock of this thread's processor time. WebAssembly has one thread, and only the process's clock."""

ALLOWANCES = Allowances()


@dataclass
class Form:
    statement: str = ""
    tables: str = ""
    at: int = 0
    change: int = 0
    """The change whose plan is looked at; 0: that of the text."""

    picked: tuple[str, ...] = ()
    """The tables of the cluster that the text may name, and those that these refer to; none: all of them."""


@require_http_methods(["GET", "POST"])
def own(request: HttpRequest) -> HttpResponse:
    form = _form(request, request.POST if request.method == "POST" else request.GET)
    try:
        if request.method == "GET" and not form.change:
            check_length(form.statement, LINK_CHARACTERS_MAX)
        with _planning(request, form):
            context = _planned(form)
    except PlanningTimeUsed as used:
        return _too_much(request, _page(request, form), used)
    except DdlError as refusal:
        status = 422 if request.method == "POST" else 200
        return render(request, "lab/own.html", _page(request, form) | _refused(form, refusal), status=status)
    return render(request, "lab/own.html", _page(request, form) | context)


def _refused(form: Form, refusal: DdlError) -> dict[str, Any]:
    context, hint = refused(form.statement, refusal), refusal.hint
    context["refusal"]["message"] = in_other_words(refusal.message, _)
    context["refusal"]["hint"] = None if hint is None else in_other_words(hint, _)
    return context


@require_POST
def ask(request: HttpRequest) -> HttpResponse:
    """The question about a case; its answer in place, or on a page of its own without JavaScript."""
    form = _form(request, request.POST)
    try:
        with _planning(request, form):
            session = _case(form, _number(request.POST.get("case", ""))).session(request.POST.getlist("leave_out"))
    except PlanningTimeUsed as used:
        return _too_much(request, {} if _is_part(request) else _page(request, form), used)
    except DdlError as refusal:
        context = _refused(form, refusal)
        if _is_part(request):
            return render(request, "parts/refusal.html", context, status=422)
        return render(request, "lab/own.html", _page(request, form) | context, status=422)
    except BadSession as problem:
        if _is_part(request):
            return render(request, "parts/refusal.html", refused(form.statement, problem), status=404)
        raise Http404(str(problem)) from problem
    made = services.ask(learner_of(request, named=True).owner, search.Question(session, any_rows=True))
    if _is_part(request):
        return render(request, "lab/parts/own_answer.html", _answer(made))
    return redirect("own-answer", made.pk)


@require_GET
def answer(request: HttpRequest, pk: int) -> HttpResponse:
    found = get_object_or_404(Question, pk=pk, owner=learner_of(request).owner)
    if "session" not in found.asked:
        raise Http404("this is a question about something else")
    template = "lab/parts/own_answer.html" if _is_part(request) else "lab/own_answer.html"
    return render(request, template, {"section": "lab"} | _answer(found))


@contextmanager
def _planning(request: HttpRequest, form: Form) -> Iterator[None]:
    """Count the processor time of a block as planning of this visitor's. Raises `PlanningTimeUsed` before it."""
    if not form.statement.strip():
        yield
        return
    visitor = _visitor(request)
    ALLOWANCES.check(visitor, time.monotonic())
    began = PROCESSOR_S()
    try:
        yield
    finally:
        ALLOWANCES.use(visitor, PROCESSOR_S() - began, time.monotonic())


def _visitor(request: HttpRequest) -> str:
    """The account, or the member of a course; all others by their address: a new session is no new visitor."""
    if request.user.is_authenticated:
        return f"user {request.user.pk}"
    member = member_here(request)
    return f"member {member.pk}" if member else network_of(request.META["REMOTE_ADDR"])


def _too_much(request: HttpRequest, context: dict[str, Any], used: PlanningTimeUsed) -> HttpResponse:
    message = _("Your statements have used the planning time that this page has for one visitor.")
    hint = _("Try again in %(seconds)s s.") % {"seconds": used.wait_s}
    template = "parts/refusal.html" if _is_part(request) else "lab/own.html"
    context |= {"refusal": {"message": message, "hint": hint}}
    refusal = render(request, template, context, status=429)
    refusal["Retry-After"] = str(used.wait_s)
    return refusal


def _is_part(request: HttpRequest) -> bool:
    return request.headers.get("HX-Request") == "true"


def _form(request: HttpRequest, sent: QueryDict) -> Form:
    picked = tuple(sent.getlist("table")[:PICKED_MAX]) if request.user.is_authenticated else ()
    tables = CLUSTER if picked or (sent.get("tables") == CLUSTER and request.user.is_authenticated) else ""
    form = Form(sent.get("statement", "").replace("\r\n", "\n"), tables, _number(sent.get("at", "")), picked=picked)
    number = _number(sent.get("change", ""))
    if number:
        from lab.pages.why_a_change_waits import change_for  # a cluster's changes: the lab in a browser has none

        change = change_for(request, number)
        form.statement, form.change = change.statement, change.pk
    return form


def _number(typed: str) -> int:
    return whole_number(typed, digits_max=DIGITS_MAX) or 0


def _page(request: HttpRequest, form: Form) -> dict[str, Any]:
    tables = _there(Form(tables=CLUSTER)).tables if request.user.is_authenticated else ()
    known = [
        {
            "name": one.name,
            "columns": [column.name for column in one.public_columns],
            "is_picked": one.name in form.picked,
        }
        for one in tables
    ]
    return {"section": "lab", "form": form, "examples": EXAMPLES, "tables": known}


def _there(form: Form) -> CatalogView:
    if form.tables != CLUSTER:
        return NO_TABLES
    from changes.submission import tables_ahead  # a cluster's tables: the lab in a browser has none

    view = tables_ahead.catalog_view()
    return _only(view, form.picked) if form.picked else view


def _only(view: CatalogView, names: Collection[str]) -> CatalogView:
    """These tables, and all that they are connected with by foreign keys: a change of one may move the other."""
    kept, added = set[int](), {one.table_id for one in view.tables if one.name in names}
    while added:
        kept |= added
        reached = (other for one in view.tables if one.table_id in added for other in _connected(one))
        added = {other for other in reached if other not in kept}
    return CatalogView(tuple(one for one in view.tables if one.table_id in kept), storages=view.storages)


def _connected(table: Descriptor) -> Iterator[int]:
    yield from (one.references for one in table.constraints if one.references is not None)


def _statements(form: Form) -> tuple[PlannedStatement, ...]:
    if form.change:
        from changes.models import Change

        plan = plan_from_json(Change.objects.get(pk=form.change).plan)
        check_moves(plan)
        return (PlannedStatement(form.statement, plan),)
    check_length(form.statement)
    return planned(form.statement, _there(form)) if form.statement.strip() else ()


def _chosen(form: Form, statements: tuple[PlannedStatement, ...]) -> int:
    having = [number for number, one in enumerate(statements, 1) if one.plan is not None]
    return form.at if form.at in having else having[-1] if having else 0


def _planned(form: Form) -> dict[str, Any]:
    statements = _statements(form)
    chosen = _chosen(form, statements)
    form.at = chosen
    found: dict[str, Any] = {"statements": statements, "chosen": chosen}
    plan = statements[chosen - 1].plan if chosen else None
    if plan is None:
        return found
    shown, cases = plan_json(plan), cases_of(plan)
    return found | {
        "plan": shown,
        "ladder": [rung | {"tables": []} for rung in rungs(shown["steps"])],
        "cases": [_case_json(number, one) for number, one in enumerate(cases.cases[:CASES_SHOWN_MAX])],
        "without_model": [say(one) for one in cases.without_model],
    }


def _case(form: Form, number: int) -> Case:
    statements = _statements(form)
    chosen = _chosen(form, statements)
    plan = statements[chosen - 1].plan if chosen else None
    cases = Cases(()) if plan is None else cases_of(plan)
    if number >= min(len(cases.cases), CASES_SHOWN_MAX):
        raise BadSession(f"there is no case {number}")
    return cases.cases[number]


def _case_json(number: int, case: Case) -> dict[str, Any]:
    return {
        "number": number,
        "title": case.title,
        "alike": case.alike,
        "steps": [_omission_json(one) for one in case.omissions if one.is_step],
        "rules": [_omission_json(one) for one in case.omissions if not one.is_step],
        "stands_for": _stands_for(case.names),
        "ladder": _ladder(case),
        "ladder_id": f"ladder-case-{number}",
    }


def _ladder(case: Case) -> Mapping[str, Any] | None:
    order = order_of(case.model)
    if order is None:
        return None
    built = free_builder(order.element, order.ground, order.nodes)
    known = [tile["value"] for tile in built["tiles"]]
    if not set(order.tiles) <= set(known):
        return None
    return {**built, "order": order.tiles, "names": case.names.to_json(), "wraps": True}


def _omission_json(one: Omission) -> dict[str, str]:
    return {"id": one.id, "what": say(one.what), "protects": say(one.protects)}


def _left_out_json(rule: str) -> dict[str, str]:
    """A rule that is left out; of one that asks for a step, `what` names it."""
    _, what = STEPS.get(rule, (None, NOTHING))
    return {"id": rule, "what": say(what), "protects": say(PROTECTS[rule])}


def _stands_for(names: Names) -> dict[str, Any]:
    words = names.words
    return {
        "table": words.get(TABLE) or words.get(CHILD_TABLE, ""),
        "key": words.get(KEY, ""),
        "column": words.get(COLUMN, ""),
        "parent": words.get(PARENT_TABLE, ""),
        "parent_key": words.get(PARENT_KEY, ""),
        "values": names.values,
    }


def _answer(question: Question) -> dict[str, Any]:
    shown = worded(question)
    if shown["state"] != "done":
        return {"question": shown}
    session = search.from_json(question.asked).session
    setup = setup_named(session.setup)
    context: dict[str, Any] = {
        "question": shown,
        "left_out": [_left_out_json(rule) for rule in sorted(session.left_out)],
        "states": " \u2192 ".join(" + ".join(map(say, stage)) for stage in states_of(model_of(setup, session)[0])),
        "stands_for": _stands_for(names_of(setup, session)),
        "stage": address_of("stage", session, 0),
    }
    finding = finding_of(session, shown)
    if finding is None:
        return context
    return context | {
        "lines": to_json(finding.lines, say),
        "broken": to_json(finding.broken, say),
        "probe": to_json(finding.probe, say),
        "stage": address_of("stage", finding.session),
        "script": address_of("stage-export", finding.session, form="script"),
    }
