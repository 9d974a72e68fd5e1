"""Values to bytes: `storage.encoding.encode` as SQL. A value that no column can have (an infinite date) gives NULL, so
that `k = ..` finds no row, as `=` would. CASE keeps PostgreSQL from computing constants early."""

from collections.abc import Callable

from catalog.elements import Column
from catalog.values import bytea, intervals, numerics
from catalog.values.types import INT_LIMITS, UNSORTED, WHOLE, SqlType
from storage import encoding
from storage.encoding import LIVE, NULL, WHOLE_VALUE
from storage.sql_values.decoding import DIGITS, DOUBLE, EXPONENT_BEGIN, INVERTED, MIN_32, MIN_64, REAL, SHIFTED, Float
from storage.sql_values.syntax import call, cast, constant, int8, inverted, joined, part

FIXED_SETTINGS = {
    "DateStyle": "ISO, YMD",
    "IntervalStyle": "postgres",
    "TimeZone": "UTC",
    "bytea_output": "hex",
    "extra_float_digits": "1",
}
"""The settings under which a value may become text. Of what is here, `encode_value_sql` of arrays alone needs them."""

Encoder = Callable[[str], str]
MICROS_OF_1970 = 946_684_800_000_000
"""Microseconds from 1970, where encodings begin, to 2000, where PostgreSQL's own binary form does."""


def can_encode(column: Column, of: SqlType | None = None) -> bool:
    """True if equality of the column with a value of type `of` is equality of keys."""
    return column.type not in UNSORTED and (of in (None, column.type) or (column.type, of) in _CONVERSIONS)


def encode_key_sql(column: Column, expression: str, *, descending: bool = False, of: SqlType | None = None) -> str:
    """The bytes in a key of `expression`; NULL of NULL. It has the column's type, or `of` (`can_encode`)."""
    assert can_encode(column, of), f"no key of {column.type.value} is made of {of and of.value}"
    given = expression if of in (None, column.type) else _CONVERSIONS[column.type, of](expression)
    data = f"({_ENCODERS[column.type](f'({given})' if given != expression else expression)})"
    return inverted(data) if descending else data


def encode_value_sql(column: Column, expression: str) -> str:
    """The bytes in a pair of `expression`, of the column's type. Arrays need `FIXED_SETTINGS`."""
    if column.type in UNSORTED:
        value = _text(cast(expression, "text"))
    elif column.type is SqlType.NUMERIC:
        scale = part(call("int4send", call("scale", expression)), 2)
        scale = f"COALESCE({scale}, {constant(bytes(numerics.SCALE_BYTES))})"
        value = joined(constant(WHOLE_VALUE), scale, part(f"({_numeric(expression)})", 1))
    elif column.type is SqlType.INTERVAL:
        fields = joined(*(call("int4send", f"{field} # {MIN_32}") for field in _months_and_days(expression)))
        value = joined(constant(WHOLE_VALUE), fields, part(f"({_interval(expression)})", 1))
    else:
        value = _ENCODERS[column.type](expression)
    return f"CASE WHEN {expression} IS NULL THEN {constant(NULL)} ELSE {value} END"


def live(*payload: str) -> str:
    return joined(constant(LIVE), *payload)


def _boolean(value: str) -> str:
    yes, no = (constant(encoding.encode(SqlType.BOOLEAN, one)) for one in (True, False))
    return f"CASE {value} WHEN true THEN {yes} WHEN false THEN {no} END"


def signed_64(number: str) -> str:
    return call("int8send", f"{number} # {MIN_64}")


def _whole(value: str) -> str:
    return live(signed_64(cast(value, "int8")))


def _float(of: Float, name: str) -> Encoder:
    def encoder(value: str) -> str:
        """Adding zero leaves one zero; NaN has one form."""
        bits = cast(call(f"{name}send", f"{value} + '0'::pg_catalog.{name}"), of.integer)
        mask = f"(({bits} >> {of.bits - 1}) | {of.sign})"
        number = call(f"{of.integer}send", f"{bits} # {mask}")
        return f"CASE WHEN {value} = 'NaN'::pg_catalog.{name} THEN {constant(LIVE + of.nan)} ELSE {live(number)} END"

    return encoder


def _numeric(value: str) -> str:
    digits_all = call("replace", cast(call("abs", value), "text"), "'.'", "''")
    before = call("length", call("split_part", cast(call("abs", value), "text"), "'.'", 1))
    significant = call("ltrim", digits_all, "'0'")
    exponent = f"{before} - 1 - {call('length', digits_all)} + {call('length', significant)}"
    digits = call("rtrim", significant, "'0'")
    is_odd = f"{call('mod', call('length', digits), 2)} = 1"

    def magnitude(kind: int, power: str, alphabet: str, zero: str, end: bytes) -> str:
        shifted = call("translate", digits, DIGITS, alphabet)
        even = f"{shifted} || CASE WHEN {is_odd} THEN '{zero}' ELSE '' END"
        return live(
            constant(bytes((kind,))), part(call("int4send", power), 2), call("decode", even, "'hex'"), constant(end)
        )

    positive = magnitude(numerics.POSITIVE, f"{exponent} + {EXPONENT_BEGIN}", SHIFTED, "1", b"\x00")
    negative = magnitude(numerics.NEGATIVE, f"{EXPONENT_BEGIN - 1} - ({exponent})", INVERTED, "e", b"\xff")
    zero = live(constant(bytes((numerics.NONE,))))
    words = {"NaN": numerics.NOT_A_NUMBER, "Infinity": numerics.PLUS_INFINITY, "-Infinity": numerics.MINUS_INFINITY}
    special = " ".join(
        f"WHEN {value} = '{word}'::pg_catalog.numeric THEN {live(constant(bytes((kind,))))}"
        for word, kind in words.items()
    )
    large = f"{call('abs', value)} >= '1e{numerics.DIGITS_MAX - numerics.SCALE_MAX}'::pg_catalog.numeric"
    digits = f"{call('octet_length', cast(call('trunc', call('abs', value)), 'text'))} + {call('scale', value)}"
    fits = f"WHEN {value} = 0 THEN {zero} WHEN {large} AND {digits} > {numerics.DIGITS_MAX} THEN NULL"
    return f"CASE {special} {fits} WHEN {value} > 0 THEN {positive} WHEN {value} < 0 THEN {negative} END"


def _text(value: str) -> str:
    return live(call("convert_to", value, "'UTF8'"), constant(b"\x00"))


def _char(value: str) -> str:
    return _text(call("rtrim", cast(value, "text"), "' '"))


def _within(value: str, low: str, high: str, then: str) -> str:
    return f"CASE WHEN {value} BETWEEN {low} AND {high} THEN {then} END"


def _date(value: str) -> str:
    days = call("int4send", f"({value} - '1970-01-01'::pg_catalog.date) # {MIN_32}")
    return _within(value, "'0001-01-01'::pg_catalog.date", "'9999-12-31'::pg_catalog.date", live(days))


def _moment(name: str, zone: str) -> Encoder:
    low, high = (
        f"'{moment}{zone}'::pg_catalog.{name}" for moment in ("0001-01-01 00:00:00", "9999-12-31 23:59:59.999999")
    )

    def encoder(value: str) -> str:
        micros = f"({cast(call(f'{name}_send', value), 'int8')} + {int8(MICROS_OF_1970)})"
        return _within(value, low, high, live(signed_64(micros)))

    return encoder


def _uuid(value: str) -> str:
    return live(call("uuid_send", value))


def _bytes(value: str) -> str:
    r"""In escape format only a zero is \000, since a backslash is \134."""
    escaped = call("replace", call("encode", value, "'escape'"), r"E'\\\\'", r"E'\\134'")
    with_zeros = call("decode", call("replace", escaped, r"E'\\000'", r"E'\\000\\377'"), "'escape'")
    zero = call("position", value, constant(bytea.ZERO))
    return live(f"CASE {zero} WHEN 0 THEN {value} ELSE {with_zeros} END", constant(bytea.END))


def _time(value: str) -> str:
    return live(signed_64(cast(call("time_send", value), "int8")))


def _months_and_days(value: str) -> tuple[str, str]:
    sent = call("interval_send", value)
    return cast(part(sent, 12, 4), "int4"), cast(part(sent, 8, 4), "int4")


def _interval(value: str) -> str:
    months, days = (cast(field, "numeric") for field in _months_and_days(value))
    micros = cast(cast(part(call("interval_send", value), 0, 8), "int8"), "numeric")
    span = f"{micros} + {intervals.DAY} * ({days} + {intervals.DAYS_PER_MONTH} * {months}) + {1 << 79}"
    high = part(call("int4send", cast(call("div", span, 1 << 64), "int4")), 2)
    low = signed_64(cast(f"{call('mod', span, 1 << 64)} - {1 << 63}", "int8"))
    return f"CASE WHEN {call('isfinite', value)} THEN {live(high, low)} END"


_ENCODERS: dict[SqlType, Encoder] = {
    SqlType.BOOLEAN: _boolean,
    **dict.fromkeys(WHOLE, _whole),
    SqlType.REAL: _float(REAL, "float4"),
    SqlType.DOUBLE: _float(DOUBLE, "float8"),
    SqlType.NUMERIC: _numeric,
    SqlType.TEXT: _text,
    SqlType.VARCHAR: _text,
    SqlType.CHAR: _char,
    SqlType.DATE: _date,
    SqlType.TIMESTAMP: _moment("timestamp", ""),
    SqlType.TIMESTAMPTZ: _moment("timestamptz", "+00"),
    SqlType.UUID: _uuid,
    SqlType.BYTEA: _bytes,
    SqlType.TIME: _time,
    SqlType.INTERVAL: _interval,
}


# --- values of other types


def _same(value: str) -> str:
    return value


def _whole_of_numeric(value: str) -> str:
    most = INT_LIMITS[SqlType.BIGINT]
    is_whole = f"{value} BETWEEN -{most} AND {most - 1} AND {value} = {call('trunc', value)}"
    return f"CASE WHEN {is_whole} THEN {cast(value, 'int8')} END"


def _date_of_timestamp(value: str) -> str:
    day = cast(value, "date")
    return f"CASE WHEN {value} = {day} THEN {day} END"


def _timestamp_of_date(value: str) -> str:
    moment = cast(value, "timestamp")
    return _within(value, "'0001-01-01'::pg_catalog.date", "'9999-12-31'::pg_catalog.date", moment)


_CONVERSIONS: dict[tuple[SqlType, SqlType], Encoder] = {
    **{(column, of): _same for column in WHOLE for of in WHOLE},
    **{(column, SqlType.NUMERIC): _whole_of_numeric for column in WHOLE},
    **{(SqlType.NUMERIC, of): lambda value: cast(value, "numeric") for of in WHOLE},
    **{(SqlType.DOUBLE, of): lambda value: cast(value, "float8") for of in WHOLE | {SqlType.REAL}},
    (SqlType.TEXT, SqlType.VARCHAR): _same,
    (SqlType.VARCHAR, SqlType.TEXT): _same,
    (SqlType.DATE, SqlType.TIMESTAMP): _date_of_timestamp,
    (SqlType.TIMESTAMP, SqlType.DATE): _timestamp_of_date,
}
"""A value of the second type as the equal one of the first, or NULL. Left out: what depends on the time zone
(timestamptz), and a whole number or a real from a double, which equals several of them or none by rounding."""
