"""The name that was probably meant, by PostgreSQL's rule: the nearest, at most three letters and half its length
away."""

from collections.abc import Iterable

LETTERS_MAX = 3
NAMES_MAX = 2000
"""Names that are compared: looking costs some microseconds each, and a mistake is no reason to hold others up."""


def similar(name: str, known: Iterable[str]) -> str | None:
    """The nearest name; None of several that are equally near. Another case is nearest of all."""
    lowered = name.lower()
    nearest, found = LETTERS_MAX + 1, set[str]()
    for one, _ in zip((k for k in known if abs(len(k) - len(name)) <= LETTERS_MAX), range(NAMES_MAX), strict=False):
        away = letters_away(lowered, one.lower(), min(nearest, LETTERS_MAX, len(one) // 2))
        if away is None or one == name:
            continue
        if away < nearest:
            nearest, found = away, set()
        found.add(one)
    return found.pop() if len(found) == 1 else None


def perhaps(what: str, name: str, known: Iterable[str]) -> str | None:
    """A hint: `Perhaps you meant the table "flights".`"""
    found = similar(name, known)
    return None if found is None else f'Perhaps you meant the {what} "{found}".'


def letters_away(a: str, b: str, most: int) -> int | None:
    """Levenshtein's distance; None for more than `most`."""
    row = list(range(len(b) + 1))
    for i, letter in enumerate(a, 1):
        before, row = row, [i]
        for j, other in enumerate(b, 1):
            row.append(min(before[j] + 1, row[-1] + 1, before[j - 1] + (letter != other)))
        if min(row) > most:
            return None
    return row[-1] if row[-1] <= most else None
