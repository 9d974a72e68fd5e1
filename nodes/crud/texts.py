"""An operation as a statement under one version of its table: SQL text, and the values of its parameters. An operation
has no way of its own to a pair: its statement is planned and done like any other. Equal shapes give equal texts, so
that the parse is kept with the text and the plan with the version."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from catalog.descriptor import Descriptor
from catalog.elements import Column, Index
from catalog.text.similar import perhaps
from catalog.text.sql_names import quoted
from nodes.crud import orders
from nodes.crud.errors import named, unknown_field
from nodes.crud.values import Assignment, Condition, named_key
from nodes.sql.readable import ROW_ID

FlatRow = dict[str, str | None]


@dataclass(frozen=True, slots=True)
class Text:
    sql: str
    values: tuple[str | None, ...] = ()


class _Values:
    def __init__(self) -> None:
        self.values: list[str | None] = []

    def add(self, value: str | None) -> str:
        self.values.append(value)
        return f"${len(self.values)}"


def shown_columns(descriptor: Descriptor, fields: Sequence[str] | None) -> list[Column]:
    """The columns of an answer: those that are asked for, or all. Raises `UnknownFieldError`."""
    if fields is None:
        return list(descriptor.public_columns)
    known = {column.name: column for column in descriptor.public_columns}
    missing = [name for name in fields if name not in known]
    if missing:
        meant = perhaps("column", missing[0], known)
        raise unknown_field(f'column "{named(missing[0])}" of option fields does not exist in {descriptor}', hint=meant)
    return [known[name] for name in fields]


def insert(
    descriptor: Descriptor,
    rows: Sequence[FlatRow],
    shown: Sequence[Column],
    *,
    verb: str,
    updates: Sequence[Assignment] = (),
) -> Text:
    """INSERT, with ON CONFLICT on the primary key for replace (all columns anew) and upsert (`updates`, of all rows). A
    column that only some rows name takes its default in the others."""
    values, names = _Values(), list(dict.fromkeys(name for row in rows for name in row))
    if not names and len(rows) > 1:
        names = [descriptor.public_columns[0].name]  # DEFAULT VALUES is one row
    listed = [f"({', '.join(values.add(row[n]) if n in row else 'DEFAULT' for n in names)})" for row in rows]
    what = f"({', '.join(map(quoted, names))}) VALUES {', '.join(listed)}" if names else "DEFAULT VALUES"
    conflict = ""
    if verb != "insert":
        key = named_key(descriptor)
        if verb == "replace":  # of a table that is nothing but its key, the key, so that the row is returned
            put = [c for c in descriptor.public_columns if c.id not in descriptor.declared_key] or key
            changes = ", ".join(f"{quoted(c.name)} = excluded.{quoted(c.name)}" for c in put)
        else:
            changes = _set(descriptor, updates, values)
        conflict = f" ON CONFLICT ({', '.join(quoted(column.name) for column in key)}) DO UPDATE SET {changes}"
    return Text(f"INSERT INTO {quoted(descriptor.name)} {what}{conflict}{_returning(shown)}", tuple(values.values))


def _set(descriptor: Descriptor, updates: Sequence[Assignment], values: _Values) -> str:
    found = []
    for one in updates:
        column, value = quoted(one.column), values.add(one.value)
        old = f"{quoted(descriptor.name)}.{column} {one.op} " if one.op != "=" else ""
        found.append(f"{column} = {old}{value}")
    return ", ".join(found)


def _returning(shown: Sequence[Column]) -> str:
    return f" RETURNING {_list(shown)}" if shown else ""


def _list(shown: Sequence[Column]) -> str:
    return ", ".join(quoted(column.name or ROW_ID) for column in shown)


def _key(key: Sequence[tuple[Column, str | None]], values: _Values) -> str:
    return " AND ".join(f"{quoted(column.name)} = {values.add(value)}" for column, value in key)


def get(descriptor: Descriptor, key: Sequence[tuple[Column, str | None]], shown: Sequence[Column]) -> Text:
    values = _Values()
    where = _key(key, values)
    return Text(f"SELECT {_list(shown)} FROM {quoted(descriptor.name)} WHERE {where}", tuple(values.values))


def update(
    descriptor: Descriptor,
    key: Sequence[tuple[Column, str | None]],
    updates: Sequence[Assignment],
    shown: Sequence[Column],
) -> Text:
    values = _Values()
    changes = _set(descriptor, updates, values)
    sql = f"UPDATE {quoted(descriptor.name)} SET {changes} WHERE {_key(key, values)}{_returning(shown)}"
    return Text(sql, tuple(values.values))


def delete(descriptor: Descriptor, key: Sequence[tuple[Column, str | None]], shown: Sequence[Column]) -> Text:
    values = _Values()
    sql = f"DELETE FROM {quoted(descriptor.name)} WHERE {_key(key, values)}{_returning(shown)}"
    return Text(sql, tuple(values.values))


def select(descriptor: Descriptor, given: Sequence[Condition], shown: Sequence[Column] | None) -> Text:
    """The rows that meet all conditions, in no order; without `shown` their number."""
    values = _Values()
    what = "count(*)" if shown is None else _list(shown)
    met = [orders.condition(descriptor, one, values.add) for one in given]
    where = f" WHERE {' AND '.join(met)}" if met else ""
    return Text(f"SELECT {what} FROM {quoted(descriptor.name)}{where}", tuple(values.values))


def ordered(
    descriptor: Descriptor,
    given: Sequence[Condition],
    shown: Sequence[Column],
    *,
    index: Index | None = None,
    backwards: bool = False,
    after: Mapping[str, str | None] | None = None,
    first: int | None = None,
) -> Text:
    """The rows that meet all conditions, in the order of an index, or of the primary key: all, or the `first` so many
    behind the row `after`, before it where that goes backwards."""
    values, parts = _Values(), orders.parts_of(descriptor, index)
    met = [orders.condition(descriptor, one, values.add) for one in given]
    if after is not None:
        met.append(orders.beyond(parts, after, values.add, backwards=backwards))
    where = f" WHERE {' AND '.join(met)}" if met else ""
    order, limit = orders.order_by(parts, backwards=backwards), "" if first is None else f" LIMIT {first}"
    sql = f"SELECT {_list(shown)} FROM {quoted(descriptor.name)}{where} ORDER BY {order}{limit}"
    return Text(sql, tuple(values.values))
