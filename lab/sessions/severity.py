"""Danger is not damage: the weight of a broken clause. C3 under v1 beside the newest v2 is danger: v1 could not remove
a pair, which no query meets yet. C5 under the newest version is damage: a query finds a row that does not exist."""

from collections.abc import Iterable, Mapping, Sequence

from lab.explorer.contents.numbered import Fault
from lab.sessions.model.fault_texts import fault_text
from lab.sessions.shown import Severity, Text, Verdict

MET_BY_USERS = frozenset(
    {"C2", "C4", "C5", "C6", "lost write", "read twice", "unreadable value", "refused writes", "two versions"}
)
"""Damage under any version in force."""

CLAUSE_NAMES: Mapping[str, Text] = {
    "C1": Text("stray value (C1)"),
    "C2": Text("missing value (C2)"),
    "C3": Text("unknown entry (C3)"),
    "C4": Text("missing entry (C4)"),
    "C5": Text("orphan entry (C5)"),
    "C6": Text("broken constraint (C6)"),
    "C7": Text("stray pair (C7)"),
    "lost write": Text("lost write"),
    "read twice": Text("read twice"),
    "unreadable value": Text("unreadable value"),
    "refused writes": Text("refused writes"),
    "two versions": Text("too many versions"),
}

CLAUSES = tuple(CLAUSE_NAMES)

_WEIGHT = {Severity.HOLDS: 0, Severity.DANGER: 1, Severity.DAMAGE: 2}


def severity_of(fault: Fault, newest: int) -> Severity:
    is_damage = fault.clause in MET_BY_USERS or fault.version >= newest
    return Severity.DAMAGE if is_damage else Severity.DANGER


def worst(severities: Iterable[Severity]) -> Severity:
    return max(severities, key=_WEIGHT.__getitem__, default=Severity.HOLDS)


def severities_of(faults: Sequence[Fault], newest: int) -> tuple[Severity, ...]:
    """For each of `CLAUSES`."""
    return tuple(worst(severity_of(fault, newest) for fault in faults if fault.clause == one) for one in CLAUSES)


def verdicts_of(faults: Sequence[Fault], newest: int) -> tuple[Verdict, ...]:
    """A verdict for each clause and version, its first fault in words."""
    first: dict[tuple[str, int], Fault] = {}
    for fault in faults:
        first.setdefault((fault.clause, fault.version), fault)
    return tuple(
        Verdict(fault.clause, fault.version, severity_of(fault, newest), fault_text(fault.why))
        for _, fault in sorted(first.items())
    )
