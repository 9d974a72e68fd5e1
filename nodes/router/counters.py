"""Counts of a node's requests, table by table, since its process began. They only grow."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, fields

TABLES_MAX = 256
OTHERS = "other tables"


@dataclass(slots=True)
class Counts:
    """The requests to one table. `joined` are waits for a reload that another request had caused; `retries` follow a
    mismatch, `conflicts` 40001."""

    requests: int = 0
    mismatches: int = 0
    reloads: int = 0
    joined: int = 0
    retries: int = 0
    conflicts: int = 0
    map_reduces: int = 0
    reload_s: float = 0.0

    def add(self, other: "Counts") -> None:
        for one in fields(self):
            setattr(self, one.name, getattr(self, one.name) + getattr(other, one.name))

    def to_json(self) -> dict[str, float]:
        return asdict(self) | {"reload_s": round(self.reload_s, 6)}


@dataclass(eq=False)
class Counters:
    """Counts by table; of more than 256 the rest share one."""

    tables: dict[str, Counts] = field(default_factory=dict)

    def of(self, table: str) -> Counts:
        name = table if table in self.tables or len(self.tables) < TABLES_MAX else OTHERS
        return self.tables.setdefault(name, Counts())


def total(counts: Iterable[Counts]) -> Counts:
    found = Counts()
    for one in counts:
        found.add(one)
    return found
