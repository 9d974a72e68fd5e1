"""Reasons why a step cannot be taken, each with the id of its rule (protocol.md), if it has one."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from catalog.elements import NodeId, TableId
from catalog.text.message import Text, Values, listed
from leases import rules

TABLE = TableId(1)
"""The table of leases that are judged: one at a time."""


@dataclass(frozen=True, slots=True)
class Reason:
    """`rule` is the id of the rule that forbids the step, "" without one."""

    text: Text
    rule: str = ""

    def __str__(self) -> str:
        return str(self.text)


NOT_NOW = Reason(Text("the publisher is not at this step"))
NO_FILL = Reason(Text("no fill is running"))
UNFILLED = Reason(Text("a range is not filled yet"), "R7")
NO_WORKER = Reason(Text("no worker is at this point"))
NO_CANCEL = Reason(Text("there is nothing to cancel, or it is too late to roll back"), "X6")
NOT_FIRST = Reason(Text("rows are given before anything happens"))
NO_SUCH_ROWS = Reason(Text("such rows cannot be there"))
ALL_USED = Reason(Text("all operations of this model are used"))
NOT_LOCKED = Reason(Text("without locks the publisher does not see it"))
NOT_READ = Reason(Text("it has not read that row"))
NO_STEP = Reason(Text("there is no such step here"))
CONFLICT = Reason(Text("40001: another transaction changed what it reads or writes"), "T1")
REFUSED = Reason(Text("this version refuses it, or another row has its key"))
REORGANISED = Reason(Text("40001: a reorganisation has written what it would replace"), "T1")


def no_lease(node: str) -> Reason:
    return Reason(Text("{node} has no live lease", {"node": node}), "L1")


def reads_only(node: str) -> Reason:
    """A transaction that has only read enters again before its first write, after its deadline (T4)."""
    return Reason(Text("the lease of {node} has expired: its transaction writes nothing more", {"node": node}), "T4")


def is_leased(node: str, version: int, table: str, *, live: bool = True) -> Reason:
    """The node has the newest version already; `live`: by a lease."""
    values: Values = {"node": node, "version": version, "table": table}
    if not live:
        of = f"{table}@" if table else "v"
        return Reason(Text("{node} has {version} already", {"node": node, "version": f"{of}{version}"}))
    if table:
        return Reason(Text("{node} leases version {version} of {table} already", values))
    return Reason(Text("{node} leases version {version} already", values))


def not_leasable(version: int) -> Reason:
    return Reason(Text("version {version} of the table can't be leased", {"version": version}), "L13")


def is_open(node: str) -> Reason:
    return Reason(Text("{node} has an open transaction", {"node": node}))


def is_not_open(node: str) -> Reason:
    return Reason(Text("{node} has no open transaction", {"node": node}))


def below_fence(version: int, fence: int) -> Reason:
    return Reason(Text("version {version} is below the fence ({fence})", {"version": version, "fence": fence}), "T2")


def not_in_snapshot(version: int) -> Reason:
    return Reason(Text("version {version} is not in the transaction's snapshot", {"version": version}), "T3")


def is_live(node: str, version: Text) -> Reason:
    return Reason(Text("the lease of {node} on {version} is live", {"node": node, "version": version}), "L8")


def has_read(node: str) -> Reason:
    return Reason(Text("{node} has read its row", {"node": node}))


def has_not_written(node: str) -> Reason:
    return Reason(Text("{node} has written nothing", {"node": node}))


def waits(act: str, whys: Sequence[Text]) -> Reason:
    return Reason(listed(whys), "L9" if act == "drain" else "L7")


@lru_cache(maxsize=4096)
def publish_whys(held: tuple[tuple[str, int], ...], locked: tuple[int, ...], version: int, table: str) -> Text | None:
    return _whys(
        rules.publish_hindrance(leases_of(held), table=TABLE, next_version=version, now=0.0, locked=locked), table
    )


@lru_cache(maxsize=4096)
def drain_whys(held: tuple[tuple[str, int], ...], locked: tuple[int, ...], version: int, table: str) -> Text | None:
    return _whys(rules.drain_hindrance(leases_of(held), table=TABLE, version=version, now=0.0, locked=locked), table)


def leases_of(held: Sequence[tuple[str, int]]) -> list[rules.Lease]:
    return [rules.Lease(TABLE, version, NodeId(node), 1, expires_at=1.0) for node, version in held]


def _whys(hindrance: rules.Hindrance | None, table: str) -> Text | None:
    if hindrance is None:
        return None
    of = f"{table}@" if table else "v"
    leased = [
        Text("{node} still leases {version}", {"node": lease.node, "version": f"{of}{lease.version}"})
        for lease in hindrance.leases
    ]
    locked = [
        Text("a transaction of {version} is still open", {"version": f"{of}{version}"}) for version in hindrance.locked
    ]
    return listed([*leased, *locked])
