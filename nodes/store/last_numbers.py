"""The numbers that a session took last, for `currval` and `lastval`."""

from dataclasses import dataclass, field


@dataclass(eq=False)
class LastNumbers:
    by_sequence: dict[str, int] = field(default_factory=dict)
    newest: str | None = None
    """The sequence that it took a number from last."""

    def note(self, sequence: str, number: int) -> None:
        self.by_sequence[sequence], self.newest = number, sequence

    def forget(self) -> None:
        self.by_sequence, self.newest = {}, None
