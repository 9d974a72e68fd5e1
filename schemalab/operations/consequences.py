"""Consequences of a fault, shown before it is done: what happens, and what it cannot break (L2, L7)."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from django.utils.translation import gettext as _

DRAINS = ("drain", "undrain")
"""Asked of a node itself; the other commands happen to its process."""


@dataclass(frozen=True, slots=True)
class NodeLease:
    """A live lease of the node: until `until` no version after `last` (the one after its own) can be published."""

    table: str
    version: int
    last: int
    until: datetime


@dataclass(frozen=True, slots=True)
class Consequences:
    happens: tuple[str, ...]
    cannot_break: tuple[str, ...]
    held: tuple[NodeLease, ...] = field(default=())


def title(command: str, name: str) -> str:
    words = {
        "kill": _("Kill %(name)s?"),
        "freeze": _("Freeze %(name)s?"),
        "thaw": _("Thaw %(name)s?"),
        "start": _("Start %(name)s?"),
        "drain": _("Drain %(name)s?"),
        "undrain": _("Undrain %(name)s?"),
    }
    return words[command] % {"name": name}


def done(command: str, name: str) -> str:
    words = {
        "kill": _("%(name)s was killed: it stays down until it is started."),
        "freeze": _("%(name)s is frozen until it is thawed."),
        "thaw": _("%(name)s goes on."),
        "start": _("%(name)s is starting."),
        "drain": _("%(name)s drains: it takes no new leases."),
        "undrain": _("%(name)s takes leases again."),
    }
    return words[command] % {"name": name}


def of_node(command: str, name: str, held: tuple[NodeLease, ...]) -> Consequences:
    lost = _("No acknowledged write is lost: what was committed lies in the store, not in the node.")
    fenced = _(
        "What it had open cannot commit once its lease is over: the store ends such transactions, and refuses their"
        " version."
    )
    others = _("The other nodes read and write as before.")
    match command:
        case "kill":
            happens = (
                _("The process of %(name)s ends at once, with its sessions and their open transactions."),
                _("It stays down until somebody starts it; starting it ends its leases at once."),
            )
            commit = _(
                "Open transactions are rolled back. A commit under way takes effect whole or not at all, and the next"
                " step waits for it."
            )
            cannot = (lost, commit, others)
        case "freeze":
            happens = (
                _("The process of %(name)s stands still: it answers nobody and renews no lease until it is thawed."),
                _("Thawed after its leases are over, it finds that out by itself, ends, and is started again."),
            )
            cannot = (lost, fenced, others)
        case "thaw":
            happens = (
                _("The process of %(name)s goes on where it stood still."),
                _("If a lease that it used is over meanwhile, it ends itself and is started again."),
            )
            cannot = (fenced, lost)
        case "start":
            happens = (
                _("A new process of %(name)s starts, as a new incarnation."),
                _("First the database sessions of the former one end, then its leases: who waits for them goes on."),
            )
            cannot = (lost, others)
        case "drain":
            happens = (
                _("%(name)s takes no new leases. It gives idle ones back at once, others after their last use."),
                _("Whoever begins something there is refused with 57P03 and goes to another node."),
            )
            cannot = (_("No transaction is cut off."), lost, others)
        case "undrain":
            happens = (_("%(name)s takes leases again, and with them statements."),)
            cannot = (_("Nothing that runs is touched."),)
        case _:
            raise AssertionError(f"no command {command!r}")
    return Consequences(tuple(text % {"name": name} for text in happens), cannot, held)


def of_process(command: str, name: str, kind: str) -> Consequences:
    generic = {
        "kill": _("The process %(name)s ends at once, and stays down until somebody starts it."),
        "freeze": _("The process %(name)s stands still until it is thawed."),
        "thaw": _("The process %(name)s goes on where it stood still."),
        "start": _("The process %(name)s starts again."),
    }
    missed, safe = _without(kind)
    is_taken_away = command in ("kill", "freeze")
    happens = (generic[command] % {"name": name}, *((missed,) if is_taken_away and missed else ()))
    return Consequences(happens, (safe,))


def _without(kind: str) -> tuple[str, str]:
    store = _("All that a change needs is in the database: whoever goes on begins where it stopped.")
    match kind:
        case "redis":
            return _("News of versions, tasks and live figures come late or not at all."), store
        case "worker":
            return _("Changes stand still until it is back; nodes go on with the versions they use."), store
        case "maintenance" | "beat":
            return _("Nodes that fall silent are reported late, and leases that are over are deleted late."), _(
                "Nothing depends on that: a lease that is over counts for nothing, whether it is deleted or not."
            )
        case "spark":
            return _("Fills, verifications, deletions, loads and audits stop between two chunks."), _(
                "A chunk and its mark are committed together: no finished chunk is done again, and none is left out."
            )
        case "lab":
            return _("Proofs of plans and questions of the lab wait."), _("Changes and nodes do not need it.")
        case "traffic":
            return _("Its statements stop. Rows that it has written stay in the table."), _(
                "It is a client like any other: what it had open is rolled back."
            )
    return "", store


def does(kind: str) -> str:
    words = {
        "postgres": _("the store: catalog, leases, rows as pairs"),
        "redis": _("news and tasks; nothing is lost with it"),
        "web": _("these pages"),
        "node": _("a server that speaks SQL"),
        "worker": _("drives changes"),
        "maintenance": _("deletes leases that are over, reports silent nodes"),
        "beat": _("the clock of regular tasks"),
        "spark": _("fills, verifies, deletes, loads, audits"),
        "lab": _("proves plans, answers the lab's questions"),
        "traffic": _("load on the nodes"),
        "demo": _("loads the demo's tables"),
        "migrate": _("sets up the database"),
    }
    return words.get(kind, "")
