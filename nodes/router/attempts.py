"""Decides about an attempt that failed (requests.md, "Request path"): reload and try once more, repeat, or give up. An
outcome that is unknown (T7) is never settled by trying again. Conflicts and mismatches are counted apart, so that a
conflict never costs a request its one retry after a mismatch."""

import random
from dataclasses import dataclass, replace
from enum import Enum

MISMATCHES_MAX = 1
CONFLICTS_MAX = 12
PAUSE_S, PAUSE_S_MAX = 0.002, 0.1


class Failure(Enum):
    """Why an attempt failed, as far as it decides what comes next."""

    MISMATCH = "a storage has another schema than the request was planned with"
    OLD_SCHEMA = "the plan failed in a way that an old schema could explain"
    CONFLICT = "nothing was kept; the same may succeed when tried again"
    FINAL = "trying again would not help, or not be right"


class Next(Enum):
    RELOAD = "reload, then try again"
    AGAIN = "try again"
    GIVE_UP = "answer with the error"


@dataclass(frozen=True, slots=True)
class Attempts:
    mismatches: int = 0
    old_schemas: int = 0
    conflicts: int = 0

    def after(self, failure: Failure) -> tuple["Attempts", Next]:
        match failure:
            case Failure.MISMATCH:
                counted = replace(self, mismatches=self.mismatches + 1)
                return counted, Next.RELOAD if counted.mismatches <= MISMATCHES_MAX else Next.GIVE_UP
            case Failure.OLD_SCHEMA:
                counted = replace(self, old_schemas=self.old_schemas + 1)
                return counted, Next.RELOAD if counted.old_schemas <= MISMATCHES_MAX else Next.GIVE_UP
            case Failure.CONFLICT:
                counted = replace(self, conflicts=self.conflicts + 1)
                return counted, Next.AGAIN if counted.conflicts < CONFLICTS_MAX else Next.GIVE_UP
        return self, Next.GIVE_UP

    @property
    def pause_s(self) -> float:
        return pause_s(self.conflicts)


def pause_s(conflicts: int) -> float:
    """Seconds before another attempt after so many: at random, so that two do not meet again."""
    return random.uniform(0, min(PAUSE_S * 2**conflicts, PAUSE_S_MAX))
