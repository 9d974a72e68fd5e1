"""Tables made inside a transaction (T9): their names are reserved, then announced or freed.

What is planned there is `changes.planning.table_in_transaction`.
"""

from __future__ import annotations

from dataclasses import dataclass

from django.conf import settings

from catalog.models import Table
from catalog.services import append_event, control_transaction
from catalog.story import CLUSTER
from changes import tables_ahead
from changes.ddl.actions import CreateTable
from changes.ddl.errors import NOT_READY, DdlError
from changes.ddl.resolve import resolve
from changes.ddl.statements import Statement
from changes.models import Reservation
from changes.planning.planner import make_plan
from changes.services import SUBMISSIONS, reserve


@dataclass(frozen=True, slots=True)
class Reserved:
    """A table that a transaction is making: its id, and what is to be made with every name settled."""

    table_id: int
    action: CreateTable


def reserve_table(statement: Statement, *, node: str, incarnation: int) -> Reserved:
    """Take the names of a table that a transaction of this node is making, and of its unique indexes.

    Raises `DdlError` (42P07 when one is taken; 55000 where changes need approval, for which no transaction can wait)
    and `NothingToDo`.
    """
    if settings.CHANGES_NEED_APPROVAL:
        raise DdlError(
            NOT_READY,
            "a table cannot be made inside a transaction here: changes need the approval of a second person",
            hint="run CREATE TABLE by itself; it begins when somebody else approves it",
        )
    with control_transaction() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s, %s)", SUBMISSIONS)
        action = resolve(statement, tables_ahead.catalog_view())
        assert isinstance(action, CreateTable), "nothing else is made inside a transaction"
        make_plan(action, None, table_id=0)  # what can't be planned takes no name
        table_id = reserve(action.table.text, cursor)
        names = [unique.name.text for unique in action.uniques]
        Reservation.objects.create(table_id=table_id, node=node, incarnation=incarnation, names=names)
    return Reserved(table_id, action)


def free_table(table_id: int) -> None:
    """The transaction rolled back: its table never was, and the names are free."""
    with control_transaction():
        Table.objects.filter(pk=table_id, state=Table.State.RESERVED).update(state=Table.State.DROPPED)
        Reservation.objects.filter(table_id=table_id).delete()


def announce_table(table_id: int, *, who: str) -> None:
    """The transaction has committed: tell it to the cluster, too (its own stream heard it in the transaction)."""
    with control_transaction():
        table = Table.objects.get(pk=table_id)
        append_event(
            "table created", table.name, {"table": table.name, "version": table.version, "who": who}, [CLUSTER]
        )


def free_orphaned_tables() -> list[int]:
    """Free the names that died nodes had reserved (T9). A frozen one that wakes finds its row changed: 40001."""
    with control_transaction() as cursor:
        cursor.execute(
            "SELECT r.table_id FROM changes_reservation r LEFT JOIN leases_node n ON n.name = r.node"
            " WHERE n.name IS NULL OR n.incarnation <> r.incarnation OR n.state = 'down' FOR UPDATE OF r SKIP LOCKED"
        )
        orphaned = [table_id for (table_id,) in cursor.fetchall()]
        Table.objects.filter(pk__in=orphaned, state=Table.State.RESERVED).update(state=Table.State.DROPPED)
        Reservation.objects.filter(table_id__in=orphaned).delete()
    return orphaned
