"""Functions that act on the session or on others: no query calls them, they stand alone (`nodes.sql.session_calls`)."""

from dataclasses import dataclass

from expressions.sqltypes import BOOL, FLOAT8, INT4, INT8, TEXT, Type

KEY, TWO_KEYS = (INT8,), (INT4, INT4)


@dataclass(frozen=True, slots=True)
class Function:
    """The arguments that it takes, one list for each way to call it; its result, None for void."""

    takes: tuple[tuple[Type, ...], ...]
    gives: Type | None = None


LOCKS = {
    f"pg_{tries}advisory_{xact}lock{shared}": Function((KEY, TWO_KEYS), BOOL if tries else None)
    for tries in ("", "try_")
    for xact in ("", "xact_")
    for shared in ("", "_shared")
}
UNLOCK_ALL = "pg_advisory_unlock_all"
UNLOCKS = {
    "pg_advisory_unlock": Function((KEY, TWO_KEYS), BOOL),
    "pg_advisory_unlock_shared": Function((KEY, TWO_KEYS), BOOL),
}
NEXTVAL, SETVAL, CURRVAL, LASTVAL = "nextval", "setval", "currval", "lastval"
SEQUENCE_FUNCTIONS = {
    NEXTVAL: Function(((TEXT,),), INT8),
    CURRVAL: Function(((TEXT,),), INT8),
    SETVAL: Function(((TEXT, INT8), (TEXT, INT8, BOOL)), INT8),
    LASTVAL: Function(((),), INT8),
}
NOTIFY, CHANNELS, SLEEP = "pg_notify", "pg_listening_channels", "pg_sleep"
FUNCTIONS = (
    {NOTIFY: Function(((TEXT, TEXT),)), CHANNELS: Function(((),), TEXT), SLEEP: Function(((FLOAT8,),))}
    | LOCKS
    | UNLOCKS
    | SEQUENCE_FUNCTIONS
    | {UNLOCK_ALL: Function(((),))}
)
