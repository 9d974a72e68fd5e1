"""What a judge found in a range, or in many: counts that can be compared, and the first violations by name."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

from storage.clauses import Violation

VIOLATIONS_MAX = 20
"""How many violations are named; all are counted where counting is cheap."""
LACKING_MAX = 200
"""How many missing entries are told for repair at a time."""


@dataclass
class Finding:
    """`expected` and `matched` count entries by index id (as text: JSON), `broken` rows by constraint.

    `lacking` are entries of unique indexes that nobody else holds: (index id, K(r) in hexadecimal).
    """

    rows: int = 0
    pairs: int = 0
    expected: dict[str, int] = field(default_factory=dict)
    matched: dict[str, int] = field(default_factory=dict)
    broken: dict[str, int] = field(default_factory=dict)
    lacking: list[tuple[int, str]] = field(default_factory=list)
    violations: list[dict[str, Any]] = field(default_factory=list)

    def add(self, violation: Violation) -> None:
        said = violation_json(violation)
        if len(self.violations) < VIOLATIONS_MAX and said not in self.violations:
            self.violations.append(said)

    def count(self, counts: dict[str, int], name: object, more: int) -> None:
        """Add to one of the counts."""
        counts[str(name)] = counts.get(str(name), 0) + more

    def merge(self, other: "Finding") -> None:
        self.rows += other.rows
        self.pairs += other.pairs
        mine, its = (self.expected, self.matched, self.broken), (other.expected, other.matched, other.broken)
        for counts, more in zip(mine, its, strict=True):
            for name, count in more.items():
                self.count(counts, name, count)
        self.lacking = (self.lacking + [(index, key) for index, key in other.lacking])[:LACKING_MAX]
        fresh = [violation for violation in other.violations if violation not in self.violations]
        self.violations = (self.violations + fresh)[:VIOLATIONS_MAX]


def gather(findings: Iterable[dict[str, Any]]) -> Finding:
    """One finding of many, each as JSON."""
    total = Finding()
    for finding in findings:
        total.merge(Finding(**finding))
    return total


def violation_json(violation: Violation) -> dict[str, Any]:
    return asdict(violation) | {"key": violation.key.hex()}


def violation_from_json(said: dict[str, Any]) -> Violation:
    return Violation(said["clause"], said["storage"], bytes.fromhex(said["key"]), said["why"])
