"""From the names in a statement to the versions that a transaction uses of them (L12).

A name is a hint until a leased version bears it; else the catalog is asked once, and the freshest leased. While a table
is being renamed both names work, each on the nodes whose version bears it. A transaction that uses a version under
another name never gives it up for the new one (T1). A view's definition is read in the transaction's own snapshot; a
lease that is older than the view gives way to the freshest.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from catalog.descriptor import Descriptor
from catalog.elements import State
from catalog.text.similar import perhaps
from catalog.view_definition import TableUse, ViewDefinition, view_from_json
from expressions.errors import UNDEFINED_COLUMN, UNDEFINED_TABLE, SqlError
from leases.rules import NotLeasable
from nodes.context import Environment
from nodes.sql.naming import DEPTH_MAX, ViewInUse, too_deep
from nodes.sql.statements import Statement
from nodes.store.pipeline import Command, int4
from nodes.store.refusals import Retry
from nodes.store.transaction import Transaction

VIEW = "SELECT jsonb_build_object('id', id, 'name', name, 'revision', revision, 'body', body)::text FROM catalog_view"
VIEW_NAMED, VIEW_NUMBERED = f"{VIEW} WHERE name = %b", f"{VIEW} WHERE id = %b"


@dataclass(frozen=True, slots=True)
class NamedRelations:
    """The relations of a statement by name: versions of tables, and views. Names that none bears are left out."""

    tables: dict[str, Descriptor]
    views: dict[str, ViewInUse]

    def text_with(self, statement: Statement) -> str:
        return statement.text + "".join(view.text for view in self.views.values())

    @property
    def key(self) -> tuple[object, ...]:
        versions = tuple([(table.table_id, table.version) for table in self.tables.values()])
        return versions, tuple([view.key for view in self.views.values()])

    def descriptors(self) -> dict[int, Descriptor]:
        """The versions in use by the ids of their tables, those that views read among them."""
        found = {descriptor.table_id: descriptor for descriptor in self.tables.values()}
        for view in self.views.values():
            found |= view.descriptors()
        return found


@dataclass(eq=False)
class Names:
    env: Environment

    async def relations(
        self, transaction: Transaction, names: Iterable[str], own: Mapping[str, Descriptor], *, fresh: bool = False
    ) -> NamedRelations:
        """The relations that the transaction uses under these names. `own` are the tables that it has made, `fresh`
        asks for the newest versions."""
        tables: dict[str, Descriptor] = {}
        views: dict[str, ViewInUse] = {}
        reached: dict[int, ViewInUse] = {}
        for name in sorted(names):
            view = None
            if name not in own and (transaction.views or self.env.directory.may_be_view(name)):
                view = await self._view(transaction, name)
            if view is not None:
                views[name] = await self._in_use(transaction, view, reached, fresh=fresh)
                continue
            descriptor = own.get(name) or await self._version(transaction, name, fresh=fresh)
            if descriptor is not None:
                tables[name] = descriptor
            elif self.env.directory.may_be_view(name) and (view := await self._view(transaction, name)) is not None:
                views[name] = await self._in_use(transaction, view, reached, fresh=fresh)
        return NamedRelations(tables, views)

    async def versions(
        self, transaction: Transaction, names: Iterable[str], *, fresh: bool = False
    ) -> dict[str, Descriptor]:
        found = {name: await self._version(transaction, name, fresh=fresh) for name in sorted(names)}
        return {name: descriptor for name, descriptor in found.items() if descriptor is not None}

    async def _view(self, transaction: Transaction, name: str) -> ViewDefinition | None:
        """The view of that name in the transaction's snapshot; nobody is asked about a name that none seems to bear."""
        known = next((view for view in transaction.views.values() if view.name == name), None)
        if known is not None or not self.env.directory.may_be_view(name):
            return known
        return await self._read_view(transaction, Command(VIEW_NAMED, (name.encode(),)))

    async def _read_view(self, transaction: Transaction, command: Command) -> ViewDefinition | None:
        result = (await transaction.run([command]))[0]
        if not result.ntuples:
            return None
        body = json.loads(result.get_value(0, 0) or b"")
        view = view_from_json(body["id"], body["name"], body["revision"], body["body"])
        transaction.views[view.view_id] = view
        return view

    async def _in_use(
        self,
        transaction: Transaction,
        view: ViewDefinition,
        reached: dict[int, ViewInUse],
        *,
        fresh: bool,
        depth: int = 1,
    ) -> ViewInUse:
        """The view with the versions that the transaction uses of what it reads: those have every column of it. Views
        in `reached` are read already. Raises 54001 for too many of them one below the other."""
        if depth > DEPTH_MAX:
            raise too_deep(view.name)
        if view.view_id in reached:
            return reached[view.view_id]
        views = {}
        for use in view.views:
            nested = transaction.views.get(use.view_id)
            nested = nested or await self._read_view(transaction, Command(VIEW_NUMBERED, (int4(use.view_id),)))
            assert nested is not None, f"view {view.name} reads view {use.view_id}: it is there as long as that is read"
            views[use.name] = await self._in_use(transaction, nested, reached, fresh=fresh, depth=depth + 1)
        tables = {use.name: await self._read_by(view, use, transaction, fresh=fresh) for use in view.tables}
        reached[view.view_id] = ViewInUse(view, tables, views)
        return reached[view.view_id]

    async def _read_by(
        self, view: ViewDefinition, use: TableUse, transaction: Transaction, *, fresh: bool
    ) -> Descriptor:
        """The version in use of a table that a view reads. Raises `Retry` for one older than the view."""
        try:
            pin = transaction.pins.get(use.table_id) or await self.env.pin(transaction, use.table_id, fresh=fresh)
        except NotLeasable as refusal:
            raise Retry(f'view "{view.name}" and the schema do not agree: {refusal}', stale=True) from refusal
        descriptor = pin.descriptor
        public = {column.id for column in descriptor.public_columns}
        if descriptor.state is State.PUBLIC and public.issuperset(use.columns.values()):
            return descriptor
        missing = ", ".join(name for name, column_id in use.columns.items() if column_id not in public)
        message = f'{descriptor} does not fit view "{view.name}", which reads {missing or "the table"}'
        raise Retry(message, stale=True, pin=pin)

    async def _version(self, transaction: Transaction, name: str, *, fresh: bool) -> Descriptor | None:
        directory = self.env.directory
        known = None if fresh else directory.known(name)
        descriptor = None if known is None else await self._used(transaction, known, name, fresh=False)
        if descriptor is None:
            found = await directory.find(name)
            if found is not None and not fresh:  # whoever else waits for this table's first lease shares it (L3)
                descriptor = await self._used(transaction, found, name, fresh=False)
            if found is not None and descriptor is None:
                descriptor = await self._used(transaction, found, name, fresh=True)
        return descriptor

    async def _used(self, transaction: Transaction, table_id: int, name: str, *, fresh: bool) -> Descriptor | None:
        held = transaction.pins.get(table_id)
        try:
            pin = held or await self.env.pin(transaction, table_id, fresh=fresh)
        except NotLeasable as refusal:
            self.env.directory.forget(name)
            if not fresh:
                return None
            raise SqlError(UNDEFINED_TABLE, f'relation "{name}" does not exist', detail=str(refusal)) from refusal
        descriptor = pin.descriptor
        if descriptor.name == name:
            return descriptor
        self.env.directory.forget(name)
        if held is None:
            self.env.unpin(transaction, table_id)
        elif fresh:
            raise _named_later(name, descriptor)
        return None

    async def explained(self, error: SqlError, catalog: Mapping[str, Descriptor]) -> SqlError:
        """The error, and where a name that was not found does belong: another version may bear it."""
        if error.sqlstate == UNDEFINED_TABLE and error.table and error.detail is None:
            former = await self.env.directory.former_table(error.table)
            if former is not None:
                so = f'Table "{former.name}" was called so up to version {former.until}'
                error.detail = f"{so}; it is at version {former.version}."
            elif error.hint is None:
                error.hint = perhaps("table", error.table, await self.env.directory.names_like(error.table))
        elif error.sqlstate == UNDEFINED_COLUMN and error.column and error.detail is None:
            for descriptor in catalog.values():
                found = await self.env.directory.column_anywhere(descriptor.table_id, error.column)
                if found is not None:
                    error.detail = _column_words(error.column, descriptor, *found)
                    break
        return error


def _named_later(name: str, descriptor: Descriptor) -> SqlError:
    return SqlError(
        UNDEFINED_TABLE,
        f'relation "{name}" does not exist in version {descriptor.version}, which this transaction uses',
        detail=f'A newer version bears that name; in version {descriptor.version} the table is "{descriptor.name}".',
        hint="end the transaction: the next one may use the new name",
        table=name,
    )


def _column_words(name: str, descriptor: Descriptor, version: int, column_id: int) -> str:
    now = next((c.name for c in descriptor.columns if c.id == column_id), None)
    if version > descriptor.version:
        called = "has no such column yet" if now is None else f'calls it "{now}"'
        return f'Version {version} of "{descriptor.name}" has a column "{name}"; {descriptor}, used here, {called}.'
    was = "was dropped after that" if now in (None, name) else f'is called "{now}" now'
    return f'Column "{name}" was there up to version {version} of "{descriptor.name}"; it {was}: {descriptor} is used.'
