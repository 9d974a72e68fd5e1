"""The interruptions that may come between a change and its end, and how the change must end after each (X2, X4, X6)."""

from collections.abc import Iterable
from enum import Enum

from changes.executor.events import Outcome
from changes.executor.state import Direction
from changes.plan.model import Plan


class Interruption(Enum):
    """One way to interrupt a change; the value is its name on the command line."""

    NONE = "none"
    DRIVER_CRASH = "driver crash"
    """before it has done what its step asks for; another worker takes over"""
    DRIVER_CRASH_LATE = "driver crash late"
    """after it has done that, and before anybody heard of it"""
    DRIVER_REPLACED = "driver replaced"
    """it sleeps, another takes over, and it wakes and acts (X2)"""
    SPARK_CRASH = "Spark crash"
    """a chunk was read and is not put, or a job is done and nobody heard of it; its last message comes late (R3)"""
    ERROR_ONCE = "error once"
    ERROR_FOR_GOOD = "error for good"
    """of every step of this kind, until a person lets the change go on"""
    PAUSE = "pause"
    CANCEL = "cancel"
    PAUSE_AND_CANCEL = "pause and cancel"
    POSTGRES_CRASH = "PostgreSQL crash"
    """every transaction is lost, a COMMIT on its way and the driver's connections with them (T7)"""
    NODE_FREEZE = "node freeze"
    """in the middle of a transaction, for longer than its lease; its COMMIT arrives late"""
    NODE_CRASH = "node crash"


CANCELS = frozenset({Interruption.CANCEL, Interruption.PAUSE_AND_CANCEL})
ERRORS = frozenset({Interruption.ERROR_ONCE, Interruption.ERROR_FOR_GOOD})


def expected_outcome(plan: Plan, direction: Direction, position: int, interruption: Interruption) -> Outcome:
    """The end that the change must have: only a cancel or an error before the point of no return rolls it back (X6)."""
    if direction is Direction.BACK:
        return Outcome.CANCELLED
    if position > plan.last_reversible or interruption not in CANCELS | ERRORS:
        return Outcome.DONE
    return Outcome.CANCELLED if interruption in CANCELS else Outcome.FAILED


class UnknownInterruption(ValueError):
    """Nothing that may come in between has this name: says what there is."""


def interruptions_named(names: Iterable[str]) -> tuple[Interruption, ...]:
    """The interruptions of these names; all without any."""
    known = {one.value.lower(): one for one in Interruption}
    for name in names:
        if name.lower() not in known:
            there = ", ".join(one.value for one in Interruption)
            raise UnknownInterruption(f"{name!r} is no interruption; there are: {there}")
    return tuple(known[name.lower()] for name in names) or tuple(Interruption)
