"""Values of json, kept as written, and jsonb: keys sorted by length in bytes, then bytes; the last of equal keys
counts; numbers keep their scale: {"b":1, "aa":2.50, "b":1e2} is {"b": 100, "aa": 2.50}. Documents are at most
`DEPTH_MAX` deep, since reading recurses.

Jsonb is compared by bytes that sort as in PostgreSQL:

    01 .. 04    an empty array; a scalar; an array; an object       the document's first byte
    10 .. 15    null, string, number, boolean, array, object        within arrays and objects
    string      UTF-8 · 00                 number    `numerics.key_of`: 1.0 and 1.00 are equal
    array       4 bytes of length, items   object    4 bytes of length, keys and values in turn
"""

import json
import re
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

from catalog.values import numerics
from catalog.values.errors import BadValue, InvalidText

NO_SUCH_CHARACTER = "22P05"
"""An escape that no text can hold."""
DEPTH_MAX = 200
TOO_DEEP = f"a json document may be nested at most {DEPTH_MAX} levels deep"
WRITTEN_OUT_MAX = 2**20
"""Characters of all numbers of one document that are longer than they were written."""
TOO_LONG_NUMBERS = f"numbers with an exponent may have at most {WRITTEN_OUT_MAX} digits in a json document"

Parsed = Any
"""A document as Python has it: dict, list, str, int, Decimal, bool or None."""


class TooDeep(BadValue):
    sqlstate = "54001"


class TooLongNumbers(BadValue):
    sqlstate = "54000"


def _invalid(detail: str) -> InvalidText:
    return InvalidText("invalid input syntax for type json", detail=detail)


class Jsonb(str):
    """A jsonb in its one form, compared as in PostgreSQL."""

    @property
    def key(self) -> bytes:
        return key_of(parsed(self))

    def __eq__(self, other: object) -> bool:
        return str.__eq__(self, other) or (isinstance(other, Jsonb) and self.key == other.key)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self.key)

    def __lt__(self, other: str) -> bool:
        return self.key < Jsonb(other).key

    def __le__(self, other: str) -> bool:
        return self.key <= Jsonb(other).key

    def __gt__(self, other: str) -> bool:
        return self.key > Jsonb(other).key

    def __ge__(self, other: str) -> bool:
        return self.key >= Jsonb(other).key


def check(text: str) -> None:
    _read(text, lambda word: None, dict)


def canonical(text: str) -> Jsonb:
    """The jsonb of a text. Raises `BadValue`."""
    return _written(_parsed(text, _marker()))


_NUL = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")


def parsed(text: str) -> Parsed:
    """The document in Python, objects in jsonb's order. Raises as `canonical`."""
    return _parsed(text, _number)


def _parsed(text: str, number: Callable[[str], Any]) -> Parsed:
    if "\\u0000" in text and _NUL.search(text):
        check(text)
        detail = r"\u0000 cannot be converted to text."
        raise BadValue("unsupported Unicode escape sequence", NO_SUCH_CHARACTER, detail)
    document = _read(text, number, _in_order)
    if "\\" in text and (_SURROGATE.search(text) is not None and any(found[1] for found in _PAIRS.finditer(text))):
        raise _invalid("Unicode low surrogate must follow a high surrogate.")
    return document


_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_PAIRS = re.compile(r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u([dD][89a-fA-F])|.)", re.DOTALL)


def _read(text: str, number: Callable[[str], Any], pairs: Callable[[list[tuple[str, Any]]], Any]) -> Parsed:
    refuse_deep(text)
    try:
        return json.loads(
            text, parse_int=number, parse_float=number, parse_constant=_no_constant, object_pairs_hook=pairs
        )
    except json.JSONDecodeError as error:
        raise _invalid(_detail(text, error.pos)) from None
    except _NoConstant:
        raise _invalid(_detail(text, 0)) from None


class _NoConstant(ValueError):
    pass


def _no_constant(word: str) -> None:
    raise _NoConstant(word)


_DIGITS_MAX = 18
"""Of a number that is read the short way."""


def _number(word: str) -> int | Decimal:
    if len(word) <= _DIGITS_MAX and word.lstrip("-").isdigit():
        return int(word)
    value = numerics.read(word)
    assert value is not None, word
    return value


def _marker() -> Callable[[str], int | str]:
    left = WRITTEN_OUT_MAX

    def marked(word: str) -> int | str:
        nonlocal left
        found = _marked_word(word)
        if isinstance(found, str) and len(found) > len(word) + 1:
            left -= len(found)
            if left < 0:
                raise TooLongNumbers(TOO_LONG_NUMBERS)
        return found

    return marked


def _marked_word(word: str) -> int | str:
    if len(word) <= _DIGITS_MAX and not word.startswith("-0"):
        if word.lstrip("-").isdigit():
            return int(word)
        if "e" not in word and "E" not in word:
            return f"\x00{word}"
    value = _number(word)
    return value if isinstance(value, int) else f"\x00{numerics.text_of(value)}"


def _in_order(pairs: list[tuple[str, Parsed]]) -> dict[str, Parsed]:
    found = dict(pairs)
    if len(found) < 2:
        return found
    try:
        return dict(sorted(found.items(), key=_place))
    except UnicodeEncodeError:
        return found  # half a pair: refused once all is read


def _place(pair: tuple[str, Parsed]) -> tuple[int, bytes]:
    key = pair[0].encode()
    return len(key), key


_BRACKETS = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[\[\]{}]', re.DOTALL)


def refuse_deep(text: str) -> None:
    """Raises `TooDeep`, before any recursion."""
    if text.count("[") + text.count("{") <= DEPTH_MAX:
        return
    depth = 0
    for found in _BRACKETS.finditer(text):
        sign = found[0]
        if sign in "[{":
            depth += 1
            if depth > DEPTH_MAX:
                raise TooDeep(TOO_DEEP)
        elif sign in "]}":
            depth -= 1


def written(document: Parsed) -> Jsonb:
    """The jsonb of what `parsed` gives. Raises `TooDeep`."""
    found = _written(document)
    refuse_deep(found)
    return found


def _written(document: Parsed) -> Jsonb:
    return Jsonb(with_numbers(document, numerics.text_of))


def with_numbers(document: Parsed, text_of: Callable[[Any], str]) -> str:
    """A document without NUL as a text; `text_of` writes other numbers than Python's."""
    plain = json.dumps(document, ensure_ascii=False, default=lambda number: f"\x00{text_of(number)}")
    return _MARKED.sub(r"\1", plain) if _MARK in plain else plain


_MARK = '"\\u0000'
"""The beginning of a number's place in a document: no string of a jsonb has NUL, so nothing else begins so."""
_MARKED = re.compile(r'"\\u0000([^"]*)"')


def in_order(document: dict[str, Parsed]) -> dict[str, Parsed]:
    return _in_order(list(document.items()))


# -- order

_EMPTY, _SCALAR, _ARRAY, _OBJECT = b"\x01", b"\x02", b"\x03", b"\x04"
_NULL, _STRING, _NUMBER, _BOOLEAN, _INNER_ARRAY, _INNER_OBJECT = (bytes((0x10 + n,)) for n in range(6))


def key_of(document: Parsed) -> bytes:
    if isinstance(document, dict):
        return _OBJECT + _length(document) + b"".join(_pieces(document))
    if isinstance(document, list):
        return _ARRAY + _length(document) + b"".join(map(_inner, document)) if document else _EMPTY
    return _SCALAR + _inner(document)


def _length(of: dict[str, Parsed] | list[Parsed]) -> bytes:
    return len(of).to_bytes(4)


def _pieces(document: dict[str, Parsed]) -> Iterator[bytes]:
    for key, value in document.items():
        yield key.encode() + b"\x00"
        yield _inner(value)


def _inner(value: Parsed) -> bytes:
    if value is None:
        return _NULL
    if isinstance(value, str):
        return _STRING + value.encode() + b"\x00"
    if isinstance(value, bool):
        return _BOOLEAN + (b"\x01" if value else b"\x00")
    if isinstance(value, list):
        return _INNER_ARRAY + _length(value) + b"".join(map(_inner, value))
    if isinstance(value, dict):
        return _INNER_OBJECT + _length(value) + b"".join(_pieces(value))
    return _NUMBER + numerics.key_of(Decimal(value))


# -- what is wrong with a text

_SPACE = re.compile(r"[ \t\n\r]*")
_WORD = re.compile(r"[A-Za-z0-9_\x80-\U0010ffff+\-.]+")
_QUOTED = re.compile(r'"(?:[^"\\]++|\\.)*+"', re.DOTALL)
_SHOWN_MAX = 80


def _detail(text: str, place: int) -> str:
    place = _SPACE.match(text, place).end()  # type: ignore[union-attr]
    if place >= len(text):
        return "The input string ended unexpectedly."
    if text[place] == '"' and _QUOTED.match(text, place) is None:
        return f'Token "{_shown(text[place:])}" is invalid.'
    if _WORD.match(text[place]):  # a word that begins well does not end here
        place = next(
            (found.start() for found in _WORD.finditer(text, max(place - _SHOWN_MAX, 0)) if found.end() > place), place
        )
    token = _QUOTED.match(text, place) or _WORD.match(text, place)
    return f'Token "{_shown(token[0] if token else text[place])}" is invalid.'


def _shown(token: str) -> str:
    return token if len(token) <= _SHOWN_MAX else f"{token[:_SHOWN_MAX]}.."
