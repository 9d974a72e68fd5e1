"""Tables made inside a transaction (T9): their names are reserved, then announced or freed. A reservation is a row
beside the catalog's, which the transaction's older snapshot could not change. Plans are in
`changes.planning.table_in_transaction`."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from django.conf import settings

from catalog import clock
from catalog.descriptor import Descriptor
from catalog.models import StoryEvent, Table
from catalog.services import append_event, control_transaction
from catalog.story import CLUSTER, table_stream
from catalog.values.types import SqlType
from changes.ddl.actions import AlterTable, CreateTable, DropIndex, RenameIndex, SetComment, SetType
from changes.ddl.errors import NOT_READY, NOT_SUPPORTED, DdlError
from changes.ddl.resolve import CatalogView, NothingToDo, resolve
from changes.ddl.statements import Statement, parse, read_drop
from changes.models import Reservation
from changes.planning.copied_tables import Copied, copied
from changes.planning.drops import Drops, drops_of
from changes.planning.planner import make_plan
from changes.planning.table_in_transaction import OthersTakePart, Remade, remade
from changes.services import SUBMISSIONS, TryAgain
from changes.submission import tables_ahead
from changes.submission.judging import judge, judge_default
from expressions import literals
from expressions.dates.zones import TimeStyle
from expressions.typed import Context
from storage.postgres import take_spare_table

TABLE_CREATED = "table created"


@dataclass(frozen=True, slots=True)
class Reserved:
    """A table that a transaction is making: its id, the resolved action, and the tables it makes or refers to."""

    table_id: int
    action: CreateTable
    made: Remade


def reserve_table(
    statement: Statement,
    *,
    node: str,
    incarnation: int,
    own: Sequence[Descriptor] = (),
    dropped: Collection[int] = (),
    token: UUID | None = None,
    temporary: bool = False,
) -> Reserved:
    """Takes the names of a table that a transaction of this node is making, and of its unique indexes. A `temporary`
    table takes none, and needs no approval. Names of `dropped` tables of the transaction are free to it.
    `free_unanswered` frees by the `token` when the answer is lost. Raises `DdlError` (42P07, or 55000 where changes
    need approval), `NothingToDo`, and `OthersTakePart` for a reference to a table outside of `own`."""
    if settings.CHANGES_NEED_APPROVAL and not temporary:
        raise DdlError(
            NOT_READY,
            "a table cannot be made inside a transaction here: changes need the approval of a second person",
            hint="run CREATE TABLE by itself; it begins when somebody else approves it",
        )
    with control_transaction() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s, %s)", SUBMISSIONS)
        view = _private_view(own) if temporary else _view_of(own, dropped)
        action = resolve(statement, view)
        assert isinstance(action, CreateTable), "another statement makes no table"
        ids = {table.table_id for table in own}
        trial = make_plan(action, None, table_id=0, tables=view)
        remade(trial, {0, *ids})  # what can't be planned takes no name
        table_id = take_spare_table(cursor)
        names = [f"{TEMPORARY}{action.table.text}"] if temporary else sorted(tables_ahead.names_in(trial.result))
        Reservation.objects.create(table_id=table_id, node=node, incarnation=incarnation, names=names, token=token)
        plan = make_plan(action, None, table_id=table_id, tables=view)
    return Reserved(table_id, action, remade(plan, {table_id, *ids}))


def alter_tables(
    statement: Statement, *, own: Sequence[Descriptor], dropped: Collection[int] = (), temporary: bool = False
) -> Remade:
    """A statement on tables that a transaction has made, its `own`; new names are taken at once. Raises `DdlError`,
    `NothingToDo`, and `OthersTakePart` when it moves another table."""
    with control_transaction() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s, %s)", SUBMISSIONS)
        view = _private_view(own) if temporary else _view_of(own, dropped)
        action = resolve(statement, view)
        ids = {table.table_id for table in own}
        base = view.named(action.table.text)
        if base is not None and base.table_id not in ids:
            raise OthersTakePart(base.name)
        made = remade(make_plan(action, base, context=Context(now=clock.now()), tables=view), ids)
        for table in () if temporary else made.tables:
            reservation = Reservation.objects.filter(pk=table.table_id).first()
            if reservation is None:
                raise TryAgain(f'the name "{table.name}" was given up: this node was taken for dead')
            reservation.names = list(dict.fromkeys([*reservation.names, *sorted(tables_ahead.names_in(table))]))
            reservation.save(update_fields=["names"])
    return made


TEMPORARY = "pg_temp."
"""The beginning of what a temporary table is reserved under: no name that another table can take."""


def _private_view(own: Sequence[Descriptor]) -> CatalogView:
    storages = tables_ahead.storage_count_now()
    return CatalogView(tuple(own), storages=storages, is_private=True, judge=judge, judge_default=judge_default)


def targets_one_of(statement: Statement, own: Sequence[Descriptor]) -> bool:
    action, view = statement.action, CatalogView(tuple(own))
    if isinstance(action, CreateTable):
        return False
    if isinstance(action, DropIndex | RenameIndex) or (isinstance(action, SetComment) and action.of == "index"):
        return view.owner_of((action.name if isinstance(action, SetComment) else action.index).text) is not None
    return view.table(action.table.text) is not None


def _view_of(own: Sequence[Descriptor], dropped: Collection[int] = ()) -> CatalogView:
    view = tables_ahead.catalog_view(making={*(table.table_id for table in own), *dropped})
    return replace(view, tables=(*view.tables, *own))


def drops(text: str, *, own: Sequence[Descriptor] = ()) -> Drops:
    """A DROP of several, or with CASCADE, as a change each; raises `DdlError`."""
    return drops_of(read_drop(text), _seen(own))


def _seen(own: Sequence[Descriptor]) -> CatalogView:
    """The session's `own` tables hide others of their names."""
    view, hidden = _view_of(own), {table.name for table in own}
    return replace(view, tables=(*own, *(table for table in view.tables if table.name not in hidden)))


def in_utc(text: str, style: TimeStyle, *, own: Sequence[Descriptor] = ()) -> str:
    """The statement with literals as all sessions read them, whatever this session's settings. Raises `DdlError` for a
    type change that would read the zone for each row, and in expressions of unknown places."""
    otherwise: list[str] = []

    def judged(table: Descriptor, expression: str, returns: SqlType) -> str:
        kept = judge(table, expression, returns)
        if judge(table, expression, returns, style) != kept:
            otherwise.append(expression)
        return kept

    def default_judged(column: str, expression: str, of: SqlType) -> str:
        kept = judge_default(column, expression, of)
        if judge_default(column, expression, of, style) != kept:
            otherwise.append(expression)
        return kept

    with literals.reading(style) as found:
        try:
            view = replace(_seen(own), judge=judged, judge_default=default_judged)
            action = resolve(parse(text), view)
            base = None if isinstance(action, CreateTable) else view.named(action.table.text)
            make_plan(action, base, table_id=0, context=Context(now=clock.now()), tables=view)
        except (DdlError, NothingToDo):
            return text  # submitted, it is refused for the same reason
    if otherwise:
        message = f"{otherwise[0]} has a literal that this session reads otherwise than in UTC and ISO"
        raise DdlError(NOT_SUPPORTED, message, hint="Write dates as 2020-12-31, and times with their zone.")
    for one in action.alterations if isinstance(action, AlterTable) and base is not None else ():
        if isinstance(one, SetType) and not style.zone.is_utc:
            types = {base.column_named(one.column.text).type, one.type}
            if types == {SqlType.TIMESTAMP, SqlType.TIMESTAMPTZ}:
                message = f"cannot change {one.column} in time zone {style.zone.name}: values are read in UTC"
                hint = "SET TimeZone = 'UTC' first, or add a column, fill it with UPDATE, and drop this one."
                raise DdlError(NOT_SUPPORTED, message, position=one.column.position, hint=hint)
    return literals.rewritten(text, found)


def copied_table(text: str, *, own: Sequence[Descriptor] = ()) -> Copied:
    """CREATE TABLE (LIKE ..) written out, the session's `own` tables first. Raises `DdlError`."""
    now = tables_ahead.tables_now()
    return copied(text, CatalogView((*own, *now.tables), views=now.views))


def free_table(table_id: int) -> None:
    with control_transaction() as cursor:
        _free(cursor, [table_id])


def free_unanswered(token: UUID) -> list[int]:
    """Frees what a reservation took whose outcome is unknown; the lock here proves that it is over."""
    with control_transaction() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s, %s)", SUBMISSIONS)
        return _free(cursor, list(Reservation.objects.filter(token=token).values_list("table_id", flat=True)))


def announce_table(table_id: int, *, who: str) -> None:
    with control_transaction():
        table = Table.objects.get(pk=table_id)
        ended, _ = Reservation.objects.filter(table_id=table_id).delete()
        if ended:  # else it was appended with the end of the reservation of a node taken for dead
            payload = {"table": table.name, "version": table.version, "who": who}
            append_event(TABLE_CREATED, table.name, payload, [CLUSTER])


def free_orphaned_tables() -> list[int]:
    """Frees names that dead nodes reserved (T9), and returns the tables, without committed ones."""
    with control_transaction() as cursor:
        cursor.execute(
            "SELECT r.table_id FROM changes_reservation r LEFT JOIN leases_node n ON n.name = r.node"
            " WHERE n.name IS NULL OR n.incarnation <> r.incarnation OR n.state = 'down' FOR UPDATE OF r SKIP LOCKED"
        )
        return _free(cursor, [table_id for (table_id,) in cursor.fetchall()])


FREE = """
INSERT INTO catalog_table (id, name, version, state, created_at)
SELECT table_id, names ->> 0, 0, 'dropped', clock_timestamp() FROM changes_reservation WHERE table_id = ANY(%s)
ON CONFLICT DO NOTHING RETURNING id
"""
"""The row of a table is put once: by the transaction that makes it, or here. The second one finds it, whatever its
snapshot, and has lost; a transaction on its way is waited for."""


def _free(cursor: Any, table_ids: list[int]) -> list[int]:
    cursor.execute(FREE, [table_ids])
    freed = [table_id for (table_id,) in cursor.fetchall()]
    cursor.execute("DELETE FROM changes_reservation WHERE table_id = ANY(%s) RETURNING table_id", [table_ids])
    committed = {table_id for (table_id,) in cursor.fetchall()} - set(freed)
    live = Table.objects.filter(pk__in=committed, state=Table.State.LIVE).values_list("id", flat=True)
    streams = [table_stream(table_id) for table_id in live]
    for event in StoryEvent.objects.filter(stream__in=streams, kind=TABLE_CREATED).order_by("stream"):
        append_event(event.kind, event.subject, event.payload, [CLUSTER])  # its session could not tell it
    return freed
