"""Sandboxes and ordinary tables, made by the driver where the test stands."""

from catalog.descriptor import Descriptor
from catalog.elements import Index, IndexColumn, State
from catalog.selectors import newest_descriptor
from changes.models import Change, Status
from lab.live import sandbox
from tests.changes.driven import drive, made


def done(change: Change) -> Change:
    assert drive(change) == Status.DONE
    return change


def box(who: str = "ann", name: str = "") -> Descriptor:
    """A sandbox of somebody: t (id, a), version 2."""
    return newest(done(sandbox.make(who, name)).table_id)


def ordinary(name: str = "users") -> Descriptor:
    return newest(made(f"CREATE TABLE {name} (id bigint PRIMARY KEY, a bigint)").table_id)


def newest(table_id: int) -> Descriptor:
    found = newest_descriptor(table_id)
    assert found is not None, table_id
    return found


def with_index(table: Descriptor, state: State = State.PUBLIC) -> Descriptor:
    """The next version, with an index over a in one jump."""
    index = Index(table.next_index_id, f"by_a_{table.table_id}", (IndexColumn(table.columns[1].id),), state=state)
    return table.with_index(index)
