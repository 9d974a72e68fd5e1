"""Bytes to values: `storage.encoding.decode` as SQL. A decoder takes SQL for bytes and the place of a payload, behind
which more may follow. Doubles are exact: (1 + m / 2^52) * 2^(e - 1023), both factors doubles."""

from collections.abc import Callable
from dataclasses import dataclass

from catalog.elements import Column
from catalog.values import bytea, intervals, numerics
from catalog.values.types import ARRAYS, WHOLE, WRITTEN, SqlType
from storage import encoding
from storage.encoding import PAYLOAD_BYTES
from storage.sql_values.syntax import call, cast, constant, int8, part, typed

MIN_32, MIN_64 = f"'{-(1 << 31)}'::pg_catalog.int4", int8(-(1 << 63))
HOUR, MINUTE, SECOND = intervals.HOUR, intervals.MINUTE, intervals.SECOND
TWO_64 = 1 << 64


def decode_sql(column: Column, expression: str) -> str:
    """The value in `expression`, bytes of a pair of this column; NULL for NULL."""
    value = typed(_WHOLE_DECODERS.get(column.type, _DECODERS[column.type])(expression, 1), column.type, column.length)
    if column.type is SqlType.NUMERIC and column.length is None:
        value = call("round", value, cast(part(expression, 1, numerics.SCALE_BYTES), "int4"))
    return f"CASE WHEN {call('octet_length', expression)} > 1 THEN {value} END"


def decode_key_part(column: Column, data: str, start: int) -> str:
    """The value of the key part whose payload begins at byte `start`; never NULL."""
    value = typed(_DECODERS[column.type](data, start), column.type, column.length)
    return call("trim_scale", value) if column.type is SqlType.NUMERIC and column.length is None else value


def signed_64(data: str, start: int) -> str:
    return f"({cast(part(data, start, 8), 'int8')} # {MIN_64})"


def signed_32(data: str, start: int) -> str:
    return f"({cast(part(data, start, 4), 'int4')} # {MIN_32})"


def text_of(data: str, start: int) -> str:
    """UTF-8, without a last byte that is not part of it."""
    inner = part(data, start, f"{call('octet_length', data)} - {start + 1}")
    return call("convert_from", inner, "'UTF8'")


@dataclass(frozen=True, slots=True)
class Float:
    """IEEE 754 in `bits` bits, `fraction` of them behind the point."""

    bits: int
    fraction: int
    integer: str
    nan: bytes
    infinity: bytes
    minus_infinity: bytes

    def value(self, data: str, start: int) -> str:
        size = self.bits // 8
        payload = part(data, start, size)
        number, least = cast(payload, self.integer), 1 - (1 << self.bits - 1)
        greatest = f"'{-least}'::pg_catalog.{self.integer}"
        above, below = (self._finite(f"({number} # {low})") for low in (self.sign, greatest))
        finite = f"CASE WHEN {number} < 0 THEN {above} ELSE -({below}) END"
        words = ((self.nan, "NaN"), (self.infinity, "Infinity"), (self.minus_infinity, "-Infinity"))
        special = " ".join(f"WHEN {constant(key)} THEN '{word}'::pg_catalog.float8" for key, word in words)
        return f"CASE {payload} {special} ELSE {finite} END"

    @property
    def sign(self) -> str:
        return f"'{-(1 << self.bits - 1)}'::pg_catalog.{self.integer}"

    def _finite(self, magnitude: str) -> str:
        one = 1 << self.fraction
        bias = (1 << self.bits - self.fraction - 2) - 1
        fraction = f"(({magnitude} & {one - 1}) | {one})"
        exponent = f"(({magnitude} >> {self.fraction}) - {bias})"
        power = call("power", "'2'::pg_catalog.float8", cast(exponent, "float8"))
        smallest = repr(2.0 ** (1 - bias - self.fraction))
        normal = f"{cast(fraction, 'float8')} / '{one}'::pg_catalog.float8 * {power}"
        subnormal = f"{cast(magnitude, 'float8')} * '{smallest}'::pg_catalog.float8"
        return f"CASE WHEN {magnitude} < {one} THEN {subnormal} ELSE {normal} END"


def _float(sql_type: SqlType, bits: int, fraction: int, integer: str) -> Float:
    words = (float("nan"), float("inf"), float("-inf"))
    return Float(bits, fraction, integer, *(encoding.encode(sql_type, word)[1:] for word in words))


REAL, DOUBLE = _float(SqlType.REAL, 32, 23, "int4"), _float(SqlType.DOUBLE, 64, 52, "int8")


DIGITS, SHIFTED, INVERTED = "'0123456789'", "'123456789a'", "'edcba98765'"
"""The digits of a number, as hexadecimal digits of its key, and of the key of a negative one."""
ZEROS = {SHIFTED: 0x11, INVERTED: 0xEE}
"""Two zeros in each."""
EXPONENT_BEGIN = 32_768


BYTES_SHORT = 7
"""Bytes of digits that a positive bigint has room for."""


def _number(data: str, start: int) -> str:
    """A fraction of the digits and the exponent of ten: PostgreSQL reads 0.125e2 with its scale."""
    count = f"{call('octet_length', data)} - {start + 4}"
    digits = part(data, start + 3, count)
    exponent = cast(part(data, start + 1, 2), "int4")

    def written(sign: str, alphabet: str, power: str) -> str:
        """Few digits by one subtraction, 23 61 - 11 11 is 12 50: 0.4 us instead of 1.0."""
        zeros = int.from_bytes(bytes((ZEROS[alphabet],)) * BYTES_SHORT)
        zero, number = f"({int8(zeros)} >> 8 * ({BYTES_SHORT} - ({count})))", cast(digits, "int8")
        difference = f"{zero} - {number}" if sign else f"{number} - {zero}"
        long = call("translate", call("encode", digits, "'hex'"), alphabet, DIGITS)
        digits_read = f"CASE WHEN {count} <= {BYTES_SHORT} THEN {call('to_hex', difference)} ELSE {long} END"
        return cast(f"'{sign}0.' || {digits_read} || 'e' || {cast(power, 'text')}", "numeric")

    kinds = (
        (numerics.POSITIVE, written("", SHIFTED, f"{exponent} - {EXPONENT_BEGIN - 1}")),
        (numerics.NEGATIVE, written("-", INVERTED, f"{EXPONENT_BEGIN} - {exponent}")),
        (numerics.NONE, "'0'::pg_catalog.numeric"),
        (numerics.PLUS_INFINITY, "'Infinity'::pg_catalog.numeric"),
        (numerics.MINUS_INFINITY, "'-Infinity'::pg_catalog.numeric"),
        (numerics.NOT_A_NUMBER, "'NaN'::pg_catalog.numeric"),
    )
    cases = " ".join(f"WHEN {kind} THEN {value}" for kind, value in kinds)
    return f"CASE {call('get_byte', data, start)} {cases} END"


def _bytes(data: str, start: int) -> str:
    r"""A zero is 00 FF. In escape format a zero is \000, and a backslash \134."""
    inner = part(data, start, f"{call('octet_length', data)} - {start + len(bytea.END)}")
    escaped = call("replace", call("encode", inner, "'escape'"), r"E'\\\\'", r"E'\\134'")
    plain = call("decode", call("replace", escaped, r"E'\\000\\377'", r"E'\\000'"), "'escape'")
    zero = call("position", inner, constant(bytea.ZERO))
    return f"CASE {zero} WHEN 0 THEN {inner} ELSE {plain} END"


def _date(data: str, start: int) -> str:
    return f"'1970-01-01'::pg_catalog.date + {signed_32(data, start)}"


def _timestamp(data: str, start: int) -> str:
    return f"'1970-01-01'::pg_catalog.timestamp + {micros_as_interval(signed_64(data, start))}"


def _timestamptz(data: str, start: int) -> str:
    return call("timezone", "'0'::pg_catalog.interval", _timestamp(data, start))


def micros_as_interval(micros: str) -> str:
    """Hours and microseconds, exact below 2^53."""
    hours, rest = f"{micros} / {int8(HOUR)}", call("mod", micros, int8(HOUR))
    return (
        f"{cast(hours, 'float8')} * '1 hour'::pg_catalog.interval"
        f" + {cast(rest, 'float8')} * '1 microsecond'::pg_catalog.interval"
    )


def _time(data: str, start: int) -> str:
    """make_time knows 24:00, unlike a time plus an interval."""
    micros = signed_64(data, start)
    hour = cast(f"{micros} / {int8(HOUR)}", "int4")
    minute = cast(f"{call('mod', micros, int8(HOUR))} / {MINUTE}", "int4")
    second = f"{cast(call('mod', micros, int8(MINUTE)), 'float8')} / {SECOND}"
    return call("make_time", hour, minute, second)


def _uuid(data: str, start: int) -> str:
    return cast(call("encode", part(data, start, PAYLOAD_BYTES[SqlType.UUID]), "'hex'"), "uuid")


def _span(data: str, start: int) -> str:
    high = f"{cast(cast(part(data, start, 2), 'int4'), 'numeric')} - {1 << 15}"
    low = f"{cast(signed_64(data, start + 2), 'numeric')} + {1 << 63}"
    return f"(({high}) * {TWO_64} + ({low}))"


def _interval(data: str, start: int) -> str:
    months, days = signed_32(data, start), signed_32(data, start + intervals.FIELD_BYTES)
    of_days = f"{intervals.DAY} * ({cast(days, 'numeric')} + {intervals.DAYS_PER_MONTH} * {cast(months, 'numeric')})"
    micros = cast(f"{_span(data, start + intervals.FIELDS_BYTES)} - {of_days}", "int8")
    return f"{call('make_interval', 0, months, 0, days)} + {micros_as_interval(micros)}"


def _interval_of_key(data: str, start: int) -> str:
    """Days and a rest from the span, or months where days do not suffice (`intervals.of_key`)."""
    most = f"CASE WHEN span < 0 THEN {intervals.FIELD_MAX} ELSE {intervals.FIELD_MAX - 1} END"
    months = f"CASE WHEN days > most THEN LEAST({call('div', 'days', intervals.DAYS_PER_MONTH)}, most) ELSE 0 END"
    rest = f"LEAST(days - months * {intervals.DAYS_PER_MONTH}, most)"
    micros = f"{call('abs', 'span')} - {intervals.DAY} * (rest + {intervals.DAYS_PER_MONTH} * months)"
    signed = [f"{call('sign', 'span')} * ({one})" for one in ("months", "rest", micros)]
    made = call("make_interval", 0, cast(signed[0], "int4"), 0, cast(signed[1], "int4"))
    days = call("div", call("abs", "span"), intervals.DAY)
    spans = f"SELECT {_span(data, start)} AS span"
    counted = f"SELECT span, {days} AS days, {most} AS most FROM ({spans}) AS spans"
    counted = f"SELECT span, days, most, {months} AS months FROM ({counted}) AS counted"
    counted = f"SELECT span, months, {rest} AS rest FROM ({counted}) AS months"
    return f"(SELECT {made} + {micros_as_interval(cast(signed[2], 'int8'))} FROM ({counted}) AS rests)"


def _boolean(data: str, start: int) -> str:
    return f"{call('get_byte', data, start)} <> 0"


_DECODERS: dict[SqlType, Callable[[str, int], str]] = {
    SqlType.BOOLEAN: _boolean,
    **dict.fromkeys(WHOLE, signed_64),
    SqlType.REAL: REAL.value,
    SqlType.DOUBLE: DOUBLE.value,
    SqlType.NUMERIC: _number,
    **dict.fromkeys(WRITTEN | ARRAYS, text_of),
    SqlType.DATE: _date,
    SqlType.TIMESTAMP: _timestamp,
    SqlType.TIMESTAMPTZ: _timestamptz,
    SqlType.UUID: _uuid,
    SqlType.BYTEA: _bytes,
    SqlType.TIME: _time,
    SqlType.INTERVAL: _interval_of_key,
}
_WHOLE_DECODERS: dict[SqlType, Callable[[str, int], str]] = {
    SqlType.NUMERIC: lambda data, start: _number(data, start + numerics.SCALE_BYTES),
    SqlType.INTERVAL: _interval,
}
"""Of types whose pairs have what their keys leave out in front."""
