"""Views are made, replaced, renamed and dropped in one control transaction each, under the lock of submissions
(docs/reference/views.md). A view reads columns that are public before and after every open change; later changes may
not take them away (`changes.planning.viewed`). So a transaction that sees a view finds its columns in every version it
may use, or one so old that it lacks them yet."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from catalog.descriptor import Descriptor
from catalog.elements import State
from catalog.models import View
from catalog.services import append_event, control_transaction
from catalog.story import CLUSTER
from catalog.view_definition import TableUse, ViewDefinition, readers_of
from changes.ddl.errors import (
    DEPENDENT_OBJECTS,
    DUPLICATE_TABLE,
    INVALID_TABLE_DEFINITION,
    TOO_LONG,
    UNDEFINED_TABLE,
    WRONG_OBJECT_TYPE,
    DdlError,
    unsupported,
)
from changes.ddl.resolve import CatalogView
from changes.models import ENDED, Change
from changes.plan.model import plan_from_json
from changes.services import SUBMISSIONS
from changes.submission import tables_ahead

VIEWS_MAX = 1000
IN_USE = "55006"
RECURSIVE = "42P17"


@contextmanager
def _submission() -> Iterator[CatalogView]:
    with control_transaction() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s, %s)", SUBMISSIONS)
        yield tables_ahead.catalog_view()


def create(definition: ViewDefinition, *, replaces: bool, who: str) -> None:
    """Stores a view as a node has analysed it, with id and revision. Raises `DdlError`."""
    with _submission() as known:
        there = known.view(definition.name)
        if there is None or not replaces:
            _check_name(definition.name, known, replaces=replaces)
        _check_reads(definition, known)
        if there is None:
            if len(known.views) >= VIEWS_MAX:
                raise DdlError(TOO_LONG, f"there are {VIEWS_MAX} views, which is the limit")
            View.objects.create(name=definition.name, body=definition.to_json())
        else:
            if len(definition.columns) < len(there.columns):
                raise DdlError(INVALID_TABLE_DEFINITION, "cannot drop columns from view")
            for before, after in zip(there.columns, definition.columns, strict=False):
                if before.name != after.name:
                    message = f'cannot change name of view column "{before.name}" to "{after.name}"'
                    raise DdlError(INVALID_TABLE_DEFINITION, message, hint="Drop the view and make it again.")
                if (before.type_oid, before.modifier) != (after.type_oid, after.modifier):
                    message = f'cannot change data type of view column "{before.name}"'
                    raise DdlError(INVALID_TABLE_DEFINITION, message, hint="Drop the view and make it again.")
            readers = {view.view_id for view in readers_of([there.view_id], known.views)} | {there.view_id}
            if readers & {use.view_id for use in definition.views}:
                raise DdlError(RECURSIVE, f'infinite recursion detected in rules for relation "{there.name}"')
            View.objects.filter(pk=there.view_id).update(body=definition.to_json(), revision=there.revision + 1)
        _append("view created" if there is None else "view replaced", definition.name, who)


def _check_name(name: str, known: CatalogView, *, replaces: bool) -> None:
    if replaces and (known.table(name) or known.owner_of(name)):
        raise DdlError(WRONG_OBJECT_TYPE, f'"{name}" is not a view')
    why = known.why_taken(name)
    if why is not None:
        raise DdlError(DUPLICATE_TABLE, f'relation "{name}" already exists', hint=why or None)


def _check_reads(definition: ViewDefinition, known: CatalogView) -> None:
    """Raises 55006 for a column that an open change moves, and 42P01 for a dropped table."""
    now = {table.table_id: table for table in tables_ahead.tables_now().tables}
    plans = [(change, plan_from_json(change.plan)) for change in Change.objects.exclude(status__in=ENDED)]
    views = {view.view_id for view in known.views}
    for read in definition.views:
        if read.view_id not in views:
            raise DdlError(UNDEFINED_TABLE, f'relation "{read.name}" does not exist any more')
    for use in definition.tables:
        if use.table_id in known.sandboxes:
            hint = "A sandbox is there for breaking rules, a view relies on them."
            raise unsupported(f"a view that reads {use.name}, which is a sandbox", hint=hint)
        _check_has(use, now.get(use.table_id), "another statement has just changed it")
        for change, plan in plans:
            if plan.table_id == use.table_id:
                why = f"change {change.pk} has not ended"
                for side in (plan.base, plan.result):
                    _check_has(use, side, why)
                _check_types_stay(use, plan.base, plan.result, why)


def _check_has(use: TableUse, table: Descriptor | None, why: str) -> None:
    public = {} if table is None else {column.id: column for column in table.public_columns}
    missing = sorted(name for name, column in use.columns.items() if column not in public)
    if missing:
        what = f'column "{missing[0]}" of table "{use.name}" cannot be used by a view now: {why}'
        raise DdlError(IN_USE, what, hint="Try again when it has.")
    if table is None or table.state is not State.PUBLIC:
        raise DdlError(IN_USE, f'table "{use.name}" cannot be used by a view now: {why}', hint="Try again when it has.")


def _check_types_stay(use: TableUse, before: Descriptor | None, after: Descriptor, why: str) -> None:
    if before is None:
        return
    for name, column_id in sorted(use.columns.items()):
        was, becomes = before.column(column_id), after.column(column_id)
        if (was.type, was.length) != (becomes.type, becomes.length):
            what = f'column "{name}" of table "{use.name}" cannot be used by a view now: {why}'
            raise DdlError(IN_USE, what, hint="Try again when it has.")


def drop(names: Sequence[str], *, forgiving: bool, cascades: bool, who: str) -> list[str]:
    """Drops views, all or none; returns PostgreSQL's notices. Raises `DdlError`."""
    notices: list[str] = []
    with _submission() as known:
        leaving: dict[int, ViewDefinition] = {}
        for name in names:
            view = known.view(name)
            if view is not None:
                leaving[view.view_id] = view
            elif known.table(name) or known.owner_of(name):
                kind = "TABLE" if known.table(name) else "INDEX"
                hint = f"Use DROP {kind} to remove {'a table' if kind == 'TABLE' else 'an index'}."
                raise DdlError(WRONG_OBJECT_TYPE, f'"{name}" is not a view', hint=hint)
            elif forgiving:
                notices.append(f'view "{name}" does not exist, skipping')
            else:
                raise DdlError(UNDEFINED_TABLE, f'view "{name}" does not exist')
        readers = list(readers_of(leaving, known.views))
        if readers and not cascades:
            read = {use.view_id for reader in readers for use in reader.views} & leaving.keys()
            what = leaving[min(read)].name
            depends = ", ".join(f"view {reader.name} depends on view {what}" for reader in readers)
            message = f"cannot drop view {what} because other objects depend on it: {depends}"
            raise DdlError(DEPENDENT_OBJECTS, message, hint="Use DROP ... CASCADE to drop the dependent objects too.")
        notices += [f"drop cascades to view {reader.name}" for reader in readers]
        for view in (*readers, *leaving.values()):
            View.objects.filter(pk=view.view_id).delete()
            _append("view dropped", view.name, who)
    return notices


def rename(name: str, new: str, *, forgiving: bool, who: str) -> str | None:
    """ALTER VIEW .. RENAME TO; a notice when there is none. Raises `DdlError`."""
    with _submission() as known:
        view = known.view(name)
        if view is None:
            if known.table(name) or known.owner_of(name):
                raise DdlError(WRONG_OBJECT_TYPE, f'"{name}" is not a view')
            if forgiving:
                return f'relation "{name}" does not exist, skipping'
            raise DdlError(UNDEFINED_TABLE, f'relation "{name}" does not exist')
        _check_name(new, known, replaces=False)
        View.objects.filter(pk=view.view_id).update(name=new, revision=view.revision + 1)
        _append("view renamed", name, who, new=new)
    return None


def _append(kind: str, view: str, who: str, **more: str) -> None:
    append_event(kind, view, {"view": view, "who": who, **more}, [CLUSTER])
