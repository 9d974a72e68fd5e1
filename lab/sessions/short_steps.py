"""Short ways to write steps. Any other step stays as it is: `publish.2`, `n1.acquire`, `fill.read.1.1`.

n2.insert.1.1   n2.begin  n2.read.1  n2.write.insert.1.1  n2.commit      a whole statement
n1.delete.1     n1.begin  n1.read.1  n1.write.delete.1.0  n1.commit
"""

import re
from collections.abc import Iterable, Iterator, Sequence

STATEMENT = re.compile(r"(n\d+)\.(insert|update|delete|move)\.(\d+)(?:\.(-?\d+))?")
WRITE = re.compile(r"(n\d+)\.write\.(\w+)\.(\d+)\.(-?\d+)")


def in_full(steps: Iterable[str]) -> tuple[str, ...]:
    return tuple(one for step in steps for one in _apart(step))


def _apart(step: str) -> Iterator[str]:
    found = STATEMENT.fullmatch(step)
    if found is None:
        yield step
        return
    node, what, row, value = found.groups(default="0")
    yield from (f"{node}.begin", f"{node}.read.{row}", f"{node}.write.{what}.{row}.{value}", f"{node}.commit")


def in_short(steps: Sequence[str]) -> Iterator[str]:
    at = 0
    while at < len(steps):
        short = _together(steps[at : at + 4])
        yield short or steps[at]
        at += 4 if short else 1


def _together(steps: Sequence[str]) -> str:
    found = WRITE.fullmatch(steps[2]) if len(steps) == 4 else None
    if found is None:
        return ""
    node, what, row, value = found.groups()
    short = f"{node}.{what}.{row}.{value}"
    return short if tuple(steps) == in_full([short]) else ""


def statements(steps: Iterable[str]) -> list[tuple[str, str]]:
    """(node, kind) of every committed statement, in order; the kind is insert, update, delete or move."""
    written: dict[str, str] = {}
    found = []
    for step in steps:
        if match := WRITE.fullmatch(step):
            written[match[1]] = match[2]
        node, _, verb = step.partition(".")
        if verb == "commit" and node in written:
            found.append((node, written.pop(node)))
    return found
