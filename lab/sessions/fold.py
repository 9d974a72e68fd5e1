"""The trace by statements: consecutive single steps of one statement are one line, at the position of its commit. A
statement that others interrupt stays in single steps, and so does one around the current position."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from lab.sessions.severity import worst
from lab.sessions.shown import NOTHING, SessionView, Strip, TraceLine

STATEMENT = 4


def folded(shown: SessionView, *, single_steps: bool) -> SessionView:
    """Sets `until` in every line, and leaves the strip a cell for the start and each line."""
    if single_steps:
        lines = [replace(line, until=at + 1, statement=NOTHING) for at, line in enumerate(shown.trace)]
    else:
        lines = list(_statements(shown.trace, shown.at))
    stops = [0, *(line.until for line in lines)]
    strip = (Strip(row.clause, tuple(row.cells[stop] for stop in stops)) for row in shown.strip)
    return replace(shown, trace=tuple(lines), strip=tuple(strip))


def _statements(lines: Sequence[TraceLine], place: int) -> Iterator[TraceLine]:
    at = 0
    while at < len(lines):
        end = at + _length([line.id for line in lines[at : at + 4]])
        if at < place < end:
            end = at + 1
        together, last = lines[at:end], lines[end - 1]
        text = last.statement if len(together) == STATEMENT and last.statement.template else last.text
        severity = worst(line.severity for line in together)
        yield replace(last, text=text, severity=severity, until=end, statement=NOTHING)
        at = end


def _length(ids: Sequence[str]) -> int:
    match [name.split(".") for name in ids]:
        case [[one, "begin"], [two, "read", *_], [three, "write", *_], [four, "commit"]] if one == two == three == four:
            return STATEMENT
        case [["fill", "read", *chunk], ["fill", "put", *same], *_] if chunk == same:
            return 2
    return 1
