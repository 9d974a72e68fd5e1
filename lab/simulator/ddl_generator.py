"""The next DDL statement on the tables as they are now: an index, a table, one to three actions in one ALTER TABLE, a
foreign key, now and then a coordination. The planner refuses impossible combinations."""

from collections.abc import Callable, Sequence
from itertools import accumulate
from random import Random
from typing import TypeVar

from catalog.descriptor import Descriptor
from catalog.elements import Column, Coordination
from catalog.values.types import SqlType
from lab.simulator.context import Made, Situation, apart
from lab.simulator.faults import Fault

T = TypeVar("T")

PETS = "pets (id int primary key, name text, owner int)"
COORDINATION_SHARE = 0.08
COLUMNS_MAX = 5
"""A table that has so many gets no more."""

CASTS = {SqlType.INTEGER: ("bigint", "text"), SqlType.BIGINT: ("int", "text"), SqlType.TEXT: ("int",)}


def family(rng: Random) -> tuple[float, ...]:
    """Cumulative weights: how often a seed submits each kind of change."""
    return tuple(accumulate(weight * rng.choice((0.2, 1.0, 1.0, 4.0)) for weight, _ in FAMILIES))


def submit(now: Situation) -> Made:
    if now.change is not None:
        return None
    other = apart(now.rng)
    if Fault.UNLEASED in now.faults and other.random() < COORDINATION_SHARE:
        return f"alter table {now.some_table().name} set (coordination = '{other.choice(list(Coordination)).value}')"
    _, maker = now.rng.choices(FAMILIES, cum_weights=now.habits.family)[0]
    return maker(now)


def _index(now: Situation) -> Made:
    table, number = now.some_table(), len(now.lab.changes)
    if table.indexes and now.rng.random() < 0.4:
        return f"drop index {_one(now, table.indexes).name}"
    unique = "unique " if now.rng.random() < 0.12 else ""
    return f"create {unique}index i{number} on {table.name} {_index_columns(now, table)}"


def _index_columns(now: Situation, table: Descriptor) -> str:
    columns = [column.name for column in table.public_columns[1:]]
    if not columns:
        return "(id)"
    first, dice = now.pick(*columns), now.rng.random()
    if dice < 0.25:
        return f"({first} desc, id)"
    others = [column for column in columns if column != first]
    return f"({now.pick(*others)}, {first})" if dice < 0.5 and others else f"({first})"


def _table(now: Situation) -> Made:
    return f"create table {PETS}" if now.pets is None else "drop table pets"


def _refer(now: Situation) -> Made:
    """A foreign key: from pets to users, seldom the other way round or within users."""
    known = [table for table in (now.users, now.pets) if table is not None]
    there = [(table.name, foreign_key.name) for table in known for foreign_key in table.foreign_keys]
    if there and now.rng.random() < 0.6:
        table, name = _one(now, there)
        return f"alter table {table} drop constraint {name}"
    child = now.pets if now.pets is not None and now.rng.random() < 0.85 else now.users
    part = _foreign_key(now, child, str(len(now.lab.changes)))
    return None if part is None else f"alter table {child.name} {part}"


def _foreign_key(now: Situation, child: Descriptor, label: str) -> str | None:
    pets = now.pets
    is_to_pets = pets is not None and child.table_id == now.users.table_id and now.rng.random() < 0.5
    parent = pets if is_to_pets and pets is not None else now.users
    whole = (index for index in parent.public_indexes if index.unique and index.where is None)
    unique = [parent.column(index.column_ids[0]) for index in whole if len(index.columns) == 1]
    target = _one(now, [parent.key_columns[0], *unique])
    fitting = [column for column in child.public_columns[1:] if column.type is target.type]
    if not fitting:
        return None
    how = now.pick("", "", " on delete restrict", " on update restrict")
    what = f"foreign key ({_one(now, fitting).name}) references {parent.name} ({target.name}){how}"
    return f"add constraint f{label} {what}"


# ALTER TABLE


def _alter(now: Situation) -> Made:
    table = now.some_table()
    columns = table.public_columns[1:]
    parts = []
    for nth in range(1 + int(now.rng.random() * 3)):
        column = _one(now, columns) if columns else None
        parts.append(_part(now, table, column, f"{len(now.lab.changes)}{'abc'[nth]}"))
    distinct = [part for part in dict.fromkeys(parts) if part is not None]
    return f"alter table {table.name} {', '.join(distinct)}" if distinct else None


def _part(now: Situation, table: Descriptor, column: Column | None, label: str) -> str | None:
    dice = now.rng.random()
    if column is None or (dice < 0.3 and len(table.columns) < COLUMNS_MAX):
        return f"add column c{label} {now.pick(*NEW_COLUMNS)}"
    if dice < 0.46:
        return f"drop column {column.name}"
    if dice < 0.58:
        return f"alter column {column.name} {'drop' if column.not_null else 'set'} not null"
    if dice < 0.7:
        own = [one for one in table.constraints if one.expression is not None]
        if own:
            return f"drop constraint {_one(now, own).name}"
        value = "'c'" if column.type is SqlType.TEXT else now.pick("2", "3")
        return f"add constraint k{label} check ({column.name} <> {value})"
    if dice < 0.77:
        return _foreign_key(now, table, label)
    if dice < 0.84:
        return f"rename column {column.name} to r{label}"
    return f"alter column {column.name} type {now.pick(*CASTS[column.type])}" if column.type in CASTS else None


NEW_COLUMNS = (
    "text",
    "int",
    "int not null default 2",
    "text not null default 'b'",
    "int default 1",
    "bigint default 2",
    "int references users",
)


def _one(now: Situation, of: Sequence[T]) -> T:
    return of[int(now.rng.random() * len(of))]


FAMILIES: tuple[tuple[float, Callable[[Situation], Made]], ...] = (
    (50, _index),
    (10, _table),
    (25, _alter),
    (20, _refer),
)
