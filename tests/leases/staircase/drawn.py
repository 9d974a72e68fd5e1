"""Pictures over time as text, to be compared with what was read and found good.

flags   |      2  3      |     versions, where they were published
n1      |1111112223333333|     the newest version that the node used there
n2      |111111//////////|     its lease counts, and it does not answer
n3      |      .222233333|     it used nothing before
folds   |~~~~      ~~~~~~|     stretches of seconds
"""

from __future__ import annotations

from leases.staircase.axis import axis
from leases.staircase.facts import Facts, Json, Mark, Second, Use, Version, Walk, Work
from leases.staircase.picture import picture

COLUMNS = 60
LEASE_S = 30.0
PHASES = ("public", "delete-only", "write-only", "public")


def version(number: int, at: float, phase: str = "public") -> Version:
    return Version(number, at, phase)


def use(node: str, number: int, began: float, ended: float | None = None, *, until: float | None = None) -> Use:
    """A use that was given back at `ended`, or ran out when `until` is the same."""
    return Use(node, number, began, ended, (ended or began) + LEASE_S if until is None else until)


def facts(
    versions: list[Version],
    uses: list[Use],
    *,
    end: float,
    start: float = 0.0,
    marks: tuple[Mark, ...] = (),
    seconds: tuple[Second, ...] = (),
    works: tuple[Work, ...] = (),
    is_live: bool = False,
) -> Facts:
    return Facts(start, end, is_live, (Walk(7, "flights", tuple(versions), tuple(uses)),), marks, seconds, works)


def steady(start: int, end: int, *, rate: float = 400.0, p99: float = 8.0) -> tuple[Second, ...]:
    """Seconds in which nothing is remarkable."""
    return tuple(Second(float(at), rate, 1.0, p99) for at in range(start, end + 1))


def text(drawn: Json) -> str:
    """The first table of a picture, in letters."""
    table = drawn["tables"][0]
    flags = [" "] * COLUMNS
    for flag in table["flags"]:
        flags[_column(flag["x"])] = str(flag["version"] % 10)
    folds = _filled(drawn["folds"], "~")
    rows = [("flags", flags), *((lane["node"], _lane(lane)) for lane in table["lanes"]), ("folds", folds)]
    return "\n".join(f"{name:7} |{''.join(letters)}|" for name, letters in rows)


def _lane(lane: Json) -> list[str]:
    letters = [" "] * COLUMNS
    for bar in lane["bars"]:
        for column in range(_column(bar["x"]), _column(bar["x"] + bar["width"]) + 1):
            letters[column] = str(bar["version"] % 10)
    for gap in lane["gaps"]:
        for column in range(_column(gap["x"]), _column(gap["x"] + gap["width"]) + 1):
            letters[column] = "/"
    for mark in lane["marks"]:
        letters[_column(mark["x"])] = mark["kind"][0].upper()
    return letters


def _filled(spans: list[Json], letter: str) -> list[str]:
    letters = [" "] * COLUMNS
    for span in spans:
        for column in range(_column(span["x"]), _column(span["x"] + span["width"])):
            letters[column] = letter
    return letters


def _column(x: float) -> int:
    return min(int(x * COLUMNS / 100), COLUMNS - 1)


__all__ = ["Mark", "Second", "Work", "axis", "facts", "picture", "steady", "text", "use", "version"]
