"""Clients that insert, update, move and delete rows of their own range of keys, several in a transaction, and read them
back, judged by their ledger. Some transactions are rolled back on purpose, some have a part that a savepoint takes
back: neither may ever be seen."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tests.soak.clients.actors import Stage
from tests.soak.clients.ledger import Image, Row
from tests.soak.clients.outcomes import Outcome
from tests.soak.clients.owners import Owner
from tests.soak.clients.sessions import Session, Undone

MADE = "CREATE TABLE items (id bigint PRIMARY KEY, label text NOT NULL, size integer, colour text, plain text)"
COLUMNS = "id, label, size, colour"
COLOURS = ("amber", "blue", "cyan", "green", "ochre", "red")
ROWS_MIN, ROWS_MAX = 40, 160


@dataclass(frozen=True, slots=True)
class Statement:
    query: str
    params: tuple[Any, ...]
    rows: int
    after: Image


class ItemClient(Owner):
    """One owner of a range of keys."""

    def __init__(self, number: int, stage: Stage) -> None:
        super().__init__("items", number, stage)

    def act(self) -> None:
        if self.chance.random() < 0.3:
            return self.read()
        return self.write()

    # --- writing

    def write(self) -> None:
        """One transaction of one to four statements, each on rows of its own."""
        count = self.chance.choices((1, 2, 4), (5, 3, 1))[0]
        free = list(self.ledger.certain)
        self.chance.shuffle(free)
        statements = [self._statement(free) for _ in range(count)]
        after: Image = {key: row for one in statements for key, row in one.after.items()}
        single = count == 1 and self.chance.random() < 0.6
        lost = self._statement(free) if not single and self.chance.random() < 0.1 else None
        is_undone = not single and self.chance.random() < 0.08

        def body(session: Session) -> None:
            for one in statements:
                session.write(one.query, one.params, rows=one.rows)
            if lost is not None:
                session.ask("SAVEPOINT before")
                session.write(lost.query, lost.params, rows=lost.rows)
                session.ask("ROLLBACK TO SAVEPOINT before")
            if is_undone:
                raise Undone

        kind = "rolled back" if is_undone else statements[0].query.split()[0].lower() if single else "transaction"
        self.settle(kind, after, self.session.transact(kind, body, single=single)[0])

    def _statement(self, free: list[int]) -> Statement:
        """The next statement; the rows it touches are taken from `free`."""
        rows = len(self.ledger.certain)
        weights = (6, 0, 0, 0, 0, 1) if rows < ROWS_MIN else (1 if rows > ROWS_MAX else 3, 3, 2, 2, 1, 1)
        makers = (self._insert, self._update, self._move, self._delete, self._recolour, self._upsert)
        make = self.chance.choices(makers, weights)[0]
        return make(free) if len(free) >= 3 else self._insert(free)

    def _row(self) -> Row:
        return (f"label {self.chance.randrange(10**6)}", self.chance.randrange(100), self.chance.choice(COLOURS))

    def _new_key(self) -> int:
        return self.new_key(self.chance.randrange(1, 4))

    def _insert(self, _free: list[int]) -> Statement:
        key, row = self._new_key(), self._row()
        return Statement(f"INSERT INTO items ({COLUMNS}) VALUES (%s, %s, %s, %s)", (key, *row), 1, {key: row})

    def _update(self, free: list[int]) -> Statement:
        key, size = free.pop(), self.chance.randrange(100)
        label, _, colour = self.ledger.certain[key]
        return Statement("UPDATE items SET size = %s WHERE id = %s", (size, key), 1, {key: (label, size, colour)})

    def _move(self, free: list[int]) -> Statement:
        """The primary key itself: every pair of the row moves."""
        key, new = free.pop(), self._new_key()
        after = {key: None, new: self.ledger.certain[key]}
        return Statement("UPDATE items SET id = %s WHERE id = %s", (new, key), 1, after)

    def _delete(self, free: list[int]) -> Statement:
        key = free.pop()
        return Statement("DELETE FROM items WHERE id = %s", (key,), 1, {key: None})

    def _recolour(self, free: list[int]) -> Statement:
        keys, colour = [free.pop(), free.pop()], self.chance.choice(COLOURS)
        after: Image = {key: (*self.ledger.certain[key][:2], colour) for key in keys}
        return Statement("UPDATE items SET colour = %s WHERE id IN (%s, %s)", (colour, *keys), 2, after)

    def _upsert(self, free: list[int]) -> Statement:
        key = free.pop() if free and self.chance.random() < 0.7 else self._new_key()
        row = self._row()
        query = (
            f"INSERT INTO items ({COLUMNS}) VALUES (%s, %s, %s, %s) ON CONFLICT (id) DO UPDATE"
            " SET label = excluded.label, size = excluded.size, colour = excluded.colour"
        )
        return Statement(query, (key, *row), 1, {key: row})

    # --- reading

    def read(self) -> None:
        """All own rows, then some of them by key and by colour, in one snapshot."""
        colour = self.chance.choice(COLOURS)
        seen: list[list[Sequence[Any]]] = []

        def body(session: Session) -> None:
            seen.clear()
            span = (self.first, self.limit)
            seen.append(session.ask(f"SELECT {COLUMNS} FROM items WHERE id >= %s AND id < %s", span))
            some = [row[0] for row in seen[0]][:: max(1, len(seen[0]) // 3)]
            seen.append(
                [row for key in some for row in session.ask(f"SELECT {COLUMNS} FROM items WHERE id = %s", (key,))]
            )
            by_colour = f"SELECT {COLUMNS} FROM items WHERE colour = %s AND id >= %s AND id < %s"
            seen.append(session.ask(by_colour, (colour, *span)))

        outcome, _ = self.session.transact("read", body)
        if outcome is Outcome.DONE:
            self._judge(colour, *seen)

    def _judge(self, colour: str, rows: list[Any], by_key: list[Any], by_colour: list[Any]) -> None:
        found = {row[0]: tuple(row[1:]) for row in rows}
        node, chronicle = self.session.node, self.stage.chronicle
        for fault in self.ledger.faults(found):
            chronicle.violation(self.name, f"read through {node}: {fault}")
        if len(found) != len(rows):
            chronicle.violation(self.name, f"read through {node}: a row twice among {sorted(row[0] for row in rows)}")
        for row in by_key:
            if found[row[0]] != tuple(row[1:]):
                chronicle.violation(self.name, f"read through {node}: by key {row}, by range {found[row[0]]}")
        expected = sorted(key for key, row in found.items() if row[2] == colour)
        if sorted(row[0] for row in by_colour) != expected:
            given = sorted(row[0] for row in by_colour)
            chronicle.violation(self.name, f"read through {node}: colour {colour} gives {given}, the range {expected}")
