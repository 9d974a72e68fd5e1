"""The rows that were acknowledged, kept beside the cluster: those of a correct database. Comparison finds a lost
acknowledged write, a refused one that stays, and a read outside of its snapshot."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from catalog.elements import ColumnId, TableId

Rows = dict[str, Mapping[ColumnId, str]]
"""By key: what was written to the other columns, by their roots (`lab.simulator.columns`); all as literals."""


class Inconsistent(Exception):
    """An acknowledged write that cannot be: says which."""


@dataclass(frozen=True, slots=True)
class Write:
    """A statement about one row: `insert`, `update` (of one column), `move` (to another key), `delete`."""

    actor: str
    verb: str
    key: str
    values: tuple[str, ...] = ()
    column: str | None = None


@dataclass(frozen=True, slots=True)
class RowWrite:
    statement: Write
    values: Mapping[ColumnId, str] = field(default_factory=dict)


@dataclass(slots=True)
class Snapshot:
    rows: dict[TableId, Rows]
    writes: list[tuple[TableId, RowWrite]] = field(default_factory=list)


@dataclass(slots=True)
class Ledger:
    tables: dict[TableId, Rows] = field(default_factory=dict)
    opened: dict[str, Snapshot] = field(default_factory=dict)

    def begin(self, actor: str) -> None:
        self.opened[actor] = Snapshot({table: dict(rows) for table, rows in self.tables.items()})

    def wrote(self, table: TableId, write: RowWrite) -> None:
        """Outside of a transaction it is acknowledged at once."""
        if write.statement.actor not in self.opened:
            _do(self.tables.setdefault(table, {}), write)
            return
        snapshot = self.opened[write.statement.actor]
        _do(snapshot.rows.setdefault(table, {}), write)
        snapshot.writes.append((table, write))

    def commit(self, actor: str) -> None:
        for table, write in self.opened.pop(actor).writes:
            _do(self.tables.setdefault(table, {}), write)

    def forget(self, actor: str) -> None:
        self.opened.pop(actor, None)

    def seen(self, actor: str, table: TableId) -> Rows:
        tables = self.opened[actor].rows if actor in self.opened else self.tables
        return tables.get(table, {})


def _do(rows: Rows, done: RowWrite) -> None:
    write = done.statement
    if (write.verb == "insert") is (write.key in rows):
        raise Inconsistent(f"{write.actor}: {write.verb} of row {write.key} succeeded, but it {_there(rows, write)}")
    if write.verb == "delete":
        del rows[write.key]
    elif write.verb == "move":
        to = write.values[0]
        if to != write.key and to in rows:
            raise Inconsistent(f"{write.actor}: row {write.key} was moved to {to}, where another row is")
        rows[to] = rows.pop(write.key)
    else:
        rows[write.key] = {**rows.get(write.key, {}), **done.values}


def _there(rows: Rows, write: Write) -> str:
    return "existed" if write.key in rows else "did not exist"
