"""What a statement owes to other tables: foreign keys, from both their ends (L11, C6).

    a row of the child is written     the row that it refers to must be there
    a row of the parent goes          no row of the child may refer to it

Both look at the other table inside the statement's own serializable transaction, which has pinned and entered it:
so of an insert that refers to a row, and a delete of that row at the same time, one is refused.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from catalog.descriptor import Descriptor
from catalog.elements import RESTRICT, Constraint, TableId
from lab.rows import BadRow, key_text
from lab.world import Transaction
from storage.buckets import storage_of
from storage.offenders import dangling_words
from storage.pairs import StoredRow, after, prefix, rows_of
from storage.references import Values, is_enforced, lost, place_of, refers_to, values_of

Enter = Callable[[TableId], Descriptor]
"""Pins and enters a table for the transaction: the version of it that this one uses."""


@dataclass(frozen=True, slots=True)
class Written:
    """A row before and after a statement; None: it was, or is, not there."""

    before: StoredRow | None
    after: StoredRow | None


def check_references(one: Transaction, descriptor: Descriptor, written: Written, enter: Enter) -> None:
    """What a statement has just written, against all foreign keys of its table; raises `BadRow`."""
    for foreign_key in descriptor.foreign_keys:
        if is_enforced(foreign_key):
            _check_there(one, descriptor, foreign_key, written, enter)
    for referenced in descriptor.referenced_by:
        if is_enforced(referenced) and written.before is not None:
            for values in lost(descriptor, referenced, [(written.before, written.after)]):
                _check_unreferenced(one, descriptor, referenced, values, written, enter)


def _check_there(
    one: Transaction, descriptor: Descriptor, foreign_key: Constraint, written: Written, enter: Enter
) -> None:
    """A row that is new, or refers to something else than before, refers to a row that is there."""
    values = None if written.after is None else refers_to(descriptor, foreign_key, written.after)
    had = None if written.before is None else refers_to(descriptor, foreign_key, written.before)
    if values is None or values == had:
        return
    assert foreign_key.references is not None, foreign_key
    assert written.after is not None, "it refers to something"
    referenced = descriptor if foreign_key.references == descriptor.table_id else enter(foreign_key.references)
    store = one.store.store
    place = place_of(referenced, foreign_key, values, store.buckets)
    if one.store.get(storage_of(place.bucket, store.storages, store.buckets), place.key) is None:
        why = dangling_words(descriptor, referenced, foreign_key, written.after, values)
        raise BadRow(f"{why} ({foreign_key.state.value} in {descriptor}; 23503)")


def _check_unreferenced(
    one: Transaction, descriptor: Descriptor, referenced: Constraint, values: Values, written: Written, enter: Enter
) -> None:
    """Nobody refers to the values that went."""
    assert referenced.references is not None, referenced
    child = descriptor if referenced.references == descriptor.table_id else enter(referenced.references)
    for row in _rows(one, child):
        if values_of(child, referenced.reference_columns, row) == values:
            assert written.before is not None, "it had the values"
            what = f"{descriptor.name} {key_text(descriptor, written.before.key)}"
            who = f"{child.name} {key_text(child, row.key)} refers to it"
            state = f"{referenced.state.value} in {descriptor}; {_sqlstate(referenced, written)}"
            raise BadRow(f"{what} is needed by constraint {referenced.name}: {who} ({state})")


def _sqlstate(referenced: Constraint, written: Written) -> str:
    how = referenced.on_delete if written.after is None else referenced.on_update
    return "23001" if how == RESTRICT else "23503"


def _rows(one: Transaction, descriptor: Descriptor) -> Iterator[StoredRow]:
    start = prefix(descriptor, descriptor.placement.id)
    for storage in range(1, one.store.store.storages + 1):
        yield from rows_of(descriptor, descriptor.placement, one.store.scan(storage, start, after(start)))
