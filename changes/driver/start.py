"""The start of a queued change: planned on the tables as they are now, or ended without a step."""

from __future__ import annotations

from dataclasses import replace

from catalog.selectors import newest_descriptor
from catalog.services import append_event, control_transaction
from changes import selectors
from changes.ddl.actions import Action, AlterTable, CreateIndex, CreateTable, DropIndex, DropTable, Name, Number
from changes.ddl.bindings import AsNamed, named_again, names_from_json
from changes.ddl.errors import DdlError
from changes.ddl.resolve import NothingToDo
from changes.ddl.statements import parse
from changes.models import Change, Status
from changes.notices import notify, streams_of
from changes.plan.model import Plan, plan_from_json
from changes.services import append_queued, end_before_start, plan_on
from changes.submission import tables_ahead


def plan_again(change: Change) -> Plan:
    """The plan on the tables as they are now, since changes ahead may have ended otherwise than foreseen. Names mean
    what they meant at submission (L12). Raises `DdlError` and `NothingToDo`."""
    plan = plan_from_json(change.plan)
    if change.executor_state is not None:
        return plan
    known = [base for base in (plan.base, *plan.partners) if base is not None]
    if all(newest_descriptor(base.table_id) == base for base in known):
        return plan
    tables = AsNamed(tables_ahead.tables_now(), names_from_json(change.names))
    base = tables.numbered(plan.table_id)
    return plan_on(base, action_of(change), change.created_at, tables, table_id=plan.table_id)


def settle_tables(change_id: int, plan: Plan) -> None:
    """Gives a change that has not begun the tables of this plan and its place in their queues (X1)."""
    with control_transaction():
        change = Change.objects.select_for_update().get(pk=change_id)
        if change.status != Status.QUEUED:
            return
        change.plan, change.table_ids = plan.to_json(), list(plan.table_ids)
        change.save(update_fields=["plan", "table_ids"])
        if ahead := selectors.behind(change):
            append_queued(change, Change.objects.get(pk=ahead[-1]))
        notify(change_id)


def action_of(change: Change) -> Action:
    """The change's statement with the names and storages settled at submission."""
    action, plan = parse(change.statement).action, plan_from_json(change.plan)
    table = Name(change.table_name)
    if isinstance(action, DropTable):
        return action
    if isinstance(action, CreateTable):
        count = plan.result.placement.storages
        settled = replace(action, storages=Number(count) if count else None)
        return named_again(settled, names_from_json(change.names))
    if isinstance(action, CreateIndex | DropIndex):
        return replace(action, index=Name(plan.moves[0].element.name), table=table)
    if isinstance(action, AlterTable):
        return replace(named_again(action, names_from_json(change.names)), table=table)
    return replace(action, table=table)


def end_unstarted(change_id: int, why: DdlError | NothingToDo) -> Status:
    """Ends a queued change: failed, or done without a step. Returns its status, also if it had ended or begun."""
    with control_transaction() as cursor:
        change = Change.objects.select_for_update().get(pk=change_id)
        if change.status != Status.QUEUED:
            return Status(change.status)
        if isinstance(why, NothingToDo):
            payload = {"change": change.pk, "table": change.table_name, "why": why.message}
            append_event("nothing to do", change.table_name, payload, streams_of(change))
            end_before_start(change, cursor, Status.DONE)
        else:
            end_before_start(change, cursor, Status.FAILED, error=why)
    return Status(change.status)
