"""Units of time and time zones that calls name: what PostgreSQL does not know is refused, as it does.

The engine knows other units than PostgreSQL, and gives parts of a day to a date, which has none.
"""

import re
from collections.abc import Sequence

from expressions.analysis.building import Builder
from expressions.dates.zones import UnknownZone, zone_named
from expressions.errors import INVALID_PARAMETER_VALUE, SqlError, unsupported
from expressions.functions import allowed
from expressions.sqltypes import DATE, TEXT, TIMESTAMP, TIMESTAMPTZ, Type
from expressions.typed import Expr, Literal

_PARTS_OF_A_DAY = {
    "hour": ("h", "hr", "hrs", "hours"), "minute": ("m", "min", "mins", "minutes"),
    "second": ("s", "sec", "secs", "seconds"), "millisecond": ("ms", "msec", "msecs", "milliseconds"),
    "microsecond": ("us", "usec", "usecs", "microseconds"),
}  # fmt: skip
_SPANS_OF_DAYS = {
    "day": ("d", "days"), "week": ("w", "weeks"), "month": ("mon", "mons", "months"), "quarter": ("qtr",),
    "year": ("y", "yr", "yrs", "years"), "decade": ("dec", "decs", "decades"),
    "century": ("c", "cent", "centuries"), "millennium": ("mil", "mils", "millennia"),
}  # fmt: skip
_OF_ZONES = frozenset({"timezone", "timezone_hour", "timezone_minute", "timezone_h", "timezone_m"})
_NUMBERED = frozenset({"dow", "doy", "isodow", "isoyear", "julian", "j", "jd", "epoch"})
_SHORT, _LONG = (
    frozenset(words) | {word for others in words.values() for word in others}
    for words in (_PARTS_OF_A_DAY, _SPANS_OF_DAYS)
)
_OF_DATES = {"date_trunc": TIMESTAMPTZ, "date_part": TIMESTAMP}
"""What these take a date for."""
_ABBREVIATION = re.compile("[A-Za-z]{2,5}")


def check_unit(name: str, unit: Expr, of: Type) -> None:
    """Refuses a constant unit that `extract`, `date_part` or `date_trunc` does not find in a value of the type."""
    if not isinstance(unit, Literal) or not isinstance(unit.value, str) or of not in (DATE, TIMESTAMP, TIMESTAMPTZ):
        return
    word = unit.value.lower()
    shown = (
        TIMESTAMPTZ if of is DATE and name == "date_trunc" else TIMESTAMP if of is DATE and name != "extract" else of
    )
    if word not in _SHORT | _LONG | ({*_NUMBERED, *_OF_ZONES} if name != "date_trunc" else frozenset[str]()):
        raise SqlError(INVALID_PARAMETER_VALUE, f'unit "{unit.value}" not recognized for type {shown}', unit.offset)
    if (word in _OF_ZONES and shown is not TIMESTAMPTZ) or (word in _SHORT and shown is DATE):
        raise SqlError("0A000", f'unit "{unit.value}" not supported for type {shown}', unit.offset)


def check_zone(zone: Expr) -> None:
    """Refuses a constant that names no time zone. Short names are the engine's to know."""
    if isinstance(zone, Literal) and isinstance(zone.value, str) and not _ABBREVIATION.fullmatch(zone.value):
        try:
            zone_named(zone.value)
        except UnknownZone:
            message = f'time zone "{zone.value}" not recognized'
            raise SqlError(INVALID_PARAMETER_VALUE, message, zone.offset) from None


def truncated_there(builder: Builder, args: Sequence[Expr], offset: int) -> Expr:
    """date_trunc(unit, moment, zone): parts of a day are cut off the moment, days and more the local time."""
    unit, moment, zone = args[0], builder.coerce(args[1], TIMESTAMPTZ), builder.coerce(args[2], TEXT)
    if not isinstance(unit, Literal) or not isinstance(unit.value, str):
        raise unsupported("date_trunc in a zone by a unit that is not a constant", offset)
    check_unit("date_trunc", unit, TIMESTAMPTZ)
    check_zone(zone)

    def call(name: str, *given: Expr) -> Expr:
        return builder.function(name, allowed.FUNCTIONS[name], given, offset)

    local = call("timezone", zone, moment)
    cut = call("date_trunc", unit, local)
    if unit.value.lower() in _SHORT:
        return builder.operator("-", (moment, builder.operator("-", (local, cut), offset)), offset)
    return call("timezone", zone, cut)
