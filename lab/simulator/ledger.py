"""The rows that were acknowledged, kept beside the cluster: what a correct database would hold.

    begin     the transaction sees the rows as they are now
    write     seen by its own transaction only
    commit    acknowledged: from now on the row is there, as written, until another commit
    refused   nothing of it is ever seen

So an acknowledged write that is lost, a refused one that stays, and a read that saw something else
than its snapshot are all found by comparing.
"""

from dataclasses import dataclass, field

from catalog.elements import TableId

Rows = dict[str, tuple[str, ...]]
"""By key, as literals: the values of the other columns."""


class Inconsistent(Exception):
    """An acknowledged write that cannot be: says which."""


@dataclass(frozen=True, slots=True)
class Write:
    """What a statement does to one row: `insert`, `update` (values None stay), `move` (to another key), `delete`."""

    actor: str
    verb: str
    key: str
    values: tuple[str | None, ...] = ()


@dataclass(slots=True)
class Snapshot:
    """What an open transaction sees, and what it wrote."""

    rows: dict[TableId, Rows]
    writes: list[tuple[TableId, Write]] = field(default_factory=list)


@dataclass(slots=True)
class Ledger:
    """Acknowledged rows by table, and the transactions that are open."""

    tables: dict[TableId, Rows] = field(default_factory=dict)
    opened: dict[str, Snapshot] = field(default_factory=dict)

    def begin(self, actor: str) -> None:
        self.opened[actor] = Snapshot({table: dict(rows) for table, rows in self.tables.items()})

    def wrote(self, table: TableId, write: Write) -> None:
        """A statement succeeded: acknowledged at once outside of a transaction."""
        if write.actor not in self.opened:
            _do(self.tables.setdefault(table, {}), write)
            return
        snapshot = self.opened[write.actor]
        _do(snapshot.rows.setdefault(table, {}), write)
        snapshot.writes.append((table, write))

    def commit(self, actor: str) -> None:
        for table, write in self.opened.pop(actor).writes:
            _do(self.tables.setdefault(table, {}), write)

    def forget(self, actor: str) -> None:
        """Its transaction ended without being acknowledged."""
        self.opened.pop(actor, None)

    def seen(self, actor: str, table: TableId) -> list[str]:
        """The rows that a query of `actor` must see, as scripts write them."""
        tables = self.opened[actor].rows if actor in self.opened else self.tables
        return texts(tables.get(table, {}))


def texts(rows: Rows) -> list[str]:
    return sorted(f"({', '.join((key, *values))})" for key, values in rows.items())


def _do(rows: Rows, write: Write) -> None:
    if (write.verb == "insert") is (write.key in rows):
        raise Inconsistent(f"{write.actor}: {write.verb} of row {write.key} succeeded, but it is {_there(rows, write)}")
    if write.verb == "delete":
        del rows[write.key]
    elif write.verb == "move":
        _move(rows, write)
    else:
        old = rows.get(write.key, ())
        new = zip(write.values, old or write.values, strict=True)
        rows[write.key] = tuple(str(given if given is not None else kept) for given, kept in new)


def _move(rows: Rows, write: Write) -> None:
    to = str(write.values[0])
    if to != write.key and to in rows:
        raise Inconsistent(f"{write.actor}: row {write.key} was moved to {to}, where another row is")
    rows[to] = rows.pop(write.key)


def _there(rows: Rows, write: Write) -> str:
    return "there already" if write.key in rows else "not there"
