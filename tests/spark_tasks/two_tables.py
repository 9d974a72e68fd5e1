"""Trips that refer to airports, on real storages, and writers that obey the foreign key from both sides."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import psycopg

from catalog.descriptor import Descriptor
from catalog.elements import EXISTS, FOREIGN_KEY, REFERENCED, Column, ColumnId, Constraint, ConstraintId, State, TableId
from catalog.values.types import SqlType
from spark_tasks.reorganise.tombstones import key_space
from storage import encoding
from storage.integrity.clauses import Referenced, Violation
from storage.integrity.references import place_of, refers_to
from storage.mutations import delete_row, insert_row
from storage.pairs import StoredRow, column_key, prefix, row_key
from storage.statements import bounds, get_sql, lookup, scan_sql
from tests.references import CITY, NAME, TRIP_CITY, TRIP_CODE, linked
from tests.storage import pairs_sql
from tests.storage.stage import STORAGES, Stage, Statements


class Refused(Exception):
    """What the foreign key forbids."""


def text(value: str | None) -> bytes:
    return encoding.encode(SqlType.TEXT, value)


@dataclass
class TwoTables:
    """`trips` and `airports`; versions of both are published together."""

    trips: Stage
    airports: Stage

    def link(self, state: State, **how: Any) -> None:
        """Add the foreign key in `state` (`tests.references.linked`)."""
        self._publish(*linked(self.trips.now, self.airports.now, state, **how))

    def to(self, state: State) -> None:
        """Both sides of all foreign keys in `state`."""
        self._publish(moved(self.trips.now, state), moved(self.airports.now, state))

    def _publish(self, child: Descriptor, parent: Descriptor) -> None:
        self.trips.publish(child)
        self.airports.publish(parent)

    @property
    def foreign_key(self) -> Constraint:
        return self.trips.now.foreign_keys[0]

    @property
    def said(self) -> dict[str, Any]:
        """The foreign key as a run is told of it."""
        one = self.foreign_key
        partner = [self.airports.table_id, one.partner]
        return {"kind": one.kind.value, "id": one.id, "name": one.name, "partner": partner}

    def violations(self) -> list[Violation]:
        """What the clauses say of the trips."""
        return self.trips.violations(referenced=[Referenced(self.airports.now, self.airports.contents())])

    # --- rows

    def airport(self, code: str, city: str | None = None) -> StoredRow:
        return StoredRow(row_key(self.airports.now, [code]), {NAME: text(None), CITY: text(city)})

    def trip(self, number: int, code: str | None, city: str | None = None) -> StoredRow:
        return StoredRow(row_key(self.trips.now, [number]), {TRIP_CODE: text(code), TRIP_CITY: text(city)})

    def fill(self, airports: Iterable[str], trips: Iterable[str | None]) -> None:
        """Airports by code, trips 0, 1, .. by code, past every rule."""
        self.airports.insert(self.airport(code) for code in airports)
        self.trips.insert(self.trip(number, code) for number, code in enumerate(trips))

    # --- nodes that obey it

    @contextmanager
    def transaction(self) -> Iterator[tuple[Statements, Statements]]:
        """A transaction that has entered both tables: statements on trips, and on airports."""
        with self.trips.connect() as opened:
            self.trips.enter(opened)
            self.airports.enter(opened)
            yield Statements(self.trips, opened), Statements(self.airports, opened)

    def insert_trip(self, number: int, code: str) -> None:
        row = self.trip(number, code)
        with self.transaction() as (trips, _):
            trips.run(insert_row(self.trips.now, row))
            if not self.is_there(trips.connection, row):
                raise Refused(f"no airport {code}")

    def delete_airport(self, code: str) -> None:
        with self.transaction() as (trips, airports):
            airports.run(delete_row(self.airports.now, self.airport(code)))
            if self.is_referred_to(trips.connection, code):
                raise Refused(f"a trip refers to {code}")

    def is_there(self, connection: psycopg.Connection[Any], trip: StoredRow) -> bool:
        values = refers_to(self.trips.now, self.foreign_key, trip)
        assert values is not None
        key = place_of(self.airports.now, self.foreign_key, values, 3000).key
        return any(
            connection.execute(get_sql(storage, self.airports.table_id), lookup([key])).fetchall()
            for storage in range(1, STORAGES + 1)
        )

    def is_referred_to(self, connection: psycopg.Connection[Any], code: str) -> bool:
        rows = key_space(self.trips.now)
        return any(
            value == text(code)
            for storage in range(1, STORAGES + 1)
            for _, value in connection.execute(
                scan_sql(storage, self.trips.table_id, columns=True), (*bounds(rows.low, rows.high), [TRIP_CODE], None)
            ).fetchall()
        )

    # --- keys, for damage

    def trip_pair(self, number: int, column: ColumnId = TRIP_CODE) -> bytes:
        return self._pair(self.trips, self.trip(number, None).key, column)

    def airport_pair(self, code: str) -> bytes:
        return self._pair(self.airports, self.airport(code).key, EXISTS)

    @staticmethod
    def _pair(stage: Stage, key: bytes, column: ColumnId) -> bytes:
        return column_key(prefix(stage.now, stage.now.placement.id), key, column)


def moved(table: Descriptor, state: State) -> Descriptor:
    """The next version, with both sides of every foreign key in `state`."""
    constraints = tuple(
        replace(c, state=state) if c.rule in (FOREIGN_KEY, REFERENCED) else c for c in table.constraints
    )
    return table.next_version(constraints=constraints)


def overwrite(stage: Stage, key: bytes, value: bytes | None) -> None:
    """Another value for a pair, past every rule; None: a tombstone."""
    for storage in range(1, STORAGES + 1):
        stage.sql(*pairs_sql.change(storage, stage.table_id, key, value))


def remove(stage: Stage, key: bytes) -> None:
    for storage in range(1, STORAGES + 1):
        stage.sql(*pairs_sql.delete(storage, stage.table_id, key))


# --- a table that refers to itself

STAFF_ID, BOSS = ColumnId(1), ColumnId(2)


def staff(table_id: TableId) -> Descriptor:
    """staff (id bigint primary key, boss bigint), version 1."""
    columns = (Column(STAFF_ID, "id", SqlType.BIGINT, not_null=True), Column(BOSS, "boss", SqlType.BIGINT))
    return Descriptor(table_id, "staff", 1, columns, (STAFF_ID,), next_column_id=ColumnId(3))


def bossed(table: Descriptor, state: State) -> Descriptor:
    """The next version of staff, in which bosses are staff."""
    here, there = ConstraintId(1), ConstraintId(2)
    own = Constraint(
        here, "staff_boss_fkey", FOREIGN_KEY, (BOSS,), references=table.table_id, reference_columns=(STAFF_ID,),
        state=state, partner=there,
    )  # fmt: skip
    partner = replace(own, id=there, rule=REFERENCED, columns=(STAFF_ID,), reference_columns=(BOSS,), partner=here)
    return table.next_version(constraints=(own, partner), next_constraint_id=ConstraintId(3))


def member(table: Descriptor, number: int, boss: int | None) -> StoredRow:
    return StoredRow(row_key(table, [number]), {BOSS: encoding.encode(SqlType.BIGINT, boss)})
