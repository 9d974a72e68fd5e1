r"""Values of bytea: both text forms, and bytes that sort and end by themselves.

hex      \x6100ff          the usual form
escape   a\000\377         three octal digits for unprintable bytes, two backslashes for one
key      61 00 FF FF 00 01  a zero is 00 FF, the end 00 01: sorts as the bytes themselves do
"""

import re

from catalog.values.errors import BadValue, InvalidText, Malformed

INVALID_HEX = "22023"
END = b"\x00\x01"
ZERO, ESCAPED_ZERO = b"\x00", b"\x00\xff"
BLANKS = " \n\t\r"
_DIGITS = frozenset("0123456789abcdefABCDEF")
_ESCAPE = re.compile(rb"\\(?:(\\)|([0-3][0-7]{2}))?")
_NOT_SHOWN = re.compile(rb"[^ -~]|\\")


def read(text: str) -> bytes:
    r"""Bytes in hex (\x..) or with escapes. Raises `BadValue`."""
    return of_hex(text[2:]) if text.startswith("\\x") else of_escapes(text)


def of_hex(digits: str) -> bytes:
    if "\v" not in digits and "\f" not in digits:  # blanks to Python, and not to PostgreSQL
        try:
            return bytes.fromhex(digits)
        except ValueError:
            pass
    is_second = False
    for char in digits:
        if not is_second and char in BLANKS:
            continue
        if char not in _DIGITS:
            raise BadValue(f'invalid hexadecimal digit: "{char}"', INVALID_HEX)
        is_second = not is_second
    raise BadValue("invalid hexadecimal data: odd number of digits", INVALID_HEX)


def of_escapes(text: str) -> bytes:
    data = text.encode()
    return _ESCAPE.sub(_unescaped, data) if "\\" in text else data


def _unescaped(found: "re.Match[bytes]") -> bytes:
    backslash, digits = found.groups()
    if backslash:
        return b"\\"
    if digits is None:
        raise InvalidText("invalid input syntax for type bytea")
    return bytes((int(digits, 8),))


def hex_text(data: bytes) -> str:
    return f"\\x{data.hex()}"


def escaped_text(data: bytes) -> str:
    return _NOT_SHOWN.sub(lambda found: _written(found.group()), data).decode()


def _written(byte: bytes) -> bytes:
    return b"\\\\" if byte == b"\\" else b"\\%03o" % byte[0]


# --- keys


def key_of(data: bytes) -> bytes:
    """Bytes that sort as the values do, and end by themselves."""
    return data.replace(ZERO, ESCAPED_ZERO) + END


def of_key(key: bytes) -> bytes:
    """Raises `Malformed`."""
    inner = key[: -len(END)]
    if key[-len(END) :] != END or inner.count(ZERO) != inner.count(ESCAPED_ZERO):
        raise Malformed(f"the bytes {key[:16].hex()} are the key of no bytea")
    return inner.replace(ESCAPED_ZERO, ZERO)


def key_length(data: bytes, start: int, *, flip: int = 0) -> int:
    """The length of the key at `start`; `flip` is 255 where inverted. Raises `Malformed`."""
    end = data.find(bytes(byte ^ flip for byte in END), start)
    if end < 0:
        raise Malformed("the key of a bytea has no end")
    return end + len(END) - start
