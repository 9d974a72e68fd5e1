"""Cuts a text of a date, time or interval into fields, as PostgreSQL does (ParseDateTime).

2024-02-29 04:05:06.7 -8    date, time, offset        3 days -04:05    number, word, offset
"""

from collections.abc import Callable, Collection
from string import punctuation

PASSED_OVER = frozenset(punctuation) - {".", "+", "-"}
Field = tuple[str, str]
"""A kind, and its characters: date, time, number, word, offset."""


def fields_of(text: str, words: Collection[str]) -> list[Field] | None:
    """The fields in small letters, or None. `words` are not names of zones."""
    place = 0
    fields: list[Field] = []
    while place < len(text):
        char = text[place]
        if char.isspace() or char in PASSED_OVER:
            place += 1
            continue
        if _digit(char):
            kind, end = _numeric_field(text, place)
        elif char == "." and _is_digit(text, place + 1):
            kind, end = "number", _while(text, place + 1, _digit)
        elif _letter(char):
            kind, end = _word_field(text, place, words)
        elif char in "+-":
            start = _while(text, place + 1, str.isspace)
            if _is_digit(text, start):
                end = _while(text, start, lambda c: _digit(c) or c in ":.-")
                fields.append(("offset", char + text[start:end]))
                place = end
                continue
            end = _while(text, start, _letter)
            if end == start:
                return None
            kind, place = "word", start
        else:
            return None
        fields.append((kind, text[place:end]))
        place = end
    return fields


def _digit(char: str) -> bool:
    return "0" <= char <= "9"


def _letter(char: str) -> bool:
    return "a" <= char <= "z"


def _is_digit(text: str, place: int) -> bool:
    return place < len(text) and _digit(text[place])


def _while(text: str, place: int, holds: Callable[[str], bool]) -> int:
    while place < len(text) and holds(text[place]):
        place += 1
    return place


def _numeric_field(text: str, start: int) -> tuple[str, int]:
    end = _while(text, start, _digit)
    if end < len(text) and text[end] == ":":
        return "time", _while(text, end, lambda c: _digit(c) or c in ":.")
    if end < len(text) and text[end] in "-/.":
        delimiter, end = text[end], end + 1
        if _is_digit(text, end):
            end = _while(text, end, _digit)
            if end < len(text) and text[end] == delimiter:
                return "date", _while(text, end, lambda c: _digit(c) or c == delimiter)
            return ("number" if delimiter == "." else "date"), end
        return "date", _while(text, end, lambda c: _digit(c) or _letter(c) or c == delimiter)
    return "number", end


def _word_field(text: str, start: int, words: Collection[str]) -> tuple[str, int]:
    """Kind and end of a field that begins with a letter; names of zones have more than letters."""
    end = _while(text, start, _letter)
    if end < len(text):
        char = text[end]
        goes_on = char in "-/." or ((char == "+" or _is_digit(text, end)) and text[start:end] not in words)
        if goes_on:
            return "date", _while(text, end, lambda c: _digit(c) or _letter(c) or c in "+-/._:")
    return "word", end
