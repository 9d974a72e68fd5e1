"""Temporary tables of a session: made as any table of a transaction is (T9), and never given to the catalog.

A spare table at the storages is reserved for this node; it needs no lease and no fence, as no other session knows its
id. At its end the reservation is given up, and what is stored goes as with a table that was rolled back. Version
numbers go on as long as the session lives, since plans are kept by them.
"""

from dataclasses import dataclass, field

from catalog.descriptor import Descriptor

TABLES_MAX = 100
"""Of one session: each takes tables of the store."""
DELETE_ROWS, PRESERVE_ROWS = "delete rows", "preserve rows"


@dataclass(eq=False)
class TemporaryTables:
    """The temporary tables of one session: as its last transaction left them, and those of the one that runs."""

    kept: dict[int, Descriptor] = field(default_factory=dict)
    ends: dict[int, str] = field(default_factory=dict)
    """What COMMIT does with each, those that a running transaction makes among them."""

    def make(self, table_id: int, at_commit: str) -> None:
        self.ends[table_id] = at_commit

    def has(self, table: Descriptor) -> bool:
        return table.table_id in self.ends

    def among(self, tables: dict[str, Descriptor]) -> tuple[Descriptor, ...]:
        return tuple(table for table in tables.values() if self.has(table))

    def emptied_at_commit(self, tables: dict[str, Descriptor]) -> tuple[Descriptor, ...]:
        return tuple(table for table in tables.values() if self.ends.get(table.table_id) == DELETE_ROWS)

    def commit(self, tables: dict[str, Descriptor]) -> set[int]:
        """Keep what the transaction has left; the ids of those that are gone with it."""
        before = set(self.kept)
        self.kept = {
            t.table_id: t for t in tables.values() if self.ends.get(t.table_id) in (PRESERVE_ROWS, DELETE_ROWS)
        }
        return (before | {t.table_id for t in tables.values() if self.has(t)}) - self.kept.keys()

    def give_up(self) -> set[int]:
        given, self.kept = set(self.kept), {}
        self.forget()
        return given

    def forget(self) -> None:
        self.ends = {table_id: how for table_id, how in self.ends.items() if table_id in self.kept}
