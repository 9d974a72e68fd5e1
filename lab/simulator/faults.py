"""What may go wrong in a run, by name."""

from collections.abc import Iterable
from enum import Enum


class BadFaults(ValueError):
    """Words that name no fault: says which there are."""


class Fault(Enum):
    """One kind of trouble; the value is its name on the command line."""

    LOSS = "loss"
    """news, requests and answers are lost; a node is cut off from the database"""
    DELAY = "delay"
    """a node's mail waits, and arrives in any order"""
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


ALL = frozenset(Fault)
NONE: frozenset[Fault] = frozenset()


def faults_named(text: str) -> frozenset[Fault]:
    """`all`, `none`, or names separated by commas; raises `BadFaults`."""
    if text == "all":
        return ALL
    if text == "none":
        return NONE
    return frozenset(_fault(name.strip()) for name in text.split(","))


def names_of(faults: Iterable[Fault]) -> str:
    """The faults as `faults_named` reads them."""
    chosen = frozenset(faults)
    if chosen == ALL:
        return "all"
    return ",".join(fault.value for fault in Fault if fault in chosen) or "none"


def _fault(name: str) -> Fault:
    try:
        return Fault(name)
    except ValueError:
        known = ", ".join(fault.value for fault in Fault)
        raise BadFaults(f"{name!r} is no fault; there are: {known}, and all, none") from None
