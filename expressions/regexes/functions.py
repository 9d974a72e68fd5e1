"""regexp_match, regexp_replace and their kin, for one value; the query engine calls the same.

What looks for one match can be computed anywhere. What goes through all matches of a text may look at its end again for
each, so it is left to the query engine, where nobody waits for it and its time is watched (`nodes.execution`).
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from expressions.errors import INVALID_PARAMETER_VALUE, PROGRAM_LIMIT, SqlError
from expressions.limits import GROWN_BYTES_MAX, refuse_length
from expressions.regexes.flags import Flags, flags_of
from expressions.regexes.groups import Span
from expressions.regexes.matching import Regex, checked, regex_of, regex_of_re2
from expressions.regexes.similar import similar_to
from expressions.sqltypes import ARRAY_OF, BOOL, INT4, TEXT
from expressions.values.own import Own, lines

Texts = tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class Test:
    """An operator of a text and an expression: the engine's text for it, and what computes it here."""

    template: str
    compute: Callable[[str, str], bool]


NO_MATCH: Span = (-1, -1)
MATCHES_MAX = 2**17
"""Elements that an array may have at most."""


def _flags(letters: str, name: str) -> Flags:
    """Options of a function that looks for one match, or for all whatever they say."""
    flags = flags_of(letters)
    if flags.is_global:
        hint = "Use the regexp_matches function instead." if name == "regexp_match" else None
        message = f'{name}() does not support the "global" option'
        raise SqlError(INVALID_PARAMETER_VALUE, message, hint=hint)
    return flags


def _part(text: bytes, span: Span) -> str | None:
    return None if span == NO_MATCH else text[span[0] : span[1]].decode()


def _parts(text: bytes, spans: Sequence[Span]) -> Texts:
    """The groups of a match, or all of it where there are none. Groups may stand within groups: Raises 54000."""
    groups = spans[1:] or spans
    refuse_length(sum(end - start for start, end in groups))
    return tuple(_part(text, span) for span in groups)


# -- one match


def is_like(text: str, pattern: str, letters: str = "") -> bool:
    return regex_of(pattern, _flags(letters, "regexp_like")).is_in(text.encode())


def like_expression(pattern: str, letters: str) -> str:
    """The expression that regexp_like looks for, as the query engine takes it."""
    return checked(pattern, _flags(letters, "regexp_like"))


def _test(*, ignores_case: bool = False, is_negated: bool = False) -> Test:
    """An operator whose expression is in RE2's words."""
    options, engine_option = ("(?i)", ", 'i'") if ignores_case else ("", "")

    def compute(text: str, expression: str) -> bool:
        return regex_of_re2(f"{options}{expression}").is_in(text.encode()) is not is_negated

    found = f"regexp_matches({{0}}, {{1}}{engine_option})"
    return Test(f"(NOT {found})" if is_negated else found, compute)


def match(text: str, pattern: str, letters: str = "") -> Texts | None:
    data = text.encode()
    found = regex_of(pattern, _flags(letters, "regexp_match")).search(data)
    return None if found is None else _parts(data, found)


def substring(text: str, pattern: str) -> str | None:
    """The first group of the first match, or all of it."""
    data = text.encode()
    found = regex_of(pattern, Flags()).search(data)
    return None if found is None else _part(data, found[1] if len(found) > 1 else found[0])


# -- all matches


def _refuse_below(least: int, **given: int) -> None:
    for name, value in given.items():
        if value < least:
            raise SqlError(INVALID_PARAMETER_VALUE, f'invalid value for parameter "{name}": {value}')


def _place(text: str, start: int) -> int:
    """The byte at which the character `start` begins, counted from 1; behind the text where there is none."""
    return len(text[: start - 1].encode()) if start <= len(text) + 1 else len(text.encode()) + 1


def _taken_apart(text: bytes, regex: Regex) -> list[Span]:
    """Matches between which a text is split: none that is empty at its ends or right behind another one."""
    kept: list[Span] = []
    before = 0
    for ((start, end),) in regex.places_in(text):
        if start < len(text) and end > before:
            kept.append((start, end))
            refuse_many(len(kept))
        before = end
    return kept


def refuse_many(parts: int) -> None:
    if parts > MATCHES_MAX:
        message = f"a regular expression may find at most {MATCHES_MAX} parts of a text that become elements or rows"
        raise SqlError(PROGRAM_LIMIT, message)


def count(text: str, pattern: str, start: int = 1, letters: str = "") -> int:
    _refuse_below(1, start=start)
    regex = regex_of(pattern, _flags(letters, "regexp_count"))
    return sum(1 for _ in regex.places_in(text.encode(), _place(text, start)))


def matches(text: str, pattern: str, letters: str = "") -> list[list[str | None]]:
    """The rows of regexp_matches: one for each match with the option g, else at most one."""
    flags, data, rows = flags_of(letters), text.encode(), list[list[str | None]]()
    elements = length = 0
    for spans in regex_of(pattern, replace(flags, is_global=False)).all_in(data):
        rows.append(list(_parts(data, spans)))
        elements, length = elements + len(rows[-1]), length + sum(len(part or "") for part in rows[-1])
        refuse_many(elements)
        refuse_length(length)
        if not flags.is_global:
            break
    return rows


def _nth(regex: Regex, data: bytes, place: int, number: int, group: int) -> list[Span] | None:
    """The match of that number; with its groups where one of them is asked for."""
    matches = regex.all_in(data, place) if group else regex.places_in(data, place)
    return next((spans for found, spans in enumerate(matches, 1) if found == number), None)


def _span_of(spans: Sequence[Span], group: int) -> Span:
    """The place of a group; without groups the first one is the whole match, as PostgreSQL has it."""
    if group == 1 and len(spans) == 1:
        return spans[0]
    return spans[group] if group < len(spans) else NO_MATCH


def instr(
    text: str, pattern: str, start: int = 1, number: int = 1, endoption: int = 0, letters: str = "", subexpr: int = 0
) -> int:
    """Where a match begins, or the character behind it, counted from 1; 0 when there is none."""
    _refuse_below(1, start=start, n=number)
    if endoption not in (0, 1):
        raise SqlError(INVALID_PARAMETER_VALUE, f'invalid value for parameter "endoption": {endoption}')
    _refuse_below(0, subexpr=subexpr)
    data = text.encode()
    spans = _nth(regex_of(pattern, _flags(letters, "regexp_instr")), data, _place(text, start), number, subexpr)
    span = NO_MATCH if spans is None else _span_of(spans, subexpr)
    return 0 if span == NO_MATCH else len(data[: span[endoption]].decode()) + 1


def substr(text: str, pattern: str, start: int = 1, number: int = 1, letters: str = "", subexpr: int = 0) -> str | None:
    _refuse_below(1, start=start, n=number)
    _refuse_below(0, subexpr=subexpr)
    data = text.encode()
    spans = _nth(regex_of(pattern, _flags(letters, "regexp_substr")), data, _place(text, start), number, subexpr)
    return None if spans is None else _part(data, _span_of(spans, subexpr))


def split(text: str, pattern: str, letters: str = "", name: str = "regexp_split_to_array") -> list[str]:
    data, pieces, begin = text.encode(), list[str](), 0
    for start, end in _taken_apart(data, regex_of(pattern, _flags(letters, name))):
        pieces.append(data[begin:start].decode())
        begin = end
    return [*pieces, data[begin:].decode()]


def split_to_rows(text: str, pattern: str, letters: str = "") -> list[str]:
    return split(text, pattern, letters, "regexp_split_to_table")


def replaced(text: str, pattern: str, new: str, letters: str = "") -> str:
    """The first match replaced, or with the option g all of them."""
    if letters[:1].isascii() and letters[:1].isdigit():
        hint = "If you meant to use regexp_replace() with a start parameter, cast the fourth argument to integer."
        message = f'invalid regular expression option: "{letters[0]}"'
        raise SqlError(INVALID_PARAMETER_VALUE, message, hint=hint)
    flags = flags_of(letters)
    return _replaced(text, regex_of(pattern, replace(flags, is_global=False)), new, 1, 0 if flags.is_global else 1)


def replaced_from(
    text: str, pattern: str, new: str, start: int = 1, number: int | None = None, letters: str = ""
) -> str:
    """The match of that number replaced, counted from a place on; of 0 all of them."""
    _refuse_below(1, start=start)
    flags = flags_of(letters)
    if number is None:
        number = 0 if flags.is_global else 1
    _refuse_below(0, n=number)
    return _replaced(text, regex_of(pattern, replace(flags, is_global=False)), new, start, number)


_REFERENCES = re.compile(rb"\\([1-9&\\])")
_GROUPS = frozenset(b"%d" % number for number in range(1, 10))


def _replaced(text: str, regex: Regex, new: str, start: int, number: int) -> str:
    data, begin, length = text.encode(), 0, 0
    length_max = max(len(data), GROWN_BYTES_MAX)
    pieces: list[bytes] = []
    parts = _REFERENCES.split(new.encode())
    names_groups = any(part in _GROUPS for part in parts[1::2])
    matches = regex.all_in(data, _place(text, start)) if names_groups else regex.places_in(data, _place(text, start))
    for found, spans in enumerate(matches, 1):
        if number and found != number:
            continue
        made = [data[begin : spans[0][0]], *_filled(data, parts, spans)]
        length += sum(map(len, made))
        if length > length_max:
            message = f"a text may grow to at most {GROWN_BYTES_MAX} bytes"
            raise SqlError(PROGRAM_LIMIT, message)
        pieces += made
        begin = spans[0][1]
        if number:
            break
    return b"".join([*pieces, data[begin:]]).decode()


def _filled(data: bytes, parts: Sequence[bytes], spans: Sequence[Span]) -> list[bytes]:
    """The new text for one match: every other part is a reference."""
    filled: list[bytes] = []
    for place, part in enumerate(parts):
        if not place % 2 or part == b"\\":
            filled.append(part)
        else:
            group = 0 if part == b"&" else int(part)
            start, end = spans[group] if group < len(spans) else NO_MATCH
            filled.append(data[start:end] if start >= 0 else b"")
    return filled


# -- the tables

_TWO, _THREE = (TEXT, TEXT), (TEXT, TEXT, TEXT)
_OF_TEXTS = ARRAY_OF[TEXT]
TESTS = {
    "~": _test(), "!~": _test(is_negated=True),
    "~*": _test(ignores_case=True), "!~*": _test(ignores_case=True, is_negated=True),
}  # fmt: skip
RE2_TEXT = Own("regex", "re2", (), (TEXT,), TEXT, lambda pattern: checked(pattern, Flags()))
"""The expression as the query engine takes it."""
_INSTR = (TEXT, TEXT, INT4, INT4, INT4, TEXT, INT4)
_SUBSTR = (TEXT, TEXT, INT4, INT4, TEXT, INT4)
_REPLACE = (TEXT, TEXT, TEXT, INT4, INT4, TEXT)

OF_ONE_MATCH = tuple(
    lines(
        "regex",
        ("regexp_like", _TWO, BOOL, is_like),
        ("regexp_like", _THREE, BOOL, is_like),
        ("regexp_match", _TWO, _OF_TEXTS, match),
        ("regexp_match", _THREE, _OF_TEXTS, match),
        ("substring", _TWO, TEXT, substring),
        ("similar_to_escape", (TEXT,), TEXT, similar_to),
        ("similar_to_escape", _TWO, TEXT, similar_to),
    )
)
_COUNTS: tuple[tuple[str, tuple[Any, ...], Any, Callable[..., Any]], ...] = (
    *(("regexp_count", (TEXT, TEXT, INT4, TEXT)[:some], INT4, count) for some in (2, 3, 4)),
    *(("regexp_instr", _INSTR[:some], INT4, instr) for some in range(2, 8)),
    *(("regexp_substr", _SUBSTR[:some], TEXT, substr) for some in range(2, 7)),
)
OF_ALL_MATCHES = tuple(
    lines(
        "regexes",
        *_COUNTS,
        ("regexp_replace", _THREE, TEXT, replaced),
        ("regexp_replace", (*_THREE, TEXT), TEXT, replaced),
        *(("regexp_replace", _REPLACE[:some], TEXT, replaced_from) for some in (4, 5, 6)),
        ("regexp_split_to_array", _TWO, _OF_TEXTS, split),
        ("regexp_split_to_array", _THREE, _OF_TEXTS, split),
    )
)
SETS = tuple(
    lines(
        "regex_rows",
        ("regexp_split_to_table", _TWO, TEXT, split_to_rows),
        ("regexp_split_to_table", _THREE, TEXT, split_to_rows),
        ("regexp_matches", _TWO, _OF_TEXTS, matches),
        ("regexp_matches", _THREE, _OF_TEXTS, matches),
    )
)
"""Functions that give rows, as lists of them; `result` is the type of a row."""
