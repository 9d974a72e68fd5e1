"""Foreign keys of a statement, from both ends (L11, C6). The demands of `storage.integrity.references` are looked up
inside the statement's own serializable transaction, which has pinned and entered the other table: of an insert that
refers to a row, and a delete of that row at the same time, one is refused."""

from collections.abc import Callable, Collection, Iterator
from functools import partial

from catalog.descriptor import Descriptor
from catalog.elements import TableId
from lab.cluster.control_plane import Without
from lab.cluster.parts import Transaction
from lab.scripts.text import BadRow, key_text
from storage.buckets import storage_of
from storage.integrity.offenders import dangling_words
from storage.integrity.references import Change, Demand, Place, Unmet, demands, why_unmet
from storage.pairs import StoredRow, after, prefix, rows_of

Enter = Callable[[TableId], Descriptor]


def check_references(
    one: Transaction, descriptor: Descriptor, change: Change, enter: Enter, without: Collection[Without]
) -> None:
    """Checks a row that was just written against all foreign keys of its table. Raises `BadRow`."""
    for demand in demands(descriptor, [change]):
        if (Without.CHILD_CHECKS if demand.wants_row else Without.PARENT_CHECKS) in without:
            continue
        table = demand.constraint.references
        assert table is not None, demand
        other = descriptor if table == descriptor.table_id else enter(table)
        has, rows = partial(_has, one, other), partial(_rows, one, other)
        unmet = why_unmet(demand, other, has=has, rows=rows, buckets=one.store.store.buckets)
        if unmet is not None:
            state = f"{demand.constraint.state.value} in {descriptor}; {demand.sqlstate}"
            raise BadRow(f"{_words(descriptor, demand, change, other, unmet)} ({state})")


def _words(descriptor: Descriptor, demand: Demand, change: Change, other: Descriptor, unmet: Unmet) -> str:
    before, after = change
    if unmet.row is None:
        assert after is not None, "it refers to something"
        return dangling_words(descriptor, other, demand.constraint, after, demand.values)
    assert before is not None, "it had the values"
    what = f"{descriptor.name} {key_text(descriptor, before.key)}"
    who = f"{other.name} {key_text(other, unmet.row.key)}"
    return f"{what} is needed by constraint {demand.constraint.name}: {who} refers to it"


def _has(one: Transaction, referenced: Descriptor, place: Place) -> bool:
    store = one.store.store
    count = referenced.placement.storage_count(store.storages)
    return one.store.get(storage_of(place.bucket, count, store.buckets), place.key) is not None


def _rows(one: Transaction, descriptor: Descriptor) -> Iterator[StoredRow]:
    start = prefix(descriptor, descriptor.placement.id)
    count = descriptor.placement.storage_count(one.store.store.storages)
    for storage in range(1, count + 1):
        yield from rows_of(descriptor, descriptor.placement, one.store.scan(storage, start, after(start)))
