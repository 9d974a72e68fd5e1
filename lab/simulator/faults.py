"""The faults of a run, by name."""

from collections.abc import Iterable
from enum import Enum


class BadFaults(ValueError):
    """Says which faults exist."""


class Fault(Enum):
    """The value is its name on the command line."""

    LOSS = "loss"
    """news, requests and answers are lost; a node is cut off from the database"""
    DELAY = "delay"
    """a node's messages wait, and arrive in any order"""
    CRASH = "crash"
    """nodes and workers die, a reorganisation reports an error"""
    FREEZE = "freeze"
    """a process stands still while its leases run out; its last message arrives late"""
    SKEW = "skew"
    """the monotonic clocks of nodes have nothing to do with the database's"""
    ZOMBIE = "zombie"
    """several workers fill the same range; a replaced executor acts on"""
    OPERATOR = "operator"
    """people drain nodes, take leases away, cancel, pause"""
    FORGET = "forget"
    """the store crashes, loses commits it has not flushed, and gives their ids out again"""
    UNLEASED = "unleased"
    """tables have no leases, or the newest version alone is accepted; changes lead from one to another"""
    READS = "reads"
    """queries run on for long, past the end of their lease"""


ALL = frozenset(Fault)
NONE: frozenset[Fault] = frozenset()


def faults_named(text: str) -> frozenset[Fault]:
    """`none`, or names separated by commas, also `all`, with a minus to leave out. Raises `BadFaults`."""
    chosen = NONE
    for name in (word.strip() for word in text.split(",") if text != "none"):
        if name.startswith("-"):
            chosen -= {_fault(name[1:])}
        else:
            chosen |= ALL if name == "all" else {_fault(name)}
    return chosen


def names_of(faults: Iterable[Fault]) -> str:
    chosen = frozenset(faults)
    left_out = [f"-{fault.value}" for fault in Fault if fault not in chosen]
    if len(left_out) < len(chosen) / 2:
        return ",".join(["all", *left_out])
    return ",".join(fault.value for fault in Fault if fault in chosen) or "none"


def _fault(name: str) -> Fault:
    try:
        return Fault(name)
    except ValueError:
        known = ", ".join(fault.value for fault in Fault)
        raise BadFaults(f"{name!r} is no fault; there are: {known}, and all, none") from None
