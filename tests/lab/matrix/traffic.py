"""Writes and reads of two nodes while a change goes on: fixed rounds that meet every way a pair may change.

    a value changes, there and back        (2)
    a row goes, and comes again the same   (3): its entries' tombstones are overwritten
    a row gets another key                 (4) <-> (5)
    a row comes, and goes                  (6)

Row (1) stays, others refer to it. A refused write (a frozen node, a version without the column) is not acknowledged.
"""

from collections.abc import Collection, Iterator, Sequence

from catalog.descriptor import Descriptor
from catalog.elements import Column, State, TableId
from catalog.values.types import TEXTS
from lab.scripts.commands import Lab
from lab.simulator.context import Event
from lab.simulator.oracle import Write

KEYS = ("1", "2", "3", "4")
MAY_BE_NULL = "note"


def value_of(column: Column, key: str, round_number: int) -> str:
    """A literal that no other row has in this column; numbers in text, so that its type can change."""
    if column.name == "boss":
        return "1"
    if column.name in ("owner", "second"):
        return str(1 + round_number % 2)
    if column.name == MAY_BE_NULL and round_number % 3 == 0:
        return "null"
    number = key if round_number % 2 else f"{key}0"
    return f"'{number}'" if column.type in TEXTS else number


def insert(node: str, table: Descriptor, key: str, round_number: int) -> Event:
    values = tuple(value_of(column, key, round_number) for column in table.public_columns[1:])
    line = f"{node}: insert {table.name} ({', '.join((key, *values))})"
    return Event(line, Write(node, "insert", key, values), table=table.name)


def update(node: str, table: Descriptor, key: str, column: Column, round_number: int) -> Event:
    value = value_of(column, key, round_number)
    line = f"{node}: update {table.name} ({key}) set {column.name} = {value}"
    return Event(line, Write(node, "update", key, (value,), column.name), table=table.name)


def delete(node: str, table: Descriptor, key: str) -> Event:
    return Event(f"{node}: delete {table.name} ({key})", Write(node, "delete", key), table=table.name)


def move(node: str, table: Descriptor, key: str, to: str) -> Event:
    line = f"{node}: update {table.name} ({key}) set id = {to}"
    return Event(line, Write(node, "move", key, (to,)), table=table.name)


def first_rows(lab: Lab) -> Iterator[Event]:
    """Rows that are there before the change, and both nodes use the tables."""
    for table in tables_of(lab):
        for key in KEYS:
            yield insert("n1", table, key, int(key))
    yield from reads(lab)


def reads(lab: Lab) -> Iterator[Event]:
    for node in ("n1", "n2"):
        for table in tables_of(lab):
            yield Event(f"{node}: select {table.name}", reads=node, table=table.name)


def tables_of(lab: Lab, tables: Collection[TableId] = ()) -> list[Descriptor]:
    """The newest versions of these tables (all, without any) that may be named."""
    control = lab.world.control
    newest = [control.newest(table) for table in control.published if not tables or table in tables]
    return [table for table in newest if table.state is State.PUBLIC]


def meanwhile(lab: Lab, tables: Sequence[TableId], round_number: int) -> Iterator[Event]:
    """Events of one round on these tables: a write of each node, on different rows, and now and then a read."""
    for offset, table in enumerate(tables_of(lab, tables)):
        for number, node in enumerate(("n1", "n2")):
            yield write(node, table, round_number + 3 * number + offset)
        if round_number % 3 == offset:
            yield Event(
                f"n{1 + round_number % 2}: select {table.name}", reads=f"n{1 + round_number % 2}", table=table.name
            )


def write(node: str, table: Descriptor, round_number: int) -> Event:
    columns, lap = table.public_columns[1:], round_number // 6
    match round_number % 6:
        case 0 if columns:
            return update(node, table, "2", columns[lap % len(columns)], lap // len(columns) + 1)
        case 1:
            return delete(node, table, "3")
        case 2:
            return insert(node, table, "3", 3)
        case 3:
            return move(node, table, *(("4", "5") if lap % 2 == 0 else ("5", "4")))
        case 4:
            return insert(node, table, "6", lap)
        case _:
            return delete(node, table, "6")
