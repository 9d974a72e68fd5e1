"""Values of columns: PostgreSQL's types as far as rollouts use them, and the casts between them.

integers, numeric, float  int, Decimal, float    timestamp, timestamptz  datetime, with a zone in UTC
text, varchar             str                    uuid, jsonb             their text
"""

import json
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal, InvalidOperation
from uuid import UUID

from rollouts.statements.errors import NotModelled, Refused

Value = int | str | bool | float | Decimal | datetime | date | None

INTEGERS = {"int2": 15, "int4": 31, "int8": 63}
"""The bits of each integer type, without the sign."""

SERIAL = ("serial", "bigserial", "smallserial")
NAMES = {"serial": "int4", "bigserial": "int8", "smallserial": "int2", "decimal": "numeric"}


@dataclass(frozen=True, slots=True)
class Type:
    """`name` is PostgreSQL's internal one; `size` is n of varchar(n), `scale` the digits behind the point."""

    name: str
    size: int | None = None
    scale: int | None = None

    def __str__(self) -> str:
        sizes = [str(part) for part in (self.size, self.scale) if part is not None]
        return f"{self.name}({','.join(sizes)})" if sizes else self.name


def text_of(value: Value) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case float():
            return f"{value:.0f}" if value.is_integer() and abs(value) < 1e15 else repr(value)
        case Decimal():
            return f"{value:f}"
        case datetime():
            shown = value.isoformat(sep=" ")
            return shown.removesuffix(":00") if value.tzinfo else shown
    return str(value)


def _integer(value: Value, kind: Type, explicit: bool) -> int:
    bits = INTEGERS[kind.name]
    try:
        match value:
            case str():
                number = int(value.strip())
            case float():
                number = int(Decimal(value).quantize(Decimal(1), ROUND_HALF_EVEN))
            case Decimal():
                number = int(value.quantize(Decimal(1), ROUND_HALF_UP))
            case bool() if not explicit:
                raise Refused("42804", f"a boolean is not of type {kind}")
            case int():
                number = int(value)
            case _:
                raise Refused("42846", f"cannot cast {value!r} to {kind}")
    except ValueError:
        raise Refused("22P02", f'invalid input syntax for type {kind}: "{value}"') from None
    if not -(2**bits) <= number < 2**bits:
        raise Refused("22003", f"{kind} out of range")
    return number


def _numeric(value: Value, kind: Type, explicit: bool) -> Decimal:
    try:
        number = Decimal(repr(value)) if isinstance(value, float) else Decimal(str(value).strip())
    except InvalidOperation:
        raise Refused("22P02", f'invalid input syntax for type numeric: "{value}"') from None
    if kind.size is None:
        return number
    number = number.quantize(Decimal(1).scaleb(-(kind.scale or 0)), ROUND_HALF_UP)
    if abs(number) >= Decimal(10) ** (kind.size - (kind.scale or 0)):
        raise Refused("22003", "numeric field overflow")
    return number


def _float(value: Value, kind: Type, explicit: bool) -> float:
    try:
        number = float(value)  # type: ignore[arg-type]
        if math.isinf(number) and any(sign.isdigit() for sign in str(value)):
            raise OverflowError
        return number
    except OverflowError:
        raise Refused("22003", f'"{value}" is out of range for type double precision') from None
    except (TypeError, ValueError):
        raise Refused("22P02", f'invalid input syntax for type double precision: "{value}"') from None


def _text(value: Value, kind: Type, explicit: bool) -> str:
    text = text_of(value)
    if kind.name == "bpchar" and len(text) < (kind.size or 1):
        raise NotModelled(f"blanks behind a shorter value of {kind} are not modelled: use varchar({kind.size or 1})")
    if kind.size is not None and len(text) > kind.size:
        if not explicit and text[kind.size :].strip():
            raise Refused("22001", f"value too long for type character varying({kind.size})")
        return text[: kind.size]
    return text


def _uuid(value: Value, kind: Type, explicit: bool) -> str:
    digits = re.fullmatch(r"(\{)?((?:[0-9a-f]{4}-?){7}[0-9a-f]{4})(?(1)\})", str(value).lower())
    if digits is None:
        raise Refused("22P02", f'invalid input syntax for type uuid: "{value}"')
    return str(UUID(digits[2]))


def _json(value: Value, kind: Type, explicit: bool) -> str:
    try:
        json.loads(str(value), parse_constant=int)  # int refuses NaN and Infinity, which JSON has not
    except ValueError:
        raise Refused("22P02", "invalid input syntax for type json") from None
    return str(value)


def _boolean(value: Value, kind: Type, explicit: bool) -> bool:
    words = {"on": True, "1": True, "of": False, "off": False, "0": False}
    words |= {full[:n]: full in ("true", "yes") for full in ("true", "false", "yes", "no") for n in range(1, 6)}
    match value:
        case bool():
            return value
        case int() if explicit:
            return value != 0
        case str() if value.strip().lower() in words:
            return words[value.strip().lower()]
        case str():
            raise Refused("22P02", f'invalid input syntax for type boolean: "{value}"')
    raise Refused("42804", f"{value!r} is not of type boolean")


def _moment(value: Value, kind: Type, explicit: bool) -> datetime:
    zoned = kind.name == "timestamptz"
    try:
        moment = value if isinstance(value, datetime) else datetime.fromisoformat(str(value))
    except ValueError:
        raise Refused("22007", f'invalid input syntax for type {kind}: "{value}"') from None
    if zoned == (moment.tzinfo is not None):
        return moment.astimezone(UTC) if zoned else moment
    if isinstance(value, datetime):
        raise NotModelled("a cast between timestamp and timestamptz depends on the session: write AT TIME ZONE 'UTC'")
    return moment.replace(tzinfo=UTC if zoned else None)


def _date(value: Value, kind: Type, explicit: bool) -> date:
    if isinstance(value, datetime):
        return value.date()
    try:
        return value if isinstance(value, date) else date.fromisoformat(str(value)[:10])
    except ValueError:
        if re.fullmatch(r"\d{4}-\d\d-\d\d", str(value)[:10]):
            raise Refused("22008", f'date/time field value out of range: "{value}"') from None
        raise Refused("22007", f'invalid input syntax for type date: "{value}"') from None


_CASTS: dict[str, Callable[[Value, Type, bool], Value]] = {
    **dict.fromkeys(INTEGERS, _integer),
    **dict.fromkeys(("float4", "float8"), _float),
    **dict.fromkeys(("text", "varchar", "bpchar"), _text),
    **dict.fromkeys(("json", "jsonb"), _json),
    **dict.fromkeys(("timestamp", "timestamptz"), _moment),
    "numeric": _numeric,
    "uuid": _uuid,
    "bool": _boolean,
    "date": _date,
}


def is_known(name: str) -> bool:
    return name in _CASTS


def cast(value: Value, kind: Type, *, explicit: bool = False) -> Value:
    """Raises `Refused` as PostgreSQL does (22P02, 22001, 22003 ..)."""
    return None if value is None else _CASTS[kind.name](value, kind, explicit)
