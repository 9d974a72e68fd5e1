"""Rows in the order of an index: the columns of the order, and which rows come after one, or before it.

    by_age (age DESC), primary key (id)     ORDER BY age DESC, id
    before (30, 7)                          age > 30 or age is NULL, or age = 30 and id < 7

NULL stands where PostgreSQL puts it: last, or first in a descending column. A condition that names an index compares
its columns, as many as it has values for, one after the other.
"""

from collections.abc import Callable, Mapping, Sequence

from catalog.descriptor import Descriptor
from catalog.elements import Column, Index
from catalog.text.numbers import counted
from catalog.text.sql_names import quoted
from nodes.crud.errors import bad_row, named, unknown_index
from nodes.crud.values import Condition, named_key
from nodes.sql.readable import ROW_ID

Parts = Sequence[tuple[Column, bool]]
"""The columns of an order, and whether each descends."""
Add = Callable[[str | None], str]
"""The number of a parameter with this value."""


def index_named(descriptor: Descriptor, name: str) -> Index:
    """Raises `UnknownIndexError` where there is none over all rows."""
    found = next((one for one in descriptor.public_indexes if one.name == name and one.where is None), None)
    if found is None:
        names = [one.name for one in descriptor.public_indexes if one.where is None]
        there = f"there are {', '.join(names)}" if names else "there is none"
        raise unknown_index(f'there is no index "{named(name)}" over all rows of {descriptor}: {there}')
    return found


def parts_of(descriptor: Descriptor, index: Index | None) -> Parts:
    """The columns of an index, then those of the primary key, which make the order one of all rows."""
    if index is None and not descriptor.declared_key:
        return [(column, False) for column in descriptor.key_columns]
    found = [(column, False) for column in named_key(descriptor)]
    if index is None:
        return found
    first = [(descriptor.column(part.column), part.descending) for part in index.columns]
    names = {column.id for column, _ in first}
    return first + [(column, down) for column, down in found if column.id not in names]


def index_of(descriptor: Descriptor, conditions: Sequence[Condition]) -> Index | None:
    """The index whose order is asked for: that of the first condition which names one. None: the primary key's."""
    columns = {column.name for column in descriptor.public_columns}
    indexes = {index.name for index in descriptor.public_indexes}
    name = next((one.column for one in conditions if one.column not in columns and one.column in indexes), None)
    return None if name is None else index_named(descriptor, name)


def order_by(parts: Parts, *, backwards: bool) -> str:
    return ", ".join(
        f"{quoted(column.name or ROW_ID)}{' DESC' if down is not backwards else ''}" for column, down in parts
    )


def beyond(parts: Parts, row: Mapping[str, str | None], add: Add, *, backwards: bool) -> str:
    ways = list[str]()
    for place, (column, down) in enumerate(parts):
        name, value, grows = quoted(column.name), row[column.name], down is backwards
        if value is None and grows:  # NULL is last: nothing stands behind it
            continue
        if value is None:
            further = f"{name} IS NOT NULL"
        else:
            further = f"({name} > {add(value)} OR {name} IS NULL)" if grows else f"{name} < {add(value)}"
        equal = [_compared(quoted(before.name), "=", row[before.name], add) for before, _ in parts[:place]]
        ways.append(" AND ".join([*equal, further]))
    return f"({' OR '.join(f'({way})' for way in ways)})"


def condition(descriptor: Descriptor, one: Condition, add: Add) -> str:
    """A condition in SQL, on a column or on the first columns of an index. Raises `FlattenError`."""
    columns = {column.name for column in descriptor.public_columns}
    indexes = {index.name for index in descriptor.public_indexes}
    if one.column in columns or one.column not in indexes:
        if isinstance(one.value, tuple):
            raise bad_row(f'"{one.column}" takes one value: a list is for a condition that names an index')
        return _compared(quoted(one.column), one.op, one.value, add)
    index = index_named(descriptor, one.column)
    values = one.value if isinstance(one.value, tuple) else (one.value,)
    if len(values) > len(index.columns):
        named = ", ".join(descriptor.column(part.column).name for part in index.columns)
        has = f"{counted(len(index.columns), 'column')}, {named}"
        raise bad_row(f"{counted(len(values), 'value')}: index {index.name} has {has}")
    names = [quoted(descriptor.column(part.column).name) for part in index.columns]
    given = list(zip(names, values, strict=False))
    if one.op == "=" or not given:
        return " AND ".join(_compared(name, "=", value, add) for name, value in given) or "true"
    ways = []
    for place, (name, value) in enumerate(given):
        op = one.op if place == len(given) - 1 else one.op.rstrip("=")
        equal = [_compared(*before, add) for before in ((n, "=", v) for n, v in given[:place])]
        ways.append(" AND ".join([*equal, _compared(name, op, value, add)]))
    return f"({' OR '.join(f'({way})' for way in ways)})"


def _compared(name: str, op: str, value: str | None, add: Add) -> str:
    return f"{name} IS NULL" if value is None and op == "=" else f"{name} {op} {add(value)}"
