"""The place of an error in a statement."""

from __future__ import annotations

import re
from dataclasses import dataclass

WORD = re.compile(r"\w+|\S")


@dataclass(frozen=True, slots=True)
class Marked:
    """A statement cut in three; `line` and `column` count from 1."""

    before: str
    word: str
    after: str
    line: int
    column: int


def mark(statement: str, position: int | None) -> Marked | None:
    """Cuts out the word at `position` (characters, from 1); None without one."""
    if position is None or not 1 <= position <= len(statement) + 1:
        return None
    start = position - 1
    found = WORD.match(statement, start)
    end = found.end() if found else min(start + 1, len(statement))
    before = statement[:start]
    line_start = before.rfind("\n") + 1
    return Marked(before, statement[start:end] or "␣", statement[end:], before.count("\n") + 1, start - line_start + 1)
