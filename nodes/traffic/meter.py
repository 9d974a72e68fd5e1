"""Counts of the traffic: one line a second, one summary at the end."""

from dataclasses import asdict, dataclass, field
from typing import Any

ERRORS_SHOWN_MAX = 10


def sums(one: dict[str, int], other: dict[str, int]) -> dict[str, int]:
    return {key: one.get(key, 0) + other.get(key, 0) for key in sorted({*one, *other})}


@dataclass(slots=True)
class Meter:
    """Counts of all clients. `retries` are what a correct client makes after 40001 and 40P01; they are no errors."""

    statements: int = 0
    retries: int = 0
    reconnects: int = 0
    uncertain: int = 0
    errors: int = 0
    wrong: int = 0
    """Answers that were not what had been written: must stay 0, whatever happens. They are among the errors."""
    worst_ms: float = 0.0
    refused: dict[str, int] = field(default_factory=dict)
    """By SQLSTATE, those that are tried again and lost connections included."""
    shown: list[str] = field(default_factory=list)

    def refuse(self, sqlstate: str) -> None:
        self.refused[sqlstate] = self.refused.get(sqlstate, 0) + 1

    def fail(self, message: str, *, is_wrong: bool = False) -> None:
        self.errors += 1
        self.wrong += is_wrong
        if len(self.shown) < ERRORS_SHOWN_MAX:
            self.shown.append(message)

    def took(self, milliseconds: float) -> None:
        self.statements += 1
        self.worst_ms = max(self.worst_ms, milliseconds)

    def __add__(self, other: "Meter") -> "Meter":
        return Meter(
            self.statements + other.statements,
            self.retries + other.retries,
            self.reconnects + other.reconnects,
            self.uncertain + other.uncertain,
            self.errors + other.errors,
            self.wrong + other.wrong,
            max(self.worst_ms, other.worst_ms),
            sums(dict(self.refused), dict(other.refused)),  # copies: their clients go on counting
            [*self.shown, *other.shown][:ERRORS_SHOWN_MAX],
        )

    def line(self, seconds: float, before: "Meter") -> str:
        return (
            f"{seconds:6.0f} s  {self.statements - before.statements:5} statements"
            f"  {self.retries - before.retries:4} retries  {self.reconnects - before.reconnects:3} reconnects"
            f"  {self.errors:3} errors in all"
        )

    def to_json(self, seconds: float) -> dict[str, Any]:
        rate = round(self.statements / seconds, 1) if seconds else 0.0
        return asdict(self) | {
            "worst_ms": round(self.worst_ms, 1),
            "seconds": round(seconds, 1),
            "statements_per_s": rate,
        }
