"""A fault of a plan at one step, with the clause that breaks."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault at one step."""

    at: int
    clauses: tuple[str, ...]
    why: str

    def __str__(self) -> str:
        broken = f" ({' and '.join(self.clauses)})" if self.clauses else ""
        return f"step {self.at + 1}{broken}: {self.why}"
