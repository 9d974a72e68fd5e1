"""The clients of a run: transactions, and statements whose values fit the columns of the version that the session uses,
or of the newest one before its node leases it: then the statement is refused, as a client's would be."""

from catalog.descriptor import Descriptor
from catalog.elements import Column
from catalog.values.types import SqlType
from lab.simulator.context import Event, Made, Situation
from lab.simulator.oracle import Write

SESSIONS = ("a", "b")
NUMBERS = ("1", "2")


def client(now: Situation) -> Made:
    node = now.node
    if not node.is_running:
        return None
    session = f"{node.name}.{now.pick(*SESSIONS)}"
    is_open = session in now.lab.world.transactions
    if node.is_frozen:
        return f"{session}: late commit" if is_open and now.rng.random() < 0.05 else None
    if is_open and now.lab.world.transactions[session].is_sent:
        if now.rng.random() < 0.5:
            return None
        is_lost = now.lab.world.transactions[session].is_lost
        return f"{session}: ask" if is_lost or now.rng.random() < 0.5 else f"{session}: commit"
    if is_open and now.rng.random() > now.habits.haste:
        return None
    dice = now.rng.random()
    if not is_open:
        return f"{session}: begin" if dice < 0.3 else _statement(now, session)
    if dice < 0.12 and not now.lab.world.transactions[session].pins:
        return f"{session}: pin {now.some_table().name}"
    if dice < 0.4:
        return f"{session}: {'commit' if dice < 0.37 else 'rollback'}"
    return _statement(now, session)


def _statement(now: Situation, session: str) -> Event:
    key, dice = now.pick(*now.habits.keys), now.rng.random()
    known = _known(now, session)
    table = known.name
    if dice < 0.3:
        return insert(now, session, known, key)
    if dice < 0.55 and len(known.public_columns) > 1:
        columns = known.public_columns[1:]
        column = columns[int(now.rng.random() * len(columns))]
        value = value_for(now, column)
        write = Write(session, "update", key, (value,), column.name)
        return Event(f"{session}: update {table} ({key}) set {column.name} = {value}", write, table=table)
    if dice < 0.62:
        to = now.pick(*now.habits.keys)
        line = f"{session}: update {table} ({key}) set id = {to}"
        return Event(line, Write(session, "move", key, (to,)), table=table)
    if dice < 0.8:
        return Event(f"{session}: delete {table} ({key})", Write(session, "delete", key), table=table)
    return Event(f"{session}: select {table}{_by_some_index(now, table)}", reads=session, table=table)


def _known(now: Situation, session: str) -> Descriptor:
    newest = now.some_table()
    one = now.lab.world.transactions.get(session)
    if one is None or newest.table_id not in one.pins:
        return newest
    pinned = now.lab.world.control.version(newest.table_id, one.pins[newest.table_id][1])
    return pinned if pinned.name == newest.name else newest


def insert(now: Situation, session: str, known: Descriptor, key: str) -> Event:
    values = tuple(value_for(now, column) for column in known.public_columns[1:])
    line = f"{session}: insert {known.name} ({', '.join((key, *values))})"
    return Event(line, Write(session, "insert", key, values), table=known.name)


def value_for(now: Situation, column: Column) -> str:
    """A literal of the column's type. Numbers are few, so that rows refer to rows."""
    if column.type is SqlType.TEXT:
        return now.pick(*now.habits.names)
    return "null" if not column.not_null and now.rng.random() < 0.08 else now.pick(*NUMBERS)


def _by_some_index(now: Situation, table: str) -> str:
    known = now.lab.world.control.newest(now.lab.world.control.find(table)).indexes
    return f" by {known[int(now.rng.random() * len(known))].name}" if known and now.rng.random() < 0.7 else ""


def reader(now: Situation) -> Made:
    """A query begins and reads on, or returns its rows; its lease may be over by then (T4)."""
    node = now.node
    if not node.is_running or node.is_frozen:
        return None
    session = f"{node.name}.{now.pick(*SESSIONS)}"
    one = now.lab.world.transactions.get(session)
    if one is not None and one.query is not None:
        return Event(f"{session}: finish select", reads=session) if now.rng.random() < 0.3 else None
    table = _known(now, session).name
    return f"{session}: start select {table}{_by_some_index(now, table)}"


def caller(now: Situation) -> Made:
    node = now.node
    if not node.is_running or node.is_frozen:
        return None
    name = f"as c{len(now.calls)}"
    mine = [call for call in now.calls if call.startswith(f"{node.name}:")]
    if mine and now.rng.random() < 0.6:
        now.calls.remove(mine[0])
        return mine[0]
    table = now.some_table().name
    now.calls.append(f"{node.name}: give {table} {name}")
    return f"{node.name}: take {table}{' fresh' if now.rng.random() < 0.4 else ''} {name}"
