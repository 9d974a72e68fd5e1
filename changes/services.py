"""Interventions in changes: submit, cancel, pause, resume, one transaction each, with its story. Locks follow L14:
submissions one at a time, then the change's row, then the story's counters. A cancel and the publish that would make it
too late lock the same row, so exactly one wins (X6)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from django.conf import settings
from django.db import transaction

from catalog import clock
from catalog.descriptor import Descriptor
from catalog.models import Table
from catalog.selectors import sandboxes, tables_beside
from catalog.services import OutOfTime, append_event, control_transaction
from catalog.text.descriptors import elements
from changes import selectors
from changes.ddl.actions import Action, CreateTable
from changes.ddl.bindings import names_in
from changes.ddl.errors import DdlError
from changes.ddl.resolve import resolve
from changes.ddl.statements import parse
from changes.executor.interventions import Intervention, why_no_target, why_no_throttle, why_not, why_not_whose
from changes.executor.state import name_of
from changes.models import Approval, Change, Status
from changes.notices import notify, send_driver, streams_of
from changes.pages.plan_json import expected_json, plan_json
from changes.plan.model import Plan, plan_from_json, with_rows
from changes.plan.namesakes import namesakes
from changes.planning.alter.foreign_keys import sandbox_refusal
from changes.planning.planner import make_plan
from changes.planning.tables import Tables
from changes.records import paces
from changes.submission import tables_ahead
from changes.submission.rate_limits import check_pace
from expressions.typed import Context
from spark_tasks.services import aim_run, throttle_run
from storage.postgres import take_spare_table

SUBMISSIONS = (0x5C4E, 1)
"""The advisory lock under which names are looked up and taken: one submission at a time."""
QUEUED_MAX = 100
AWAITING_MAX = 100
"""Changes of the whole cluster that await approval: each is shown to all people who may approve it."""
REQUESTS_MAX = 20
SANDBOXES_MAX = 3
"""Of one person, those that are being made or dropped included."""
REASON_CHARS_MAX = 200


class ChangeError(Exception):
    """Something cannot be done to a change. `sqlstate` is for SQL clients."""

    sqlstate = "55000"


class NoSuchChange(ChangeError):
    """No change has this number."""


class TooLate(ChangeError):
    """The change is past its point of no return (X6), or has ended."""


class NotYours(ChangeError):
    """Only its submitter and operators may touch a change."""

    sqlstate = "42501"


class TryAgain(ChangeError):
    """Nothing was stored; the same may succeed a moment later."""

    sqlstate = "40001"


class TooMany(ChangeError):
    """Too many changes wait for a table, or too many requests for a change."""

    sqlstate = "53400"


# --- submit


def submit(
    statement: str,
    *,
    who: str,
    is_sandbox: bool = False,
    may_change_all: bool = False,
    is_approved: bool = False,
    check: Callable[[], None] = lambda: None,
) -> Change:
    """Stores the change that `statement` asks for, and starts it. `check` may raise, while no other submission runs.
    Raises `DdlError` (with `TooFast`), `NothingToDo`, `TooMany`, and `NotYours` for a sandbox of another person, unless
    `may_change_all`. Only what is stored counts against the rate. A refused statement stores nothing (X5).
    `is_sandbox`: the new table is a sandbox of `who`. `is_approved`: needs no approval."""
    parsed = parse(statement)
    with control_transaction() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s, %s)", SUBMISSIONS)
        check()
        view = tables_ahead.catalog_view()
        action = resolve(parsed, view)
        check_pace(who)
        plan = _plan(action, view, cursor, sandbox_of=_sandbox_owner(action, who) if is_sandbox else None)
        if not may_change_all:
            check_sandbox_is_of(who, plan)
        ahead = selectors.open_changes_of(plan.table_ids)
        check_queue(plan, ahead)
        awaits = not is_approved and needs_approval(plan, is_sandbox=is_sandbox)
        if awaits and Change.objects.filter(status=Status.AWAITING).count() >= AWAITING_MAX:
            raise TooMany(f"{AWAITING_MAX} changes await approval already; approve, reject or cancel some")
        change = Change.objects.create(
            table_id=plan.table_id,
            table_ids=list(plan.table_ids),
            table_name=plan.table,
            statement=statement,
            names=names_in(action, view).to_json(),
            plan=plan.to_json(),
            who=who,
            status=Status.AWAITING if awaits else Status.QUEUED,
        )
        if change.status == Status.AWAITING:
            Approval.objects.create(change=change)
        _append_submitted(change, plan, ahead)
        if change.status == Status.QUEUED:
            transaction.on_commit(lambda: send_driver(change.pk))
    return change


class OtherElements(ChangeError):
    """The names in a statement mean other elements now."""


def retry(change_id: int, *, who: str, names_now: bool = False) -> Change:
    """Submits the statement of a failed or cancelled change again, as a new change of `who`. Raises `NoSuchChange`,
    `ChangeError`, and what `submit` raises; `OtherElements` unless `names_now`."""
    old = Change.objects.filter(pk=change_id).first()
    if old is None:
        raise NoSuchChange(f"there is no change {change_id}")

    def check() -> None:
        refusal = selectors.why_not_retried(old)
        if refusal is not None:
            raise ChangeError(refusal)
        others = [] if names_now else namesakes_of(old)
        if others:
            verb = "is" if len(others) == 1 else "are"
            raise OtherElements(f"{', '.join(others)} {verb} no longer what change {old.pk} named")

    makes_table = isinstance(parse(old.statement).action, CreateTable)
    is_sandbox = makes_table and Table.objects.filter(pk=old.table_id, sandbox_of__isnull=False).exists()
    with answered_in_time("nothing was stored"):
        return submit(old.statement, who=who, is_sandbox=is_sandbox, check=check)


def namesakes_of(old: Change) -> list[str]:
    """Elements that a change named, whose names mean others now. Raises what `submit` raises."""
    return namesakes(plan_from_json(old.plan), plan_ahead(old.statement).plan)


def check_queue(plan: Plan, ahead: Sequence[Change]) -> None:
    if len(ahead) >= QUEUED_MAX:
        raise TooMany(f"{len(ahead)} changes of {plan.table} are waiting already; cancel one, or wait")


def needs_approval(plan: Plan, *, is_sandbox: bool = False) -> bool:
    """True when a second person has to approve the plan: never on sandboxes."""
    if not settings.CHANGES_NEED_APPROVAL or is_sandbox:
        return False
    return Table.objects.filter(pk__in=plan.table_ids, sandbox_of=None).exists()


def _sandbox_owner(action: Action, who: str) -> str:
    assert isinstance(action, CreateTable), "a table becomes a sandbox when it is made, never later"
    count = sandboxes().filter(sandbox_of=who).count()
    if count >= SANDBOXES_MAX:
        raise TooMany(f"{who} has {count} sandbox tables, which is the limit; drop one, or wait until one is dropped")
    return who


def check_sandbox_is_of(who: str, plan: Plan) -> None:
    """Raises `NotYours` when the plan moves another person's sandbox."""
    theirs = Table.objects.filter(pk__in=plan.table_ids, sandbox_of__isnull=False).exclude(sandbox_of=who).first()
    if theirs is not None:
        owner = theirs.sandbox_of
        raise NotYours(f"{theirs.name} is a sandbox of {owner}: only {owner} may change it; make one of your own")


def _plan(action: Action, view: Tables, cursor: Any, *, sandbox_of: str | None) -> Plan:
    if isinstance(action, CreateTable):
        if sandbox_of is not None and action.foreign_keys:
            raise sandbox_refusal(action.table.text, action.foreign_keys[0])
        make_plan(action, None, table_id=0, tables=view)  # what can't be planned takes no name
        table_id = reserve(action.table.text, cursor, sandbox_of=sandbox_of)
        return make_plan(action, None, table_id=table_id, tables=view)
    return plan_on(view.named(action.table.text), action, clock.now(), view)


def plan_on(
    base: Descriptor | None, action: Action, at: datetime, tables: Tables, *, table_id: int | None = None
) -> Plan:
    """The plan on a table; defaults of added columns have the time of submission `created_at`. A new table has no
    `base` but a reserved `table_id`."""
    plan = make_plan(action, base, table_id=table_id, context=Context(now=at), tables=tables)
    return with_rows(plan, tables_ahead.estimate_rows(base).rows)


def reserve(name: str, cursor: Any, *, sandbox_of: str | None = None) -> int:
    """A new table's id, with its storage made and its name taken; `sandbox_of` owns it."""
    table_id = take_spare_table(cursor)
    Table.objects.create(id=table_id, name=name, state=Table.State.RESERVED, sandbox_of=sandbox_of)
    return table_id


def _append_submitted(change: Change, plan: Plan, ahead: list[Change]) -> None:
    payload = {"who": change.who, "change": change.pk, "statement": change.statement, "table": change.table_name}
    append_event("change submitted", change.table_name, payload, streams_of(change))
    if change.status == Status.AWAITING:
        details = {"change": change.pk, "table": change.table_name, "submitter": change.who}
        append_event("change awaiting approval", change.table_name, details, streams_of(change))
    elif ahead:
        append_queued(change, ahead[-1])
    if (
        change.status == Status.QUEUED
        and plan.drops_table
        and (needless := selectors.needless(plan, selectors.behind(change)))
    ):
        details = {"change": change.pk, "table": change.table_name, "needless": needless}
        append_event("changes needless", change.table_name, details, streams_of(change))
    notify(change.pk)


def append_queued(change: Change, behind: Change) -> None:
    """Names the shared tables as this change knows them."""
    plan = plan_from_json(change.plan)
    shared = [name_of(plan, table_id) for table_id in change.table_ids if table_id in behind.table_ids]
    payload = {"change": change.pk, "behind": behind.pk, "table": " and ".join(shared)}
    append_event("change queued", change.table_name, payload, streams_of(change))


def preview(statement: str) -> dict[str, Any]:
    """The plan of a statement and what it would queue behind; raises what `submit` raises, stores nothing."""
    return described(statement, plan_ahead(statement))


@dataclass(frozen=True, slots=True)
class Foreseen:
    """A plan that was not submitted; `is_exact`: its rows were counted."""

    plan: Plan
    is_exact: bool


def plan_ahead(statement: str) -> Foreseen:
    """The plan that `submit` would make now, with its refusals but `check_sandbox_is_of`."""
    view = tables_ahead.catalog_view()
    action = resolve(parse(statement), view)
    if isinstance(action, CreateTable):
        return Foreseen(make_plan(action, None, table_id=0, tables=view), is_exact=True)
    base = view.named(action.table.text)
    estimate = tables_ahead.estimate_rows(base)
    return Foreseen(with_rows(make_plan(action, base, tables=view), estimate.rows), estimate.is_exact)


def described(statement: str, foreseen: Foreseen) -> dict[str, Any]:
    plan = foreseen.plan
    behind = [selectors.change_line(change) for change in selectors.open_changes_of(plan.table_ids)]
    observed = paces.observed()
    shown = plan_json(plan, observed) | expected_json(plan, observed)
    created = {"elements": elements(plan.result, tables_beside([plan.result]))} if plan.base is None else {}
    return shown | created | {"statement": statement, "rows_exact": foreseen.is_exact, "behind": behind}


# --- the start of a queued change


def end_before_start(
    change: Change, cursor: Any, status: Status, *, error: DdlError | None = None, who: str = ""
) -> None:
    """Ends a change that has published nothing: drops its reserved table, drives the changes behind it."""
    change.status = status
    change.error = error.to_json() if error else None
    cursor.execute("SELECT clock_timestamp()")
    change.ended_at = cursor.fetchone()[0]
    change.save(update_fields=["status", "error", "ended_at"])
    Table.objects.filter(pk=change.table_id, state=Table.State.RESERVED).update(state=Table.State.DROPPED)
    payload = {"change": change.pk, "table": change.table_name, "who": who, "error": error.message if error else None}
    append_event(f"change {change.status}", change.table_name, payload, streams_of(change))
    notify(change.pk)
    for change_id in selectors.following(change.table_ids):
        transaction.on_commit(partial(send_driver, change_id))


# --- requests


def cancel(change_id: int, *, who: str, may_steer_all: bool = True) -> None:
    """Rolls the change back. Raises `TooLate` past the point of no return (X6)."""
    with _locked(change_id, Intervention.CANCEL, who, may_steer_all) as (change, cursor):
        if change.status in (Status.AWAITING, Status.QUEUED):
            end_before_start(change, cursor, Status.CANCELLED, who=who)
        else:
            _request(change, "cancel", who)


def pause(change_id: int, *, who: str, may_steer_all: bool = True) -> None:
    """Stops the change between two steps, or its reorganisation between two chunks. Raises `TooLate`."""
    with _locked(change_id, Intervention.PAUSE, who, may_steer_all) as (change, _):
        _request(change, "pause", who)


def resume(change_id: int, *, who: str, may_steer_all: bool = True) -> None:
    """Continues a paused change, also one that waits for a person. Raises `TooLate`."""
    with _locked(change_id, Intervention.RESUME, who, may_steer_all) as (change, _):
        _request(change, "resume", who)


def throttle(change_id: int, rows_per_s: int | None, *, who: str, why: str = "", may_steer_all: bool = True) -> None:
    """Limits the writing reorganisation to `rows_per_s`; None: no limit (R11). In force from the next chunk until that
    reorganisation ends. Raises `ChangeError`."""
    with _theirs(change_id, who, may_steer_all) as (change, _):
        run = selectors.writing_run(selectors.runs_of(change_id))
        refusal = why_no_throttle(selectors.standing_of(change), rows_per_s, is_writing=run is not None)
        if refusal is not None or run is None:
            raise ChangeError(refusal)
        why = why.strip()[:REASON_CHARS_MAX] if rows_per_s is not None else ""
        throttle_run(run.pk, rows_per_s, reason=why)
        kind = "change unthrottled" if rows_per_s is None else "change throttled"
        payload = {"change": change_id, "who": who, "rows": rows_per_s, "why": why}
        append_event(kind, change.table_name, payload, streams_of(change))
        notify(change_id)


def move_target(change_id: int, slower_ms: int, kept_percent: int, *, who: str, may_steer_all: bool = True) -> None:
    """Limits the effect of its reorganisations on other statements. Raises `ChangeError`."""
    with _theirs(change_id, who, may_steer_all) as (change, _):
        run = selectors.open_run(selectors.runs_of(change_id))
        standing = selectors.standing_of(change)
        refusal = why_no_target(standing, slower_ms, kept_percent, is_working=run is not None)
        if refusal is not None or run is None:
            raise ChangeError(refusal)
        aim_run(run.pk, slower_ms_max=float(slower_ms), throughput_min=kept_percent / 100)
        payload = {"change": change_id, "who": who, "slower_ms": slower_ms, "kept_percent": kept_percent}
        append_event("change target moved", change.table_name, payload, streams_of(change))
        notify(change_id)


@contextmanager
def _locked(change_id: int, asked: Intervention, who: str, may_steer_all: bool) -> Iterator[tuple[Change, Any]]:
    """The change under its row's lock, when this may be done to it. Raises `NoSuchChange`, `NotYours`, `TooLate`,
    `ChangeError`."""
    with _theirs(change_id, who, may_steer_all) as (change, cursor):
        standing = selectors.standing_of(change)
        refusal = why_not(asked, standing)
        if refusal is not None:
            is_late = standing.has_ended or asked is Intervention.CANCEL
            raise TooLate(refusal) if is_late else ChangeError(refusal)
        yield change, cursor


@contextmanager
def _theirs(change_id: int, who: str, may_steer_all: bool) -> Iterator[tuple[Change, Any]]:
    """The change under its row's lock: decisions here hold against any publish (X6). Raises `NoSuchChange`,
    `NotYours`."""
    with answered_in_time(f"change {change_id} is as it was"), control_transaction() as cursor:
        change = Change.objects.select_for_update().filter(pk=change_id).first()
        if change is None:
            raise NoSuchChange(f"there is no change {change_id}")
        not_theirs = why_not_whose(change.who, who, may_steer_all=may_steer_all)
        if not_theirs is not None:
            raise NotYours(f"change {change_id} is not touched: {not_theirs}")
        yield change, cursor


@contextmanager
def answered_in_time(so: str) -> Iterator[None]:
    """Raises `TryAgain` for a database that takes too long."""
    try:
        yield
    except OutOfTime as error:
        raise TryAgain(f"{so}: the database took too long to answer; try again") from error


def _request(change: Change, kind: str, who: str) -> None:
    if len(change.wishes) >= REQUESTS_MAX:
        raise TooMany(f"change {change.pk} has {len(change.wishes)} pending requests: try again once they are done")
    change.wishes = [*change.wishes, {"wish": kind, "who": who}]
    change.save(update_fields=["wishes"])
    notify(change.pk)
    if change.status in (Status.PAUSED, Status.QUEUED):
        transaction.on_commit(lambda: send_driver(change.pk))
