"""Members and elements of a document, cut out of its text as they are written there.

A json is shown as it was written, blanks and all, and a part of a jsonb is in its one form as the whole is: so both are
cut, and neither is read. The text is a document: that was checked when it became a value.
"""

import json
import re
from collections.abc import Iterator, Sequence

from catalog.values.types import INT_LIMITS, SqlType
from expressions.errors import INVALID_PARAMETER_VALUE, SqlError

_SPACE = re.compile(r"[ \t\n\r]*")
_BETWEEN = re.compile(r"[ \t\n\r,:]*")
_STRING = re.compile(r'"(?:[^"\\]++|\\.)*+"', re.DOTALL)
_BRACKETS = re.compile(r'"(?:[^"\\]++|\\.)*+"|[\[\]{}]', re.DOTALL)
_SCALAR = re.compile(r"[^ \t\n\r,\]}]+")
_INDEX = re.compile(r"[ \t\n\r\v\f]*([+-]?)0*(\d{1,10})", re.ASCII)
INT_LIMIT = INT_LIMITS[SqlType.INTEGER]
_NAMES = {'"': "string", "{": "object", "[": "array", "t": "boolean", "f": "boolean", "n": "null"}


def kind_of(document: str) -> str:
    """string, number, boolean, null, object or array."""
    return _NAMES.get(document[_start(document)], "number")


def _start(document: str) -> int:
    found = _SPACE.match(document)
    assert found is not None
    return found.end()


def _spans(document: str) -> Iterator[tuple[int, int]]:
    """The values of an array, or keys and values of an object in turn: where each begins and ends."""
    place = _start(document) + 1
    while True:
        found = _BETWEEN.match(document, place)
        assert found is not None
        place = found.end()
        if document[place] in "]}":
            return
        end = _end(document, place)
        yield place, end
        place = end


def _end(document: str, place: int) -> int:
    sign = document[place]
    if sign not in "[{":
        found = (_STRING if sign == '"' else _SCALAR).match(document, place)
        assert found is not None, document
        return found.end()
    depth = 0
    for bracket in _BRACKETS.finditer(document, place):
        if bracket[0] in "[{":
            depth += 1
        elif bracket[0] in "]}":
            depth -= 1
            if not depth:
                return bracket.end()
    raise AssertionError(document)


def elements(document: str) -> list[str]:
    """The elements of an array."""
    return [document[start:end] for start, end in _spans(document)]


def members(document: str) -> Iterator[tuple[str, str]]:
    """The members of an object, as they stand in it."""
    spans = _spans(document)
    for (start, end), value in zip(spans, spans, strict=True):
        yield unquoted(document[start:end]), document[slice(*value)]


def unquoted(string: str) -> str:
    """The text that a string of a document means."""
    if "\\" not in string:
        return string[1:-1]
    text: str = json.loads(string)
    if "\x00" in text:
        detail = r"\u0000 cannot be converted to text."
        raise SqlError("22P05", "unsupported Unicode escape sequence", detail=detail)
    if any("\ud800" <= character <= "\udfff" for character in text):
        detail = "Unicode low surrogate must follow a high surrogate."
        raise SqlError("22P02", "invalid input syntax for type json", detail=detail)
    return text


def text_of(part: str | None) -> str | None:
    """A part as a text: a string without its quotes, and none for null."""
    if part is None or part == "null":
        return None
    return unquoted(part) if part[0] == '"' else part


def member(document: str, key: str) -> str | None:
    """The member of that name; of several the last one."""
    if kind_of(document) != "object":
        return None
    found = None
    for name, value in members(document):
        if name == key:
            found = value
    return found


def element(document: str, index: int) -> str | None:
    """The element of that number, from 0, or from the end."""
    if kind_of(document) != "array":
        return None
    if index < 0:
        listed = elements(document)
        return listed[index] if -index <= len(listed) else None
    return next((document[start:end] for n, (start, end) in enumerate(_spans(document)) if n == index), None)


def element_of_jsonb(document: str, index: int) -> str | None:
    """The same of a jsonb, to which a scalar is an array of itself."""
    if kind_of(document) not in ("array", "object"):
        return document if index in (0, -1) else None
    return element(document, index)


def index_of(step: str) -> int | None:
    """The number of an element, where a step of a path is one: blanks may stand before it, and not behind."""
    found = _INDEX.fullmatch(step)
    index = int(found[1] + found[2]) if found else None
    return index if index is not None and -INT_LIMIT <= index < INT_LIMIT else None


def at_path(document: str, path: Sequence[str | None]) -> str | None:
    """The part that a path leads to: names of members, numbers of elements."""
    found: str | None = document.strip(" \t\n\r")
    for step in path:
        if found is None or step is None:
            return None
        index = index_of(step) if found[0] == "[" else None
        found = member(found, step) if index is None else element(found, index)
    return found


def member_text(document: str, key: str) -> str | None:
    return text_of(member(document, key))


def element_text(document: str, index: int) -> str | None:
    return text_of(element(document, index))


def element_text_of_jsonb(document: str, index: int) -> str | None:
    return text_of(element_of_jsonb(document, index))


def text_at_path(document: str, path: Sequence[str | None]) -> str | None:
    found = at_path(document, path)
    return text_of(None if found is None else found.strip(" \t\n\r"))


def length_of(document: str) -> int:
    kind = kind_of(document)
    if kind != "array":
        what = "a non-array" if kind == "object" else "a scalar"
        raise SqlError(INVALID_PARAMETER_VALUE, f"cannot get array length of {what}")
    return sum(1 for _ in _spans(document))


def elements_of_json(document: str, name: str = "json_array_elements") -> list[str]:
    kind = kind_of(document)
    if kind != "array":
        what = "a non-array" if kind == "object" else "a scalar"
        raise SqlError(INVALID_PARAMETER_VALUE, f"cannot call {name} on {what}")
    return elements(document)


def element_texts_of_json(document: str) -> list[str | None]:
    return [text_of(part) for part in elements_of_json(document, "json_array_elements_text")]


def elements_of_jsonb(document: str) -> list[str]:
    kind = kind_of(document)
    if kind != "array":
        what = "an object" if kind == "object" else "a scalar"
        raise SqlError(INVALID_PARAMETER_VALUE, f"cannot extract elements from {what}")
    return elements(document)


def element_texts_of_jsonb(document: str) -> list[str | None]:
    return [text_of(part) for part in elements_of_jsonb(document)]


def keys_of_json(document: str, name: str = "json_object_keys") -> list[str]:
    kind = kind_of(document)
    if kind != "object":
        what = "an array" if kind == "array" else "a scalar"
        raise SqlError(INVALID_PARAMETER_VALUE, f"cannot call {name} on {what}")
    return [key for key, _ in members(document)]


def _members_of_each(document: str, name: str) -> list[tuple[str, str]]:
    if kind_of(document) != "object":
        of = "an array as an object" if kind_of(document) == "array" else "a scalar"
        message = f"cannot deconstruct {of}" if name.startswith("json_") else f"cannot call {name} on a non-object"
        raise SqlError(INVALID_PARAMETER_VALUE, message)
    return list(members(document))


def keys_of_each(document: str, name: str) -> list[str]:
    """The keys of json_each and its kin."""
    return [key for key, _ in _members_of_each(document, name)]


def values_of(document: str, name: str) -> list[str]:
    return [value for _, value in _members_of_each(document, name)]


def texts_of(document: str, name: str) -> list[str | None]:
    return [text_of(value) for _, value in _members_of_each(document, name)]


def keys_of_jsonb(document: str) -> list[str]:
    return keys_of_json(document, "jsonb_object_keys")
