"""Brings the shadow to the published versions, in one transaction, when a query finds it behind.

Publishing does nothing for it. The store is read under the lock of changes, so the shadow never goes back. Objects that
PostgreSQL refuses are left out, named in their table's comment, and tried again with each change.
"""

import logging
import secrets
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import psycopg
from psycopg.errors import LockNotAvailable

from catalog.descriptor import Descriptor, from_json
from catalog.text.sql_names import literal
from catalog.view_definition import ViewDefinition, view_from_json
from storage.shadow import database
from storage.shadow.alters import Alters, Known, Piece, Step, placeholder_sql, view_sql, without
from storage.shadow.database import ShadowUnusable
from storage.shadow.position import DIGEST_SQL, STORE_SQL, TABLES_SQL, VIEWS_SQL, Position
from storage.shadow.rights import SETUP
from storage.shadow.shown import ShownTable, ShownView, shown_table, shown_view
from storage.shadow.view_queries import SCHEMA, query_of

log = logging.getLogger(__name__)

BODIES_SQL = """
SELECT body FROM catalog_descriptor JOIN unnest(%s::int[], %s::int[]) AS w (table_id, version) USING (table_id, version)
"""


@dataclass(frozen=True)
class Store:
    """All that is published, at one moment."""

    sign: str
    digest: str
    tables: dict[int, int]
    views: tuple[ViewDefinition, ...]
    cursor: Any

    def bodies(self, versions: Iterable[tuple[int, int]]) -> dict[int, Descriptor]:
        ids, numbers = zip(*versions, strict=True) if (versions := list(versions)) else ((), ())
        rows = self.cursor.execute(BODIES_SQL, [list(ids), list(numbers)]).fetchall()
        return {table.table_id: table for table in (from_json(body) for (body,) in rows)}


def catch_up(store: str, shadow: str) -> Position:
    """Brings the shadow to what is published now, or changes nothing and raises `ShadowUnusable`."""
    with database.opened(store, shadow) as connection, psycopg.connect(
        store, connect_timeout=database.CONNECT_S_MAX, application_name="schemalab shadow"
    ) as reading:  # fmt: skip
        reading.isolation_level, reading.read_only = psycopg.IsolationLevel.REPEATABLE_READ, True
        with reading.cursor() as cursor:
            ((sign,),) = cursor.execute(STORE_SQL).fetchall()
            ((digest,),) = cursor.execute(DIGEST_SQL).fetchall()
            tables = dict(cursor.execute(TABLES_SQL).fetchall())
            views = tuple(view_from_json(*row) for row in cursor.execute(VIEWS_SQL).fetchall())
            return _follow(connection, Store(sign, digest, tables, views, cursor))


def rebuild(store: str, shadow: str) -> Position:
    with database.opened(store, shadow) as connection:
        connection.execute("DROP SCHEMA public CASCADE")
        connection.execute("CREATE SCHEMA public")
        database.remember(connection, Position())
    return catch_up(store, shadow)


def _follow(connection: psycopg.Connection[Any], store: Store) -> Position:
    before = database.position(connection)
    if before.setup != SETUP:
        try:
            database.set_up(connection)
        except psycopg.Error as error:
            if connection.broken:
                raise
            message = str(error).strip().partition("\n")[0]
            raise ShadowUnusable(f"the database {connection.info.dbname} cannot be prepared: {message}") from error
    elif before.store != store.sign:
        name = connection.info.dbname
        raise ShadowUnusable(f"the database {name} shows the tables of another store: ./manage.py shadow rebuild")
    elif before.digest == store.digest:
        return before
    views = {view.view_id: Known(view.revision, view.name) for view in store.views}
    now = Position(SETUP, before.life or secrets.token_hex(4), store.sign, store.digest, store.tables, views)
    alters = alters_of(before, store)
    now = replace(now, lacking=_alter(connection, alters.steps()))
    _report_lacking(connection, before, now, alters.new)
    for view, is_new in alters.made:
        _make_view(connection, view, is_new=is_new)
    database.remember(connection, now)
    return now


def _execute(connection: psycopg.Connection[Any], statement: str) -> None:
    try:
        connection.execute(statement.encode())
    except LockNotAvailable as error:
        raise ShadowUnusable("the catalog is read by others for too long: try again") from error
    except psycopg.Error as error:
        if connection.broken:
            raise
        message = str(error).strip().partition("\n")[0]
        raise ShadowUnusable(f"the catalog cannot show what is published: {message} ({statement})") from error


def _alter(connection: psycopg.Connection[Any], steps: Sequence[Step]) -> dict[Piece, str]:
    lacking: dict[Piece, str] = {}
    for step in steps:
        if step.piece is None:
            _execute(connection, step.sql)
        elif step.piece not in lacking:
            why = _refusal(connection, step)
            if why:
                lacking[step.piece] = why
    return lacking


def _refusal(connection: psycopg.Connection[Any], step: Step) -> str:
    try:
        with connection.transaction():
            _execute(connection, step.sql)
    except ShadowUnusable as unusable:
        if not isinstance(unusable.__cause__, psycopg.Error) or isinstance(unusable.__cause__, LockNotAvailable):
            raise
        if step.otherwise:
            _execute(connection, step.otherwise)
        return str(unusable.__cause__).strip().partition("\n")[0]
    return ""


def _report_lacking(
    connection: psycopg.Connection[Any], before: Position, now: Position, tables: dict[int, ShownTable]
) -> None:
    """Names in a table's comment what of it is not shown, and logs what is new among that."""
    for piece, why in now.lacking.items():
        if before.lacking.get(piece) != why:
            log.warning("the catalog cannot show %s %s of table %s: %s", piece.kind, piece.name, piece.table_id, why)
    touched = {piece.table_id for piece in (*before.lacking, *now.lacking)}
    for table_id, table in tables.items():
        if table_id in touched:
            own = [(piece, why) for piece, why in now.lacking.items() if piece.table_id == table_id]
            lines = [f"(not shown: {piece.kind} {piece.name}: {why})" for piece, why in own]
            text = "\n".join(filter(None, (table.comment, *lines)))
            comment = literal(text) if text else "NULL"
            _execute(connection, f"COMMENT ON TABLE {table.relation()} IS {comment}")


def _make_view(connection: psycopg.Connection[Any], view: ShownView, *, is_new: bool) -> None:
    """Makes a view; one whose query PostgreSQL refuses has its columns and says so, and holds up nothing else."""
    try:
        with connection.transaction():
            for statement in view_sql(view, is_new=is_new):
                connection.execute(statement.encode())
    except psycopg.Error as error:
        if connection.broken:
            raise
        asked = "SELECT format_type(%s, %s)"
        rows = [connection.execute(asked, [column.type_oid, column.modifier]).fetchone() for column in view.columns]
        query = placeholder_sql([row[0] for row in rows if row is not None], str(error).strip().partition("\n")[0])
        for statement in view_sql(view, is_new=is_new, query=query):
            _execute(connection, statement)


def alters_of(before: Position, store: Store) -> Alters:
    changed = {i for i in before.tables.keys() | store.tables.keys() if before.tables.get(i) != store.tables.get(i)}
    changed |= {piece.table_id for piece in before.lacking}  # once more, as what was in its way may be over
    old = store.bodies((i, before.tables[i]) for i in changed if i in before.tables)
    new = store.bodies((i, store.tables[i]) for i in changed if i in store.tables)
    lost = [i for i in changed & before.tables.keys() if i not in old]
    if lost:
        raise ShadowUnusable(f"the store has forgotten versions of tables {lost}: ./manage.py shadow rebuild")
    beside = _beside((*old.values(), *new.values()), store) - changed
    same = store.bodies((i, store.tables[i]) for i in beside if i in store.tables)
    old, new = same | old, same | new
    views = [_view(view, store, new) for view in store.views]
    had = {i: without(table, [p for p in before.lacking if p.table_id == i]) for i, table in _shown(old).items()}
    return Alters(had, _shown(new), before.views, views)


def _beside(tables: Iterable[Descriptor], store: Store) -> set[int]:
    found = {int(one.references) for table in tables for one in table.constraints if one.references is not None}
    further = store.bodies((i, store.tables[i]) for i in found if i in store.tables)
    found |= {int(o.references) for table in further.values() for o in table.constraints if o.references is not None}
    return found | {int(use.table_id) for view in store.views for use in view.tables}


def _shown(tables: dict[int, Descriptor]) -> dict[int, ShownTable]:
    shown = {i: shown_table(table, tables) for i, table in tables.items()}
    there = {i: table for i, table in shown.items() if table is not None}
    return {i: _without_lost(table, there.keys()) for i, table in there.items()}


def _without_lost(table: ShownTable, there: Collection[int]) -> ShownTable:
    return replace(table, references=tuple(one for one in table.references if one.table_id in there))


def _view(view: ViewDefinition, store: Store, tables: dict[int, Descriptor]) -> ShownView:
    query = query_of(view, store.views, tables, schema=SCHEMA).strip().removesuffix(";")
    return shown_view(view, query, tables)
