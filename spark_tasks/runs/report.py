"""Findings of a judge: comparable counts, and the first violations of each kind (clause and element) by name, so that a
million rows of one kind neither hide others nor fill the memory."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from itertools import islice
from typing import Any

from storage.integrity.clauses import Violation

NAMED_MAX = 10
"""How many violations of a kind are named."""
LACKING_MAX = 5_000
"""How many missing entries are reported for repair at a time."""


@dataclass
class Finding:
    """`expected` and `matched` count entries by index id (as text), `counts` violations by kind. `stored` counts all
    entries by index and storage, for a range that is all of a storage. `lacking` are free unique entries: (index id,
    K(r) in hex). `is_least`: counts are lower bounds."""

    rows: int = 0
    pairs: int = 0
    expected: dict[str, int] = field(default_factory=dict)
    matched: dict[str, int] = field(default_factory=dict)
    stored: dict[str, int] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    lacking: list[tuple[int, str]] = field(default_factory=list)
    violations: list[dict[str, Any]] = field(default_factory=list)
    is_least: bool = False

    @property
    def is_clean(self) -> bool:
        return not self.counts

    def note(self, clause: str, element: str, total: int, named: Iterable[Violation]) -> None:
        """Adds `total` violations of a clause by an element; names as many as have room."""
        if total:
            room = NAMED_MAX - min(self.count_of(clause, element), NAMED_MAX)
            count(self.counts, f"{clause} {element}", total)
            self.violations += [_named(one) | {"element": element} for one in islice(named, room)]

    def count_of(self, clause: str, element: str) -> int:
        return self.counts.get(f"{clause} {element}", 0)

    def named(self) -> list[dict[str, Any]]:
        """The named violations, each with the `total` of its kind."""
        least = {"is_least": True} if self.is_least else {}
        return [one | {"total": self.count_of(one["clause"], one["element"])} | least for one in self.violations]

    def lacks(self, index_id: int, row_key: bytes) -> None:
        if len(self.lacking) < LACKING_MAX:
            self.lacking.append((index_id, row_key.hex()))

    def merge(self, other: "Finding") -> None:
        self.rows += other.rows
        self.pairs += other.pairs
        mine = (self.expected, self.matched, self.stored, self.counts)
        its = (other.expected, other.matched, other.stored, other.counts)
        for counts, more in zip(mine, its, strict=True):
            for name, number in more.items():
                count(counts, name, number)
        self.lacking = (self.lacking + [(index, key) for index, key in other.lacking])[:LACKING_MAX]
        self.violations = first_of_each_kind(self.violations + other.violations)
        self.is_least = self.is_least or other.is_least


def _named(violation: Violation) -> dict[str, Any]:
    there = {name: value for name, value in asdict(violation).items() if value is not None}
    return there | {"key": violation.key.hex()}


def count(counts: dict[str, int], name: object, more: int) -> None:
    counts[str(name)] = counts.get(str(name), 0) + more


def first_of_each_kind(violations: list[dict[str, Any]]) -> list[dict[str, Any]]:
    kept: list[dict[str, Any]] = []
    named: Counter[tuple[str, str]] = Counter()
    for violation in sorted(violations, key=lambda v: (v["clause"], v["element"], v["key"], v["storage"], v["why"])):
        kind = violation["clause"], violation["element"]
        if named[kind] < NAMED_MAX and violation not in kept[-1:]:
            named[kind] += 1
            kept.append(violation)
    return kept


def gather(findings: Iterable[dict[str, Any]]) -> Finding:
    total = Finding()
    for finding in findings:
        total.merge(Finding(**finding))
    return total
