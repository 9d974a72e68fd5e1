"""Approval by a second person (CHANGES_NEED_APPROVAL). An unapproved change is in no queue, and no plan depends on it;
only the name of a new table is taken from the start. It is planned again when approved, and queued behind the changes
that came in between; its names mean what they meant at submission (L12)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import transaction

from catalog.services import append_event, control_transaction
from changes import selectors
from changes.ddl.bindings import AsNamed, names_from_json
from changes.ddl.errors import DUPLICATE_OBJECT, DdlError
from changes.ddl.resolve import NothingToDo
from changes.driver.start import action_of
from changes.executor.interventions import why_no_decision
from changes.models import Approval, Change, Status
from changes.notices import notify, send_driver, streams_of
from changes.plan.model import Plan, plan_from_json
from changes.services import (
    REASON_CHARS_MAX,
    SUBMISSIONS,
    ChangeError,
    NoSuchChange,
    answered_in_time,
    append_queued,
    check_queue,
    end_before_start,
    plan_on,
)
from changes.submission import tables_ahead

MAY_APPROVE = "changes.approve_change"


class NoReason(ChangeError):
    """A rejection needs a reason."""


def approve(change_id: int, *, who: str, why: str = "") -> None:
    """Queues the change. Raises `ChangeError`, also when it can no longer be applied."""
    with _awaiting(change_id, who) as (change, cursor):
        try:
            plan = _plan_now(change)
        except (DdlError, NothingToDo) as error:
            raise ChangeError(f"change {change_id} can't be approved, only rejected: {error.message}") from error
        ahead = selectors.open_changes_of(plan.table_ids)
        check_queue(plan, ahead)
        cursor.execute("SELECT nextval(pg_get_serial_sequence('changes_change', 'id'))")
        change.place = cursor.fetchone()[0]
        change.plan, change.table_ids, change.status = plan.to_json(), list(plan.table_ids), Status.QUEUED
        change.save(update_fields=["place", "plan", "table_ids", "status"])
        _decide(change, cursor, who, why, is_approved=True)
        if ahead:
            append_queued(change, ahead[-1])
        notify(change_id)
        transaction.on_commit(lambda: send_driver(change_id))


def reject(change_id: int, *, who: str, why: str) -> None:
    """Ends the change before it begins. Raises `ChangeError`; without a reason `NoReason`."""
    if not why.strip():
        raise NoReason("a rejection needs a reason: the submitter will want to know")
    with _awaiting(change_id, who) as (change, cursor):
        _decide(change, cursor, who, why, is_approved=False)
        end_before_start(change, cursor, Status.CANCELLED, who=who)


@contextmanager
def _awaiting(change_id: int, who: str) -> Iterator[tuple[Change, Any]]:
    """The change under the locks of submissions and of its row. Raises `NoSuchChange`, `ChangeError`."""
    with answered_in_time(f"change {change_id} is as it was"), control_transaction() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s, %s)", SUBMISSIONS)
        change = Change.objects.select_for_update().filter(pk=change_id).first()
        if change is None:
            raise NoSuchChange(f"there is no change {change_id}")
        refusal = why_no_decision(selectors.standing_of(change), owner=change.who, who=who)
        if refusal is not None:
            raise ChangeError(refusal)
        yield change, cursor


def _decide(change: Change, cursor: Any, who: str, why: str, *, is_approved: bool) -> None:
    why = why.strip()[:REASON_CHARS_MAX]
    cursor.execute("SELECT clock_timestamp()")
    decided = {"is_approved": is_approved, "who": who, "why": why, "decided_at": cursor.fetchone()[0]}
    Approval.objects.update_or_create(change=change, defaults=decided)
    payload = {"who": who, "change": change.pk, "table": change.table_name, "why": why}
    append_event(f"change {'approved' if is_approved else 'rejected'}", change.table_name, payload, streams_of(change))


def _plan_now(change: Change) -> Plan:
    """The plan on the tables as the queue will leave them. Raises `DdlError` and `NothingToDo`."""
    plan, view = plan_from_json(change.plan), tables_ahead.catalog_view()
    if plan.base is not None or plan.partners:
        tables = AsNamed(view, names_from_json(change.names))
        base = tables.numbered(plan.table_id)
        plan = plan_on(base, action_of(change), change.created_at, tables, table_id=plan.table_id)
    given = tables_ahead.names_in(plan.result) - tables_ahead.names_in(plan.base)
    for name in sorted(given if plan.base is not None else given - {plan.table}):
        why = view.why_taken(name)
        if why is not None:
            raise DdlError(DUPLICATE_OBJECT, f"the name {name} is taken", hint=why or None)
    return plan
