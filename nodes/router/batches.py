"""What became of each row of a batch: every index of the input is accounted for exactly once.

    done             it is committed
    failed           by its own mistake, or because its attempt could not be repeated; with the error
    rolled back      it would have been done, but another row of its part failed, and rollback_on_error was asked
    not performed    never tried: an error before it stopped the batch (stop_on_error), or its part was refused at once

A batch is split by storage; each part is one transaction. A part that a storage refused was not performed at all, so
its rows, and only those, are planned again; a row that is accounted for is never tried again.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any


class Fate(Enum):
    """What became of a row."""

    DONE = "done"
    FAILED = "failed"
    ROLLED_BACK = "rolled_back"
    NOT_PERFORMED = "not_performed"


@dataclass(frozen=True, slots=True)
class RowOutcome:
    """`error` is the row's own, or the one that kept it from being done; None for a row that is done."""

    fate: Fate
    error: Any = None


@dataclass(eq=False)
class Batch:
    """The rows of a batch by their index in the input."""

    size: int
    outcomes: dict[int, RowOutcome] = field(default_factory=dict)

    @property
    def left(self) -> list[int]:
        """The rows that are not accounted for, in the order of the input."""
        return [index for index in range(self.size) if index not in self.outcomes]

    @property
    def has_failed(self) -> bool:
        return any(outcome.fate is not Fate.DONE for outcome in self.outcomes.values())

    def account(self, indices: Iterable[int], fate: Fate, error: Any = None) -> None:
        for index in indices:
            assert 0 <= index < self.size, f"the batch has no row {index}"
            assert index not in self.outcomes, f"row {index} is accounted for twice"
            self.outcomes[index] = RowOutcome(fate, error)

    def indices(self, fate: Fate) -> list[int]:
        return sorted(index for index, outcome in self.outcomes.items() if outcome.fate is fate)

    def close_part(self, part: Sequence[int], errors: dict[int, Any], *, tried: int, is_rolled_back: bool) -> None:
        """Account for a part of which the first `tried` rows were tried, and `errors` are those that failed.

        `is_rolled_back`: because of them nothing of the part was kept.
        """
        cause = next(iter(errors.values()), None)
        for place, index in enumerate(part):
            if index in errors:
                self.account([index], Fate.FAILED, errors[index])
            elif place >= tried:
                self.account([index], Fate.NOT_PERFORMED, cause)
            elif is_rolled_back:
                self.account([index], Fate.ROLLED_BACK, cause)
            else:
                self.account([index], Fate.DONE)


def parts_of(places: Iterable[tuple[int, int]]) -> list[tuple[int, list[int]]]:
    """(storage, indices) from (index, storage): one part for each storage, each in the order of the input."""
    found: dict[int, list[int]] = {}
    for index, storage in places:
        found.setdefault(storage, []).append(index)
    return sorted(found.items())
