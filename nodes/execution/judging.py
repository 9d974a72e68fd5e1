"""A statement that writes, judged by PostgreSQL: parsed over empty tables of the versions that it uses, and never done.

    session apart     CREATE TABLE pg_temp.t (..)      once for a version
                      parse · describe                 the client's own words

The tables stay in the session, which does nothing else, for the next statements: an hour at most, as VACUUM can freeze
none that is temporary.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from weakref import WeakKeyDictionary

from psycopg import pq

from catalog.descriptor import Descriptor
from catalog.text.sql_names import quoted
from nodes.context import Environment
from nodes.sql.naming import ViewInUse
from nodes.sql.writes.questions import Described, EmptyTable, Undescribed, empty_table, empty_view
from nodes.store import reader, refusals
from nodes.store.pipeline import (
    Command,
    DescribeCommand,
    StoreConnection,
    StoreConnectionLost,
    StoreError,
    UsersCommand,
)
from nodes.store.relay import fields_in
from nodes.wire.messages import Field
from storage.postgres import USERS_SETTINGS

TABLES_MAX = 200
"""Empty tables that a session keeps."""
KEPT_S = 3600.0


@dataclass(slots=True)
class _Kept:
    """The empty tables of a session by their names, each with its oid, and since when the oldest is there."""

    tables: dict[str, tuple[EmptyTable, int]] = field(default_factory=dict)
    since: float = 0.0

    def lacks(self, table: EmptyTable) -> bool:
        return table.name not in self.tables or self.tables[table.name][0] != table


_KEPT: "WeakKeyDictionary[StoreConnection, _Kept]" = WeakKeyDictionary()


async def judged(
    env: Environment,
    asked: Undescribed,
    tables: Mapping[str, Descriptor],
    views: Mapping[str, ViewInUse],
    style: Sequence[str],
) -> Described:
    """The parameters and columns of a statement. Raises what is wrong with it."""
    wanted = [*map(empty_table, tables.values()), *map(empty_view, views.values())]
    text = asked.judged([one.name for one in wanted])

    def offset_of(position: int) -> int:
        return asked.place(len(text.original[: text.position(position) - 1].encode()))

    command = DescribeCommand(text.text, oids=asked.oids, offset_of=offset_of)
    try:
        shown, found = await _described(env, wanted, reader.before(style, scans=False), command)
    except StoreConnectionLost as lost:
        raise refusals.why_ended((), lost) from lost
    except StoreError as error:
        raise asked.explained(refusals.users_error(error, command), tables) from error
    places = [(found.ftable(n), found.ftablecol(n)) for n in range(found.nfields)]
    columns = [_placed(column, shown, *place) for column, place in zip(fields_in(found), places, strict=True)]
    return Described(tuple(found.param_type(number) for number in range(found.nparams)), columns)


async def _described(
    env: Environment, wanted: Sequence[EmptyTable], before: Command, command: DescribeCommand
) -> "tuple[Mapping[int, EmptyTable], pq.abc.PGresult]":
    """The tables of a session, and what it says. An idle one may have ended unseen: then all of them are made anew."""
    left = env.judging_pool.size_max
    while True:
        async with env.judging_pool.session() as session:
            try:
                shown = await _with_tables(session, wanted)
                return shown, (await session.run([before, command]))[1]
            except StoreConnectionLost:
                left -= 1
                if left < 0:
                    raise


def _placed(column: Field, shown: Mapping[int, EmptyTable], oid: int, number: int) -> Field:
    """The column, with the numbers of the table's column that it shows."""
    table = shown.get(oid)
    return column if table is None else replace(column, table=table.number, column=table.columns[number - 1])


async def _with_tables(session: StoreConnection, wanted: Sequence[EmptyTable]) -> Mapping[int, EmptyTable]:
    """The empty tables of a session by their oids, these among them."""
    kept = _KEPT.setdefault(session, _Kept())
    made, is_old = [one for one in wanted if kept.lacks(one)], time.monotonic() - kept.since > KEPT_S
    if made or is_old:
        if is_old or len(kept.tables) + len(made) > TABLES_MAX:
            gone, made, kept.since = list(kept.tables), list(wanted), time.monotonic()
        else:
            gone = [one.name for one in made if one.name in kept.tables]
        oids = ", ".join("to_regclass('pg_temp.' || quote_ident(%b))::oid" for _ in made)
        commands = [
            reader.before(list(USERS_SETTINGS.values()), scans=False),
            *(UsersCommand(f"DROP TABLE pg_temp.{quoted(name)}") for name in gone),
            *(UsersCommand(one.sql) for one in made),
            *reader.after(),
            Command(f"SELECT {oids}", tuple(one.name.encode() for one in made), is_text=True),
        ]
        found = (await session.run(commands))[-1]
        for name in gone:
            del kept.tables[name]
        for place, one in enumerate(made):
            kept.tables[one.name] = one, int.from_bytes(found.get_value(0, place) or b"")
    return {oid: table for table, oid in kept.tables.values()}
