"""Overloads, and which of them a call means: PostgreSQL's rule, shortened to exact types, then implicit casts, then the
likely type of an unknown literal."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from expressions.functions.casts import IMPLICIT
from expressions.sqltypes import TEXT, UNKNOWN, Type
from expressions.values.arithmetic import Compute


@dataclass(frozen=True, slots=True)
class Overload:
    """One way to call a function or operator."""

    args: tuple[Type, ...]
    result: Type
    compute: Compute | None = None
    strict: bool = True


Named = Iterator[tuple[str, Overload]]
"""Overloads with the name that each is called by."""
Fitting = list[tuple[Overload, tuple[Type, ...]]]


def choose(overloads: Sequence[Overload], given: Sequence[Type]) -> list[tuple[Overload, tuple[Type, ...]]]:
    """The best overloads for arguments of these types: one, or none, or several that are equally good."""
    fitting = [(o, o.args) for o in overloads if _fits(given, o.args)]
    if len(fitting) < 2:
        return fitting
    fitting = _best(fitting, given, lambda g, t: g is t)
    known = {g for g in given if g is not UNKNOWN}
    if len(known) == 1:
        fitting = [(o, types) for o, types in fitting if set(types) == known] or fitting
    fitting = _best(fitting, given, lambda g, t: t.is_preferred and g is not t and g is not UNKNOWN)
    fitting = _best(fitting, given, lambda g, t: t is TEXT and g is UNKNOWN)
    return _best(fitting, given, lambda g, t: t.is_preferred and g is UNKNOWN)


def _best(fitting: Fitting, given: Sequence[Type], counts: Callable[[Type, Type], bool]) -> Fitting:
    """Those with the most arguments that count, by the type that is given and the one that is taken."""
    scores = [sum(counts(g, t) for g, t in zip(given, types, strict=True)) for _, types in fitting]
    best = max(scores)
    return [one for one, score in zip(fitting, scores, strict=True) if score == best]


def _fits(given: Sequence[Type], wanted: Sequence[Type]) -> bool:
    pairs = zip(given, wanted, strict=False)
    return len(given) == len(wanted) and all(g is w or g is UNKNOWN or (g, w) in IMPLICIT for g, w in pairs)
