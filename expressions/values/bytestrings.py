"""Functions of bytea for one value, as PostgreSQL has them. The query engine calls the same ones."""

import binascii
import hashlib
import re
from collections.abc import Callable

from catalog.values import bytea
from expressions.errors import BAD_CHARACTER, FEATURE_NOT_SUPPORTED, INVALID_PARAMETER_VALUE, INVALID_TEXT, SqlError
from expressions.limits import look_at, pass_chars, refuse_length
from expressions.sqltypes import BOOL, BYTEA, INT2, INT4, INT8, TEXT, Type
from expressions.values import texts
from expressions.values.arithmetic import out_of_range
from expressions.values.own import Own, lines

BAD_SUBSCRIPT, BAD_LENGTH = "2202E", "22011"
LINE_BYTES = 57
"""Of a line of 76 characters of base64."""
UTF8 = frozenset({"UTF8", "UNICODE"})
_BLANKS = str.maketrans("", "", bytea.BLANKS)
_BASE64 = re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?", re.ASCII)
_NOT_ASCII = re.compile(rb"[\x00\x80-\xff]|\\")


def length(data: bytes) -> int:
    return len(data)


def bit_length(data: bytes) -> int:
    return 8 * len(data)


def concatenated(a: bytes, b: bytes) -> bytes:
    refuse_length(len(a) + len(b))
    return a + b


def substring(data: bytes, start: int, count: int | None = None) -> bytes:
    """From the byte `start` on, counted from 1; places before the first count, too. Raises 22011."""
    first = max(start, 1)
    if count is None:
        return data[first - 1 :]
    if count < 0:
        raise SqlError(BAD_LENGTH, "negative substring length not allowed")
    return data[first - 1 : max(start + count, 1) - 1]


def position(data: bytes, part: bytes) -> int:
    """The place of the first byte of a part, from 1 on; 0: it is not there."""
    pass_chars(len(data))
    return data.find(part) + 1


def trimmed(data: bytes, removed: bytes) -> bytes:
    """Without these bytes at both ends."""
    return data.strip(removed) if removed else data


def trimmed_left(data: bytes, removed: bytes) -> bytes:
    return data.lstrip(removed) if removed else data


def trimmed_right(data: bytes, removed: bytes) -> bytes:
    return data.rstrip(removed) if removed else data


def like(data: bytes, pattern: bytes) -> bool:
    """LIKE, byte by byte."""
    return texts.like(data.decode("latin-1"), pattern.decode("latin-1"))


def not_like(data: bytes, pattern: bytes) -> bool:
    return not like(data, pattern)


def get_byte(data: bytes, place: int) -> int:
    return data[_within(place, len(data))]


def set_byte(data: bytes, place: int, value: int) -> bytes:
    changed = bytearray(data)
    changed[_within(place, len(data))] = value & 0xFF
    return bytes(changed)


def get_bit(data: bytes, place: int) -> int:
    """The bit of this number: the lowest one of the first byte is 0."""
    place = _within(place, 8 * len(data))
    return data[place // 8] >> place % 8 & 1


def set_bit(data: bytes, place: int, value: int) -> bytes:
    place = _within(place, 8 * len(data))
    if value not in (0, 1):
        raise SqlError(INVALID_PARAMETER_VALUE, "new bit must be 0 or 1")
    changed = bytearray(data)
    mask = 1 << place % 8
    changed[place // 8] = changed[place // 8] & ~mask | value * mask
    return bytes(changed)


def bit_count(data: bytes) -> int:
    return int.from_bytes(data).bit_count()


def _within(place: int, count: int) -> int:
    if not 0 <= place < count:
        raise SqlError(BAD_SUBSCRIPT, f"index {place} out of valid range, 0..{count - 1}")
    return place


def digest(name: str) -> Callable[[bytes], bytes]:
    def computed(data: bytes) -> bytes:
        pass_chars(len(data))
        return hashlib.new(name, data).digest()

    return computed


def md5(data: bytes) -> str:
    pass_chars(len(data))
    return hashlib.md5(data, usedforsecurity=False).hexdigest()


def converted_from(data: bytes, encoding: str) -> str:
    """The text that bytes are in an encoding. Raises 22021 for those that are none."""
    _only_utf8(encoding)
    try:
        text = data.decode()
        place = data.find(0)
    except UnicodeDecodeError as error:
        place = error.start
    if place >= 0:
        raise SqlError(BAD_CHARACTER, f'invalid byte sequence for encoding "UTF8": {_shown(data, place)}')
    return text


def _shown(data: bytes, place: int) -> str:
    """The bytes that are no character: as many as the first of them says that it has."""
    first = data[place]
    count = next((size for bits, size in ((0xF0, 4), (0xE0, 3), (0xC0, 2)) if first & bits == bits), 1)
    return " ".join(f"0x{byte:02x}" for byte in data[place : place + count])


def converted_to(text: str, encoding: str) -> bytes:
    _only_utf8(encoding)
    return text.encode()


def _only_utf8(encoding: str) -> None:
    if encoding.upper().replace("-", "").replace("_", "") not in UTF8:
        raise SqlError(FEATURE_NOT_SUPPORTED, f"encoding {encoding} is not supported: use UTF8")


# --- texts of bytes


def encoded(data: bytes, form: str) -> str:
    """The bytes as hex, base64 or escape. Raises 22023 for another form."""
    pass_chars(len(data))
    text = _form(form)[0](data)
    refuse_length(len(text))
    return text


def decoded(text: str, form: str) -> bytes:
    """The bytes of a text in hex, base64 or escape. Raises 22023 and 22P02."""
    pass_chars(len(text))
    return _form(form)[1](text)


def _form(name: str) -> "tuple[Callable[[bytes], str], Callable[[str], bytes]]":
    try:
        return FORMS[name.lower()]
    except KeyError:
        raise SqlError(INVALID_PARAMETER_VALUE, f'unrecognized encoding: "{name}"') from None


def _of_hex(text: str) -> bytes:
    try:
        return bytea.of_hex(text)
    except bytea.NoHex as error:
        raise SqlError(INVALID_PARAMETER_VALUE, str(error)) from None


def _of_escapes(text: str) -> bytes:
    try:
        return bytea.of_escapes(text)
    except bytea.NoEscape:
        raise SqlError(INVALID_TEXT, "invalid input syntax for type bytea") from None


def _escaped(data: bytes) -> str:
    """Zeros and bytes that are no ASCII, and backslashes: encode's escape leaves control characters as they are."""
    return _NOT_ASCII.sub(
        lambda found: b"\\\\" if found.group() == b"\\" else b"\\%03o" % found.group()[0], data
    ).decode()


def _base64(data: bytes) -> str:
    """Lines of 76 characters; one that is full is ended, also where it is the last."""
    places = range(0, len(data), LINE_BYTES)
    lines = (binascii.b2a_base64(data[place : place + LINE_BYTES], newline=False) for place in places)
    text = b"\n".join(lines).decode()
    return text + "\n" if data and len(data) % LINE_BYTES == 0 else text


def _of_base64(text: str) -> bytes:
    plain = text.translate(_BLANKS)
    if _BASE64.fullmatch(plain):
        return binascii.a2b_base64(plain)
    look_at(len(plain))
    return _of_odd_base64(plain)


_VALUES = {char: place for place, char in enumerate("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")}


def _of_odd_base64(plain: str) -> bytes:
    """The bytes of base64 that goes on behind its end, as PostgreSQL reads it. Raises 22023."""
    found, group, count, end = bytearray(), 0, 0, 0
    for char in plain:
        if char == "=":
            if not end and count < 2:
                raise SqlError(INVALID_PARAMETER_VALUE, 'unexpected "=" while decoding base64 sequence')
            end = end or count - 1
        elif char not in _VALUES:
            raise SqlError(INVALID_PARAMETER_VALUE, f'invalid symbol "{char}" found while decoding base64 sequence')
        group, count = group << 6 | _VALUES.get(char, 0), count + 1
        if count == 4:
            found += group.to_bytes(3)[: end or 3]
            group = count = 0
    if count:
        hint = "Input data is missing padding, is truncated, or is otherwise corrupted."
        raise SqlError(INVALID_PARAMETER_VALUE, "invalid base64 end sequence", hint=hint)
    return bytes(found)


FORMS: dict[str, tuple[Callable[[bytes], str], Callable[[str], bytes]]] = {
    "hex": (bytes.hex, _of_hex),
    "base64": (_base64, _of_base64),
    "escape": (_escaped, _of_escapes),
}


# --- the tables


_BYTES, _PAIR = (BYTEA,), (BYTEA, BYTEA)
OPERATORS = tuple(
    lines(
        "bytea",
        ("||", _PAIR, BYTEA, concatenated),
        ("~~", _PAIR, BOOL, like),
        ("!~~", _PAIR, BOOL, not_like),
        signs=True,
    )
)
FUNCTIONS = tuple(
    lines(
        "bytea",
        ("length octet_length", _BYTES, INT4, length),
        ("bit_length", _BYTES, INT4, bit_length),
        ("bit_count", _BYTES, INT8, bit_count),
        ("substr substring", (BYTEA, INT4), BYTEA, substring),
        ("substr substring", (BYTEA, INT4, INT4), BYTEA, substring),
        ("position", _PAIR, INT4, position),
        ("btrim", _PAIR, BYTEA, trimmed),
        ("ltrim", _PAIR, BYTEA, trimmed_left),
        ("rtrim", _PAIR, BYTEA, trimmed_right),
        ("get_byte", (BYTEA, INT4), INT4, get_byte),
        ("set_byte", (BYTEA, INT4, INT4), BYTEA, set_byte),
        ("get_bit", (BYTEA, INT8), INT4, get_bit),
        ("set_bit", (BYTEA, INT8, INT4), BYTEA, set_bit),
        ("md5", _BYTES, TEXT, md5),
        *((name, _BYTES, BYTEA, digest(name)) for name in ("sha224", "sha256", "sha384", "sha512")),
        ("encode", (BYTEA, TEXT), TEXT, encoded),
        ("decode", (TEXT, TEXT), BYTEA, decoded),
        ("convert_from", (BYTEA, TEXT), TEXT, converted_from),
        ("convert_to", (TEXT, TEXT), BYTEA, converted_to),
    )
)
INTEGER_BYTES = {INT2: 2, INT4: 4, INT8: 8}


def _of_integer(size: int) -> Callable[[int], bytes]:
    return lambda value: value.to_bytes(size, signed=True)


def _to_integer(of: Type, size: int) -> Callable[[bytes], int]:
    """A number of its bytes, the greatest first. Raises 22003 for more of them than it has."""

    def read(data: bytes) -> int:
        if len(data) > size:
            raise out_of_range(of)
        return int.from_bytes(data, signed=len(data) == size)

    return read


CASTS = tuple(
    own
    for of, size in INTEGER_BYTES.items()
    for own in (
        Own("bytea", f"of_{of.name}", (), (of,), BYTEA, _of_integer(size)),
        Own("bytea", f"to_{of.name}", (), (BYTEA,), of, _to_integer(of, size)),
    )
)
ESCAPED = Own("bytea", "escaped", (), (BYTEA,), TEXT, bytea.escaped_text)
"""The text of a session whose bytea_output is escape."""
