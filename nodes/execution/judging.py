"""A statement that writes, judged by PostgreSQL: parsed over empty tables of the versions that it uses, and never done.

    session apart     CREATE TABLE pg_temp.t (..)      once for a version
                      parse · describe                 the client's own words

The tables stay in the session, which does nothing else, for the next statements. It ends after an hour, as VACUUM can
freeze none that is temporary. Tables that one client alone may see do not stay.
"""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from weakref import WeakKeyDictionary

from psycopg import pq

from catalog.descriptor import Descriptor
from catalog.text.sql_names import quoted
from expressions.errors import UNDEFINED_COLUMN, SqlError
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


_Kept = dict[str, tuple[EmptyTable, int]]
"""The empty tables of a session by their names, each with its oid."""
_KEPT: "WeakKeyDictionary[StoreConnection, _Kept]" = WeakKeyDictionary()


async def judged(
    env: Environment,
    asked: Undescribed,
    tables: Mapping[str, Descriptor],
    views: Mapping[str, ViewInUse],
    style: Sequence[str],
    user: str,
    private: Collection[str] = (),
) -> Described:
    """The parameters and columns of a statement of `user`; its session alone sees the `private` relations. Raises
    what is wrong with it."""
    wanted = [*map(empty_table, tables.values()), *map(empty_view, views.values())]
    text = asked.judged([one.name for one in wanted])

    def offset_of(position: int) -> int:
        return asked.place(len(text.original[: text.position(position) - 1].encode()))

    command = DescribeCommand(text.text, oids=asked.oids, offset_of=offset_of)
    try:
        shown, found = await _described(env, user, wanted, private, reader.before(style, scans=False), command)
    except StoreConnectionLost as lost:
        raise refusals.why_ended((), lost) from lost
    except StoreError as error:
        raise asked.explained(refusals.users_error(error, command), tables) from error
    places = [(found.ftable(n), found.ftablecol(n)) for n in range(found.nfields)]
    columns = [_placed(column, shown, *place) for column, place in zip(fields_in(found), places, strict=True)]
    return Described(tuple(found.param_type(number) for number in range(found.nparams)), columns)


async def _described(
    env: Environment,
    user: str,
    wanted: Sequence[EmptyTable],
    private: Collection[str],
    before: Command,
    command: DescribeCommand,
) -> "tuple[Mapping[int, EmptyTable], pq.abc.PGresult]":
    """The tables of a session, and what it says. An idle one may have ended unseen: then all of them are made anew."""
    left = env.judging_pool.size_max
    while True:
        async with env.judging_pool.session(user) as session:
            try:
                shown = await _with_tables(session, wanted)
                try:
                    return shown, (await session.run([before, command]))[1]
                finally:
                    await _forget(session, private)
            except StoreConnectionLost:
                left -= 1
                if left < 0:
                    raise
            except asyncio.CancelledError:
                session.discard("which empty tables it has is not known")
                raise


async def _forget(session: StoreConnection, private: Collection[str]) -> None:
    kept = _KEPT[session]
    gone = [name for name in private if name in kept]
    if gone and not session.is_lost:
        await session.run([UsersCommand(f"DROP TABLE pg_temp.{quoted(name)}") for name in gone])
        for name in gone:
            del kept[name]


def _placed(column: Field, shown: Mapping[int, EmptyTable], oid: int, number: int) -> Field:
    """The column, with the numbers of the table's column that it shows. Raises 42703 for one of the system's own."""
    table = shown.get(oid)
    if table is None:
        return column
    if number < 0:
        raise SqlError(UNDEFINED_COLUMN, f'column "{column.name}" does not exist')
    return replace(column, table=table.number, column=table.columns[number - 1])


async def _with_tables(session: StoreConnection, wanted: Sequence[EmptyTable]) -> Mapping[int, EmptyTable]:
    """The empty tables of a session by their oids, these among them."""
    if session not in _KEPT:
        _KEPT[session] = {}
        asyncio.get_running_loop().call_later(KEPT_S, session.discard, "a session keeps empty tables for an hour")
    kept = _KEPT[session]
    made = [one for one in wanted if one.name not in kept or kept[one.name][0] != one]
    if made:
        if len(kept) + len(made) > TABLES_MAX:
            gone, made = list(kept), list(wanted)
        else:
            gone = [one.name for one in made if one.name in kept]
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
            del kept[name]
        for place, one in enumerate(made):
            kept[one.name] = one, int.from_bytes(found.get_value(0, place) or b"")
    return {oid: table for table, oid in kept.values()}
