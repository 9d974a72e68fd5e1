"""The store's side of users' texts: whether they may run there, as which role, and under which settings. Settings and
role are one command before the text, and are reset behind it. So no setting of a client's is in force while a node's
own statement makes values of pairs."""

from collections.abc import Sequence
from dataclasses import dataclass

from nodes.sql.admission import FunctionNames
from nodes.store.pipeline import Command, StorePool
from storage.pair_views import SCHEMA
from storage.postgres import PLAN_SETTINGS, SESSION_SETTINGS, USERS_SETTINGS
from storage.reader.role import FUNCTION_NAMES_SQL, IS_CLOSED_SQL, IS_HELD_SQL, READER

MAY_READ_SQL = f"SELECT coalesce(has_schema_privilege('{READER}', to_regnamespace('{SCHEMA}'), 'USAGE'), false)"
SEARCH_PATH, SEQSCAN, ROLE = "search_path", "enable_seqscan", "role"
OF_USERS = "pg_catalog, pg_temp"
"""The search path of a user's text."""
_BACK = {SEARCH_PATH: SESSION_SETTINGS[SEARCH_PATH], SEQSCAN: PLAN_SETTINGS[SEQSCAN], **USERS_SETTINGS}


@dataclass(frozen=True, slots=True)
class Reader:
    """The role is there. `functions`: the names that a text may call, where the database does not check that itself."""

    functions: FunctionNames | None


async def reader_of(pool: StorePool) -> Reader | None:
    """The reader role of this database; None where a node may not act as it, or it has no right on pair views."""
    async with pool.session() as session:
        [held] = await session.run([Command(IS_HELD_SQL)])
        if held.get_value(0, 0) != b"\x01":
            return None
        may_read, closed = await session.run([Command(MAY_READ_SQL), Command(IS_CLOSED_SQL)])
        if may_read.get_value(0, 0) != b"\x01":
            return None
        if closed.get_value(0, 0) == b"\x01":
            return Reader(None)
        [names] = await session.run([Command(FUNCTION_NAMES_SQL)])
    found: dict[bool, set[str]] = {True: set(), False: set()}
    for number in range(names.ntuples):
        found[names.get_value(number, 1) == b"\x01"].add((names.get_value(number, 0) or b"").decode())
    return Reader(FunctionNames(frozenset(found[True]), frozenset(found[False])))


def before(style: Sequence[str], *, scans: bool) -> Command:
    """The command that makes the next one a user's. `style`: the values of `USERS_SETTINGS`, in their order."""
    values = dict(zip(USERS_SETTINGS, style, strict=True))
    differing = {name: value for name, value in values.items() if value != USERS_SETTINGS[name]}
    settings = {SEARCH_PATH: OF_USERS, **({SEQSCAN: "on"} if scans else {}), **differing, ROLE: READER}
    return _set(settings)


def after() -> list[Command]:
    return [Command("RESET ROLE"), _set(_BACK)]


def _set(settings: dict[str, str]) -> Command:
    calls = ", ".join("set_config(%b, %b, true)" for _ in settings)
    params = [text.encode() for item in settings.items() for text in item]
    return Command(f"SELECT {calls}", tuple(params), is_text=True)
