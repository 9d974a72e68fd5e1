"""The fields of a line, in text or CSV. A field is its text, NULL, or the marker of its column's default.

Markers are compared with what stands in the line: a backslash, or quotes, make a value of the same letters.
"""

import re
from collections.abc import Callable
from typing import Final

from expressions.errors import BAD_COPY_FORMAT, SqlError
from nodes.copy.lines import bad_bytes
from nodes.copy.options import Options


class Default:
    """The type of `DEFAULT`."""


DEFAULT: Final = Default()
Field = str | None | Default
Fields = Callable[[str], list[Field]]

_ESCAPED = re.compile(rb"\\(?:([0-7]{1,3})|x([0-9A-Fa-f]{1,2})|(.))", re.DOTALL)
_LETTERS = {b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"v": b"\v"}


def fields_of(options: Options, columns: int) -> Fields:
    """The function from a line to its fields. Of those beyond the columns it may hand out only the first."""
    return _csv_fields(options, columns) if options.is_csv else _text_fields(options, columns)


def _text_fields(options: Options, columns: int) -> Fields:
    delimiter, null, default = options.delimiter, options.null, options.default
    one = re.compile(f"(?:[^{re.escape(delimiter)}\\\\]++|\\\\.)*+", re.DOTALL)

    def field(raw: str) -> Field:
        if raw == null:
            return None
        if raw == default:
            return DEFAULT
        return _unescaped(raw) if "\\" in raw else raw

    def fields(line: str) -> list[Field]:
        if "\\" not in line:
            return [field(raw) for raw in line.split(delimiter, columns)]
        found: list[Field] = []
        place = 0
        while len(found) <= columns:
            match = one.match(line, place)
            assert match is not None
            found.append(field(match.group()))
            place = match.end()
            if line[place : place + 1] != delimiter:  # the end, or a backslash there, which counts as nothing
                break
            place += 1
        return found

    return fields


def _unescaped(raw: str) -> str:
    data = _ESCAPED.sub(_byte, raw.encode())
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise bad_bytes(data, error.start) from None
    if "\0" in text:
        raise bad_bytes(b"\0", 0)
    return text


def _byte(found: re.Match[bytes]) -> bytes:
    octal, hexadecimal, other = found.groups()
    if octal is not None:
        return bytes((int(octal, 8) & 0xFF,))
    if hexadecimal is not None:
        return bytes((int(hexadecimal, 16),))
    return _LETTERS.get(other, other)


def _csv_fields(options: Options, columns: int) -> Fields:
    delimiter, quote, escape = options.delimiter, options.quote, options.escape
    null, default = options.null, options.default
    d, q, e = (re.escape(mark) for mark in (delimiter, quote, escape))
    inside = f"[^{q}]++|{q}{q}" if escape == quote else f"[^{q}{e}]++|{e}[{q}{e}]|{e}(?!{q})"
    one = re.compile(f"{q}((?:{inside})*+){q}(?={d}|\\Z)|([^{q}{d}]*+)(?={d}|\\Z)", re.DOTALL)
    escaped = re.compile(f"{e}([{q}{e}])")

    def bare(raw: str) -> Field:
        return None if raw == null else DEFAULT if raw == default else raw

    def fields(line: str) -> list[Field]:
        if quote not in line:
            return [bare(raw) for raw in line.split(delimiter, columns)]
        found: list[Field] = []
        place = 0
        while len(found) <= columns:
            match = one.match(line, place)
            if match is None:
                text, place = _odd_field(line, place, options)
                found.append(text)
            else:
                quoted, raw = match.groups()
                found.append(bare(raw) if quoted is None else escaped.sub(r"\1", quoted))
                place = match.end()
            if place >= len(line):
                break
            place += 1
        return found

    return fields


def _odd_field(line: str, place: int, options: Options) -> tuple[str, int]:
    """A field with quotes in its middle, and where it ends."""
    delimiter, quote, escape = options.delimiter, options.quote, options.escape
    parts: list[str] = []
    is_quoted = False
    while is_quoted or (place < len(line) and line[place] != delimiter):
        if place >= len(line):
            raise SqlError(BAD_COPY_FORMAT, "unterminated CSV quoted field")
        mark = line[place]
        place += 1
        following = line[place : place + 1]
        if is_quoted and mark == escape and following and following in (escape, quote):
            parts.append(following)
            place += 1
        elif mark == quote:
            is_quoted = not is_quoted
        else:
            parts.append(mark)
    return "".join(parts), place
