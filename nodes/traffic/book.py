"""The book of a traffic client: the rows it believes to be in its range of keys, and what it does next.

No other client writes its keys, so every answer can be checked. A statement of unknown outcome makes its row
*uncertain*: the next read settles it. If it may still take effect later, the row is *abandoned*: nothing is expected of
it. So it is with *foreign* rows, which an application inserted; those are never written, and stay.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from catalog.descriptor import Descriptor
from catalog.values.types import INT_LIMITS, SqlType

KEYS_PER_CLIENT = 10**6
WRITES_PERCENT = 67
WRITES = (("insert", "update", "delete"), (3, 3, 2))
READS = (("read", "look"), (3, 1))
ROWS_MIN = 5
"""There is something to read, whatever the share of writes."""
FIRST_KEY = 10**8
"""Far above the demo's keys."""


LAST_KEYS = {of: INT_LIMITS[of] - 1 for of in (SqlType.INTEGER, SqlType.BIGINT)}
Row = tuple[Any, ...]


class NotSuitable(Exception):
    """A table that traffic cannot run on."""


def first_free_range(highest_key: int | None) -> int:
    return 0 if highest_key is None or highest_key < FIRST_KEY else (highest_key - FIRST_KEY) // KEYS_PER_CLIENT + 1


def ranges_before(least_key: int | None, last_key: int) -> int:
    end = last_key + 1 if least_key is None else min(least_key, last_key + 1)
    return max(0, (end - FIRST_KEY) // KEYS_PER_CLIENT)


def choose_ranges(count: int, *, least_key: int | None, highest_key: int | None, last_key: int) -> tuple[int, int]:
    """The first of `count` empty ranges in a row, and how many are empty from there: behind all rows, else before them.
    The keys are those from `FIRST_KEY` on, `last_key` the last of the key's type. Raises `NotSuitable`."""
    behind = first_free_range(highest_key)
    for first, there in ((behind, ranges_before(None, last_key) - behind), (0, ranges_before(least_key, last_key))):
        if there >= count:
            return first, there
    raise NotSuitable(
        f"traffic needs {count} empty ranges of {KEYS_PER_CLIENT:,} keys from {FIRST_KEY:,} on, and the table has rows"
        f" up to {highest_key:,} of at most {last_key:,}: delete what earlier runs left there"
    )


@dataclass(frozen=True, slots=True)
class Shape:
    """The table traffic runs on: one integer key, and at least one other public column."""

    table: str
    key: str
    columns: tuple[str, ...]
    last_key: int = 2**63 - 1
    """Of the key's type."""


def shape_of(descriptor: Descriptor, only: Sequence[str] = ()) -> Shape:
    """The shape with all other public columns, or `only` these. Raises `NotSuitable` and says why."""
    if (
        descriptor.has_hidden_key
        or len(descriptor.primary_key) != 1
        or descriptor.key_columns[0].type not in (SqlType.INTEGER, SqlType.BIGINT)
    ):
        raise NotSuitable(f"table {descriptor.name} needs one integer or bigint column as primary key for traffic")
    others = tuple(c.name for c in descriptor.public_columns if c.id not in descriptor.primary_key)
    if not others:
        raise NotSuitable(f"table {descriptor.name} has no column besides its key: traffic has nothing to update")
    unknown = [name for name in only if name not in others]
    if unknown:
        raise NotSuitable(f"table {descriptor.name} has no column {unknown[0]} to use; it has {', '.join(others)}")
    key = descriptor.key_columns[0]
    return Shape(descriptor.name, key.name, tuple(only) or others, LAST_KEYS[key.type])


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
    foreign: set[int] = field(default_factory=set)
    inserting: dict[int, Row] = field(default_factory=dict)
    """Rows whose insert has an unknown outcome: what is found under such a key is its own only if it is the same."""
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
        newest = self.first + self.next_key - 1  # stays: who inserts behind the greatest key meets no used one
        return Delete(key) if kind == "delete" and key != newest else Read(key)

    def _insert(self) -> Insert:
        self.next_key += 1
        return Insert(self.first + self.next_key - 1, self.chance.choice(self.samples))

    def done(self, action: Write) -> None:
        after = self.after(action)
        if after is None:
            self.rows.pop(action.key, None)
        else:
            self.rows[action.key] = after

    def after(self, action: Write) -> Row | None:
        if isinstance(action, Insert):
            return action.row
        if isinstance(action, Delete):
            return None
        row = list(self.rows[action.key])
        row[action.column] = action.value
        return tuple(row)

    def doubt(self, action: Write) -> None:
        """It is unknown whether the statement took effect: the next read shows it."""
        self.uncertain.add(action.key)
        if isinstance(action, Insert):
            self.inserting[action.key] = action.row

    def settle(self, key: int, found: Row | None) -> None:
        self.uncertain.discard(key)
        inserted = self.inserting.pop(key, found)
        if found is None:
            self.rows.pop(key, None)
        elif found == inserted:
            self.rows[key] = found
        else:
            self.foreign.add(key)

    def abandon(self, action: Write) -> None:
        """It is unknown whether, or when, the last statement on the row takes effect."""
        self.rows.pop(action.key, None)
        self.uncertain.discard(action.key)
        self.abandoned.add(action.key)
        if isinstance(action, Insert):
            self.inserting[action.key] = action.row

    def leave(self, key: int) -> None:
        """An insert met a row that somebody else has inserted, or whose values somebody else has."""
        self.foreign.add(key)

    @property
    def has_written(self) -> bool:
        return bool(self.rows or self.uncertain or self.abandoned or self.inserting)

    def written(self) -> list[int]:
        return sorted((self.rows.keys() | self.uncertain | self.abandoned) - self.inserting.keys())

    def expects(self, key: int) -> bool:
        """False for a row of somebody else, and for one that may or may not be there."""
        return key < self.first + self.next_key and key not in self.foreign and key not in self.abandoned

    def having(self, column: int, value: Any) -> list[int]:
        return sorted(key for key, row in self.rows.items() if value is not None and row[column] == value)
