"""The findings of a judge in a range, or in many: counts that can be compared, and the first violations by name.

Of each kind (a clause, broken by one element) all are counted and the first few named, in key order, so that a
million rows of one kind neither hide those of another nor fill the memory.
"""

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
    """`expected` and `matched` count entries by index id (as text: JSON), `counts` violations by kind.

    `stored` counts all entries of an index on a storage, by both, where a range that is all of it was judged.

    `lacking` are entries of unique indexes that nobody else holds: (index id, K(r) in hexadecimal). `is_least`: only
    some of what is wrong was looked at, so that the counts are the least there is.
    """

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
        """`total` more violations of a clause by an element; no more of `named` is looked at than has room."""
        if total:
            room = NAMED_MAX - min(self.count_of(clause, element), NAMED_MAX)
            count(self.counts, f"{clause} {element}", total)
            self.violations += [_named(one) | {"element": element} for one in islice(named, room)]

    def count_of(self, clause: str, element: str) -> int:
        return self.counts.get(f"{clause} {element}", 0)

    def named(self) -> list[dict[str, Any]]:
        """The violations by name, each with the `total` of its kind; `is_least` when that is a lower bound."""
        least = {"is_least": True} if self.is_least else {}
        return [one | {"total": self.count_of(one["clause"], one["element"])} | least for one in self.violations]

    def lacks(self, index_id: int, row_key: bytes) -> None:
        """A row's unique entry is held by nobody."""
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
    """A violation as JSON, its offender only when it has one."""
    there = {name: value for name, value in asdict(violation).items() if value is not None}
    return there | {"key": violation.key.hex()}


def count(counts: dict[str, int], name: object, more: int) -> None:
    """Add to one of the counts."""
    counts[str(name)] = counts.get(str(name), 0) + more


def first_of_each_kind(violations: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The violations by clause, element and key, as many of each kind as are named."""
    kept: list[dict[str, Any]] = []
    named: Counter[tuple[str, str]] = Counter()
    for violation in sorted(violations, key=lambda v: (v["clause"], v["element"], v["key"], v["storage"], v["why"])):
        kind = violation["clause"], violation["element"]
        if named[kind] < NAMED_MAX and violation not in kept[-1:]:
            named[kind] += 1
            kept.append(violation)
    return kept


def gather(findings: Iterable[dict[str, Any]]) -> Finding:
    """One finding of many, each as JSON."""
    total = Finding()
    for finding in findings:
        total.merge(Finding(**finding))
    return total
