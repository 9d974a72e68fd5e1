"""The account of a batch: every index of its input stands in it exactly once (`Ending`). A batch is split by storage;
each part is one transaction. A part that a storage refused was not performed at all, so its rows, and only those, are
planned again; a row that is accounted for is never tried again."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any


class Ending(Enum):
    DONE = "done"
    FAILED = "failed"
    ROLLED_BACK = "rolled_back"
    NOT_PERFORMED = "not_performed"


@dataclass(frozen=True, slots=True)
class RowOutcome:
    """`error` is the row's own, or the one that kept it from being done; None for a row that is done."""

    ending: Ending
    error: Any = None


@dataclass(eq=False)
class Batch:
    size: int
    outcomes: dict[int, RowOutcome] = field(default_factory=dict)

    @property
    def left(self) -> list[int]:
        return [index for index in range(self.size) if index not in self.outcomes]

    @property
    def has_failed(self) -> bool:
        return any(outcome.ending is not Ending.DONE for outcome in self.outcomes.values())

    def account(self, indices: Iterable[int], ending: Ending, error: Any = None) -> None:
        for index in indices:
            assert 0 <= index < self.size, f"the batch has no row {index}"
            assert index not in self.outcomes, f"row {index} is accounted for twice"
            self.outcomes[index] = RowOutcome(ending, error)

    def indices(self, ending: Ending) -> list[int]:
        return sorted(index for index, outcome in self.outcomes.items() if outcome.ending is ending)

    def close_part(self, part: Sequence[int], errors: dict[int, Any], *, tried: int, is_rolled_back: bool) -> None:
        """Accounts for a part of which the first `tried` rows were tried, and `errors` are those that failed.
        `is_rolled_back`: because of them nothing of the part was kept."""
        cause = next(iter(errors.values()), None)
        for place, index in enumerate(part):
            if index in errors:
                self.account([index], Ending.FAILED, errors[index])
            elif place >= tried:
                self.account([index], Ending.NOT_PERFORMED, cause)
            elif is_rolled_back:
                self.account([index], Ending.ROLLED_BACK, cause)
            else:
                self.account([index], Ending.DONE)


def parts_of(places: Iterable[tuple[int, int]]) -> list[tuple[int, list[int]]]:
    """(storage, indices) from (index, storage): one part for each storage, each in the order of the input."""
    found: dict[int, list[int]] = {}
    for index, storage in places:
        found.setdefault(storage, []).append(index)
    return sorted(found.items())
