r"""Arrays as texts, such as {1,NULL,"a b"}: how one is read and how it is written, as PostgreSQL does both.

{1, NULL ,"NULL",a\,b}    spaces around an element do not count; a quoted or escaped NULL is a text
[1:2]={1,2}               the numbers of the elements may be said, if they count from 1
{{1},{2}}                 well made, but refused by name: a node has no arrays of arrays
{1,}  {"a"b}  {{1},2}     22P02
"""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

ELEMENTS_MAX = 2**17
"""Of an array: each element counts as eight bytes at least. All arrays that a client sends at once have no more."""
TOO_MANY_ELEMENTS = f"an array may have at most {ELEMENTS_MAX} elements"
_SPACE = " \t\n\r\v\f"
_TOKEN = re.compile(
    rf'[{_SPACE}]*(?:(?P<sign>[{{}},])|"(?P<quoted>(?:[^"\\]|\\.)*)"|(?P<plain>(?:[^{{}},"\\]|\\.)+))', re.DOTALL
)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_NUMBERS = re.compile(rf"[{_SPACE}]*\[[{_SPACE}]*(?:([+-]?\d+)[{_SPACE}]*:[{_SPACE}]*)?([+-]?\d+)[{_SPACE}]*\]")
_DIGITS_MAX = 10
_BARE = re.compile(rf'[^{{}}",\\{_SPACE}]+')
_SHOWN_CHARS = 80
DIMENSIONS_MAX = 6


class NotAnArray(ValueError):
    """A text that is no array of ours."""

    def __init__(self, message: str, sqlstate: str = "22P02") -> None:
        super().__init__(message)
        self.sqlstate = sqlstate


def _unsupported(what: str) -> NotAnArray:
    return NotAnArray(f"{what} is not supported", "0A000")


def words_of(text: str) -> list[str | None]:
    """The elements of an array literal. Raises `NotAnArray`."""
    numbers, start = _numbers(text)
    words = _Reading(text, start).elements()
    if numbers and numbers != [(1, len(words))]:
        if len(numbers) == 1 and numbers[0][1] - numbers[0][0] + 1 == len(words):
            raise _unsupported("an array whose elements do not count from 1")
        raise _malformed(text)
    return words


def _numbers(text: str) -> tuple[list[tuple[int, int]], int]:
    """The first and last number of the elements as [1:2]= says them, and where the elements begin."""
    found: list[tuple[int, int]] = []
    place = 0
    while (match := _NUMBERS.match(text, place)) and len(found) <= DIMENSIONS_MAX:
        if max(map(len, match.groups(default=""))) > _DIGITS_MAX:
            raise _malformed(text)
        found.append((int(match[1] or 1), int(match[2])))
        place = match.end()
    if found:
        sign = re.compile(rf"[{_SPACE}]*=").match(text, place)
        if sign is None:
            raise _malformed(text)
        place = sign.end()
    if len(found) > 1:
        raise _unsupported("an array of arrays")
    return found, place


class _Reading:
    """The reading of one literal, token by token."""

    def __init__(self, text: str, start: int) -> None:
        self._text, self._start = text, start

    def elements(self) -> list[str | None]:
        """The elements; those of arrays inside are looked at for their shape only."""
        words: list[str | None] = []
        depth = deepest = 0
        lengths: dict[int, int] = {}
        counts: list[int] = []
        leaves_at, before = 0, ""
        for kind, word in self._tokens():
            if before == "end":
                raise _malformed(self._text)
            if kind == "{":
                if before not in ("", "{", ","):
                    raise _malformed(self._text)
                depth += 1
                if leaves_at and depth > leaves_at:
                    raise _malformed(self._text)
                deepest = max(deepest, depth)
                if depth > DIMENSIONS_MAX:
                    message = f"number of array dimensions exceeds the maximum allowed ({DIMENSIONS_MAX})"
                    raise NotAnArray(message, "54000")
                counts.append(0)
            elif kind == "}":
                if before in ("", ",") or not depth:
                    raise _malformed(self._text)
                leaves_at = leaves_at or (depth if before == "{" else 0)
                if before == "{" and depth != leaves_at:
                    raise _malformed(self._text)
                count = counts.pop()
                if lengths.setdefault(depth, count) != count:
                    raise _malformed(self._text)
                depth -= 1
                if depth:
                    counts[-1] += 1
                kind = "end" if not depth else "}"
            elif kind == ",":
                if before not in ("}", "word"):
                    raise _malformed(self._text)
            else:
                if before not in ("{", ",") or (leaves_at and depth != leaves_at):
                    raise _malformed(self._text)
                leaves_at = depth
                counts[-1] += 1
                words.append(word)
                if len(words) > ELEMENTS_MAX:
                    raise NotAnArray(TOO_MANY_ELEMENTS, "54000")
            before = kind
        if before != "end":
            raise _malformed(self._text)
        if deepest > 1 and words:
            raise _unsupported("an array of arrays")
        return words

    def _tokens(self) -> Iterator[tuple[str, str | None]]:
        text, place = self._text, self._start
        end = len(text.rstrip(_SPACE))
        while place < end:
            match = _TOKEN.match(text, place)
            if match is None:
                raise _malformed(text)
            place = match.end()
            sign, quoted, plain = match.groups()
            if sign:
                yield sign, None
            elif quoted is not None:
                yield "word", _ESCAPED.sub(r"\1", quoted) if "\\" in quoted else quoted
            elif "\\" in plain:
                yield "word", _ESCAPED.sub(r"\1", _without_trailing_space(plain))
            elif word := plain.rstrip(_SPACE):
                yield "word", None if len(word) == 4 and word.upper() == "NULL" else word


def _without_trailing_space(word: str) -> str:
    """The word without spaces at its end, but for one that a backslash escapes."""
    bare = word.rstrip(_SPACE)
    is_escaped = (len(bare) - len(bare.rstrip("\\"))) % 2
    return word[: len(bare) + is_escaped]


def _malformed(text: str) -> NotAnArray:
    shown = text if len(text) <= _SHOWN_CHARS else f"{text[:_SHOWN_CHARS]}.."
    return NotAnArray(f'malformed array literal: "{shown}"')


def array_text(items: Sequence[Any], write: Callable[[Any], str]) -> str:
    """An array as PostgreSQL shows it; `write` shows an element."""
    return "{" + ",".join("NULL" if item is None else _quoted(write(item)) for item in items) + "}"


def _quoted(text: str) -> str:
    if _BARE.fullmatch(text) and not (len(text) == 4 and text.upper() == "NULL"):
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
