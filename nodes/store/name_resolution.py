"""From the names in a statement to the versions that a transaction uses of them (L12).

A name is a hint until a leased version bears it. While a table is being renamed both names work, each on the nodes
whose version bears it, and a transaction keeps the name that its version had:

    the name's last known id  ->  the version in use bears it: done
                              ->  it does not, or none is known: ask the catalog once, lease the freshest
    neither bears it          ->  42P01, and which version was called so

A transaction that uses a version under another name never gives it up for the new one (T1).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from catalog.descriptor import Descriptor
from expressions.errors import UNDEFINED_COLUMN, UNDEFINED_TABLE, SqlError
from leases.rules import NotLeasable
from nodes.context import Environment
from nodes.store.transaction import Transaction


@dataclass(eq=False)
class Names:
    """The names of tables, as the sessions of this node may use them."""

    env: Environment

    async def versions(
        self, transaction: Transaction, names: Iterable[str], own: Mapping[str, Descriptor], *, fresh: bool = False
    ) -> dict[str, Descriptor]:
        """The versions that the transaction uses of these tables; a name that none bears is left out.

        `own` are the tables that the transaction itself has made, `fresh` asks for the newest versions there are.
        """
        found: dict[str, Descriptor] = {}
        for name in sorted(names):
            descriptor = own.get(name) or await self._version(transaction, name, fresh=fresh)
            if descriptor is not None:
                found[name] = descriptor
        return found

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
        """The version in use of this table, if it bears the name."""
        held = transaction.pins.get(table_id)
        try:
            pin = held or await self.env.pin(transaction, table_id, fresh=fresh)
        except NotLeasable as refusal:
            self.env.directory.forget(name)
            if not fresh:
                return None
            raise SqlError(UNDEFINED_TABLE, f'relation "{name}" does not exist', detail=str(refusal)) from refusal
        descriptor = pin.descriptor
        assert isinstance(descriptor, Descriptor)
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
            error.detail = await self._former_table(error.table)
        elif error.sqlstate == UNDEFINED_COLUMN and error.column and error.detail is None:
            error.detail = await self._other_column(error.column, catalog.values())
        return error

    async def _former_table(self, name: str) -> str | None:
        found = await self.env.directory.former_table(name)
        if found is None:
            return None
        return f'Table "{found.name}" was called so up to version {found.until}; it is at version {found.version}.'

    async def _other_column(self, name: str, used: Iterable[Descriptor]) -> str | None:
        """The newest version of a table in use that has a public column of that name."""
        for descriptor in used:
            found = await self.env.directory.column_anywhere(descriptor.table_id, name)
            if found is not None:
                return _column_words(name, descriptor, *found)
        return None


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
