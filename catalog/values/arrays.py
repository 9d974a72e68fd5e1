r"""Texts of arrays, such as {1,NULL,"a b"}, read and written as by PostgreSQL.

{1, NULL ,"NULL",a\,b}    spaces around an element do not count; a quoted or escaped NULL is a text
[1:2]={1,2}               bounds may be given, if they count from 1
{{1},{2}}                 well formed, but refused by name: arrays of arrays
{1,}  {"a"b}  {{1},2}     22P02
"""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from catalog.values.errors import InvalidText

ELEMENTS_MAX = 2**17
"""Of an array: each element counts as eight bytes at least. All arrays that a client sends at once have no more."""
TOO_MANY_ELEMENTS = f"an array may have at most {ELEMENTS_MAX} elements"
_SPACE = " \t\n\r\v\f"
_TOKEN = re.compile(
    rf'[{_SPACE}]*(?:(?P<sign>[{{}},])|"(?P<quoted>(?:[^"\\]|\\.)*)"|(?P<plain>(?:[^{{}},"\\]|\\.)+))', re.DOTALL
)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_BARE = re.compile(rf'[^{{}}",\\{_SPACE}]+')
_SHOWN_CHARS = 80
DIMENSIONS_MAX = 6
TOO_MANY_DIMENSIONS = f"number of array dimensions exceeds the maximum allowed ({DIMENSIONS_MAX})"
OF_ARRAYS = "an array of arrays"
OF_ONE_DIMENSION = "arrays have one dimension here; a jsonb may be nested"
BOUND_MAX = 2**31 - 1
SIZE_MAX = 2**27 - 1
_DIGITS_MAX = 10
_BOUND = re.compile(r"[+-]?[0-9]+")
_SPACES = re.compile(rf"[{_SPACE}]*")
_ENDS = ("", ",", "{", "}")
_NO_BEGIN = 'Array value must start with "{" or dimension information.'
_QUOTED_IN_PART = "Incorrectly quoted array element."


def _unsupported(what: str, detail: str | None = None) -> InvalidText:
    return InvalidText(f"{what} is not supported", "0A000", detail)


def words_of(text: str) -> list[str | None]:
    return _Reading(text).elements()


class _Reading:
    """Reads one literal, token by token."""

    def __init__(self, text: str) -> None:
        self._text, self._place = text, 0
        self._bounds = self._dimensions()
        if self._at() != "{":
            detail = 'Array contents must start with "{".' if self._bounds else _NO_BEGIN
            raise self._malformed(detail)

    def _at(self) -> str:
        return self._text[self._place : self._place + 1]

    def _pass_space(self) -> None:
        match = _SPACES.match(self._text, self._place)
        assert match is not None
        self._place = match.end()

    def _dimensions(self) -> list[tuple[int, int]]:
        found: list[tuple[int, int]] = []
        while True:
            self._pass_space()
            if self._at() != "[":
                break
            if len(found) >= DIMENSIONS_MAX:
                raise InvalidText(TOO_MANY_DIMENSIONS, "54000")
            self._place += 1
            first, last = 1, self._bound('"[" must introduce explicitly-specified array dimensions.')
            if self._at() == ":":
                self._place += 1
                first, last = last, self._bound("Missing array dimension value.")
            if self._at() != "]":
                raise self._malformed('Missing "]" after array dimensions.')
            self._place += 1
            if last < first:
                raise InvalidText("upper bound cannot be less than lower bound", "2202E")
            if last == BOUND_MAX:
                raise InvalidText(f"array upper bound is too large: {last}", "54000")
            if last - first >= SIZE_MAX:
                raise InvalidText(f"array size exceeds the maximum allowed ({SIZE_MAX})", "54000")
            found.append((first, last))
        if found:
            if self._at() != "=":
                raise self._malformed('Missing "=" after array dimensions.')
            self._place += 1
            self._pass_space()
        return found

    def _bound(self, detail: str) -> int:
        match = _BOUND.match(self._text, self._place)
        if match is None:
            raise self._malformed(detail)
        self._place = match.end()
        digits = match[0].lstrip("+-").lstrip("0")
        number = int(digits or "0") if len(digits) <= _DIGITS_MAX else 2 * BOUND_MAX
        number = -number if match[0].startswith("-") else number
        if not -BOUND_MAX - 1 <= number <= BOUND_MAX:
            raise InvalidText("array bound is out of integer range", "22003")
        return number

    def elements(self) -> list[str | None]:
        """The elements; nested arrays are checked for their shape only."""
        words: list[str | None] = []
        lengths = {place: last - first + 1 for place, (first, last) in enumerate(self._bounds)}
        depth, deepest, is_deepest_known = 0, len(self._bounds), bool(self._bounds)
        counts: list[int] = []
        is_complete = False
        """An element, or an array within, has just ended."""
        for kind, word in self._tokens():
            if kind == "{":
                if is_complete:
                    raise self._unexpected(kind)
                if depth >= DIMENSIONS_MAX:
                    raise InvalidText(TOO_MANY_DIMENSIONS, "54000")
                counts.append(0)
                depth += 1
                if depth > deepest:
                    if is_deepest_known:
                        raise self._of_other_dimensions()
                    deepest = depth
            elif kind == "}":
                count = counts.pop()
                if count and not is_complete:
                    raise self._unexpected(kind)
                depth -= 1
                if lengths.setdefault(depth, count) != count:
                    raise self._of_other_dimensions()
                is_complete = True
                if not depth:
                    return self._whole(words, deepest)
                counts[-1] += 1
            elif kind == ",":
                if not is_complete:
                    raise self._unexpected(kind)
                is_complete = False
            else:
                if is_complete:
                    raise self._malformed("Unexpected array element.")
                is_deepest_known = is_complete = True
                if depth != deepest:
                    raise self._of_other_dimensions()
                counts[-1] += 1
                words.append(word)
                if len(words) > ELEMENTS_MAX:
                    raise InvalidText(TOO_MANY_ELEMENTS, "54000")
        raise self._malformed("Unexpected end of input.")

    def _whole(self, words: list[str | None], deepest: int) -> list[str | None]:
        self._pass_space()
        if self._at():
            raise self._malformed("Junk after closing right brace.")
        if deepest > 1 and words:
            raise _unsupported(OF_ARRAYS, f"{OF_ONE_DIMENSION.capitalize()}.")
        if self._bounds and self._bounds[0][0] != 1:
            raise _unsupported("an array whose elements do not count from 1")
        return words

    def _tokens(self) -> Iterator[tuple[str, str | None]]:
        text = self._text
        end = len(text.rstrip(_SPACE))
        while self._place < end:
            match = _TOKEN.match(text, self._place)
            if match is None:
                return
            self._place = match.end()
            sign, quoted, plain = match.groups()
            if sign:
                yield sign, None
            elif quoted is not None:
                self._pass_space()
                if self._at() not in _ENDS:
                    raise self._malformed(_QUOTED_IN_PART)
                if self._at():
                    yield "word", _ESCAPED.sub(r"\1", quoted) if "\\" in quoted else quoted
            else:
                if self._at() == '"':
                    raise self._malformed(_QUOTED_IN_PART)
                if self._at() == "{":
                    raise self._unexpected("{")
                if not self._at():
                    return
                if "\\" in plain:
                    yield "word", _ESCAPED.sub(r"\1", _without_trailing_space(plain))
                else:
                    word = plain.rstrip(_SPACE)
                    yield "word", None if len(word) == 4 and word.upper() == "NULL" else word

    def _malformed(self, detail: str) -> InvalidText:
        text = self._text
        shown = text if len(text) <= _SHOWN_CHARS else f"{text[:_SHOWN_CHARS]}.."
        return InvalidText(f'malformed array literal: "{shown}"', detail=detail)

    def _unexpected(self, char: str) -> InvalidText:
        return self._malformed(f'Unexpected "{char}" character.')

    def _of_other_dimensions(self) -> InvalidText:
        if self._bounds:
            return self._malformed("Specified array dimensions do not match array contents.")
        return self._malformed("Multidimensional arrays must have sub-arrays with matching dimensions.")


def _without_trailing_space(word: str) -> str:
    bare = word.rstrip(_SPACE)
    is_escaped = (len(bare) - len(bare.rstrip("\\"))) % 2
    return word[: len(bare) + is_escaped]


def array_text(items: Sequence[Any], write: Callable[[Any], str]) -> str:
    return "{" + ",".join("NULL" if item is None else _quoted(write(item)) for item in items) + "}"


def _quoted(text: str) -> str:
    if _BARE.fullmatch(text) and not (len(text) == 4 and text.upper() == "NULL"):
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
