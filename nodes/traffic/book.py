"""The book of a traffic client: the rows it believes to be in its range of keys, and what it does next.

Each client owns a range of keys that nobody else writes, so every answer can be checked: a row it
wrote must be there as written, and a look by another column must find exactly its rows with that
value, whether an index answers or a scan. An acknowledged write that is missing is an error.

When a connection is lost at the wrong moment the client cannot know whether its statement took
effect: the row becomes *uncertain* and the next read settles it. When it did not wait for the end (a node that stands
still), the statement may take effect later: the row is *abandoned*, and nothing is expected of it any more.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from catalog.descriptor import Descriptor
from catalog.types import SqlType

KEYS_PER_CLIENT = 10**6
WRITES_PERCENT = 67
WRITES = (("insert", "update", "delete"), (3, 3, 2))
READS = (("read", "look"), (3, 1))
ROWS_MIN = 5
"""There is something to read, whatever the share of writes."""
FIRST_KEY = 10**8
"""Far above the demo's keys."""


def first_free_range(highest_key: int | None) -> int:
    """The number of the first range of keys that an earlier run has left empty."""
    return 0 if highest_key is None or highest_key < FIRST_KEY else (highest_key - FIRST_KEY) // KEYS_PER_CLIENT + 1


Row = tuple[Any, ...]


class NotSuitable(Exception):
    """A table that traffic cannot run on."""


@dataclass(frozen=True, slots=True)
class Shape:
    """The table traffic runs on: one integer key, and at least one other public column."""

    table: str
    key: str
    columns: tuple[str, ...]


def shape_of(descriptor: Descriptor, only: Sequence[str] = ()) -> Shape:
    """The shape with all other public columns, or `only` these. Raises `NotSuitable` and says why."""
    if len(descriptor.primary_key) != 1 or descriptor.key_columns[0].type not in (SqlType.INTEGER, SqlType.BIGINT):
        raise NotSuitable(f"table {descriptor.name} needs one integer or bigint column as primary key for traffic")
    others = tuple(c.name for c in descriptor.public_columns if c.id not in descriptor.primary_key)
    if not others:
        raise NotSuitable(f"table {descriptor.name} has no column besides its key: traffic has nothing to update")
    unknown = [name for name in only if name not in others]
    if unknown:
        raise NotSuitable(f"table {descriptor.name} has no column {unknown[0]} to use; it has {', '.join(others)}")
    return Shape(descriptor.name, descriptor.key_columns[0].name, tuple(only) or others)


@dataclass(frozen=True, slots=True)
class Insert:
    key: int
    row: Row


@dataclass(frozen=True, slots=True)
class Update:
    key: int
    column: int
    value: Any


@dataclass(frozen=True, slots=True)
class Delete:
    key: int


@dataclass(frozen=True, slots=True)
class Read:
    key: int


@dataclass(frozen=True, slots=True)
class Look:
    """Find the own rows with `value` in a column."""

    column: int
    value: Any


Action = Insert | Update | Delete | Read | Look
Write = Insert | Update | Delete


@dataclass(slots=True)
class Book:
    """A client's own rows. `samples` are rows whose values it uses, `first` is the start of its keys."""

    first: int
    samples: Sequence[Row]
    chance: random.Random
    writes_percent: int = WRITES_PERCENT
    rows: dict[int, Row] = field(default_factory=dict)
    uncertain: set[int] = field(default_factory=set)
    abandoned: set[int] = field(default_factory=set)
    next_key: int = 0

    @property
    def limit(self) -> int:
        return self.first + KEYS_PER_CLIENT

    def choose(self) -> Action:
        """The next action: what is uncertain is read first, then a mix of reads and writes."""
        if self.uncertain:
            return Read(min(self.uncertain))
        if len(self.rows) < ROWS_MIN:
            return self._insert()
        is_write = self.chance.random() * 100 < self.writes_percent
        kind = self.chance.choices(*(WRITES if is_write else READS))[0]
        if kind == "insert":
            return self._insert()
        key, sample = self.chance.choice(list(self.rows)), self.chance.choice(self.samples)
        column = self.chance.randrange(len(sample))
        if kind == "update":
            return Update(key, column, sample[column])
        if kind == "look":
            return Look(column, sample[column])
        return Delete(key) if kind == "delete" else Read(key)

    def _insert(self) -> Insert:
        self.next_key += 1
        return Insert(self.first + self.next_key - 1, self.chance.choice(self.samples))

    def done(self, action: Write) -> None:
        """The statement was acknowledged."""
        after = self.after(action)
        if after is None:
            self.rows.pop(action.key, None)
        else:
            self.rows[action.key] = after

    def after(self, action: Write) -> Row | None:
        """The row as it is once `action` has taken effect; None when it is deleted."""
        if isinstance(action, Insert):
            return action.row
        if isinstance(action, Delete):
            return None
        row = list(self.rows[action.key])
        row[action.column] = action.value
        return tuple(row)

    def settle(self, key: int, found: Row | None) -> None:
        """An uncertain row was read."""
        self.uncertain.discard(key)
        if found is None:
            self.rows.pop(key, None)
        else:
            self.rows[key] = found

    def abandon(self, key: int) -> None:
        """Nobody knows whether, or when, the last statement on the row takes effect."""
        self.rows.pop(key, None)
        self.uncertain.discard(key)
        self.abandoned.add(key)

    def having(self, column: int, value: Any) -> list[int]:
        """The keys of own rows with `value` in a column; NULL equals nothing."""
        return sorted(key for key, row in self.rows.items() if value is not None and row[column] == value)
