"""Foreign keys of a statement, from both their ends: rows of other tables that it needs (L11, C6).

    a row of the child is written     the row that it refers to must be there
    a row of the parent goes          no row of the child may refer to it

What is asked, and in which order, says `storage.integrity.references`: its demands are looked up here, one by one.
Both look at the other table inside the statement's own serializable transaction, which has pinned and entered it:
so of an insert that refers to a row, and a delete of that row at the same time, one is refused.
"""

from collections.abc import Callable, Collection, Iterator

from catalog.descriptor import Descriptor
from catalog.elements import RESTRICT, TableId
from lab.cluster.control_plane import Without
from lab.cluster.world import Transaction
from lab.scripts.text import BadRow, key_text
from storage.buckets import storage_of
from storage.integrity.offenders import dangling_words
from storage.integrity.references import Change, Demand, demands, place_of, refers_still
from storage.pairs import StoredRow, after, prefix, rows_of

Enter = Callable[[TableId], Descriptor]
"""Pins and enters a table for the transaction: the version of it that this one uses."""


def check_references(
    one: Transaction, descriptor: Descriptor, change: Change, enter: Enter, without: Collection[Without]
) -> None:
    """Check a row that was just written against all foreign keys of its table; raises `BadRow`."""
    for demand in demands(descriptor, [change]):
        if (Without.CHILD_CHECKS if demand.wants_row else Without.PARENT_CHECKS) in without:
            continue
        table = demand.constraint.references
        assert table is not None, demand
        other = descriptor if table == descriptor.table_id else enter(table)
        if demand.wants_row:
            _check_there(one, descriptor, demand, change, other)
        else:
            _check_unreferenced(one, descriptor, demand, change, other)


def _check_there(one: Transaction, descriptor: Descriptor, demand: Demand, change: Change, other: Descriptor) -> None:
    """Some row has the values."""
    foreign_key, store, after = demand.constraint, one.store.store, change[1]
    assert after is not None, "it refers to something"
    place = place_of(other, foreign_key, demand.values, store.buckets)
    if one.store.get(storage_of(place.bucket, store.storages, store.buckets), place.key) is None:
        why = dangling_words(descriptor, other, foreign_key, after, demand.values)
        raise BadRow(f"{why} ({foreign_key.state.value} in {descriptor}; 23503)")


def _check_unreferenced(
    one: Transaction, descriptor: Descriptor, demand: Demand, change: Change, child: Descriptor
) -> None:
    """Nobody refers to the values that went."""
    referenced, before = demand.constraint, change[0]
    assert before is not None, "it had the values"
    for row in _rows(one, child):
        if refers_still(child, demand, row):
            what = f"{descriptor.name} {key_text(descriptor, before.key)}"
            who = f"{child.name} {key_text(child, row.key)} refers to it"
            sqlstate = "23001" if demand.how == RESTRICT else "23503"
            state = f"{referenced.state.value} in {descriptor}; {sqlstate}"
            raise BadRow(f"{what} is needed by constraint {referenced.name}: {who} ({state})")


def _rows(one: Transaction, descriptor: Descriptor) -> Iterator[StoredRow]:
    start = prefix(descriptor, descriptor.placement.id)
    for storage in range(1, one.store.store.storages + 1):
        yield from rows_of(descriptor, descriptor.placement, one.store.scan(storage, start, after(start)))
