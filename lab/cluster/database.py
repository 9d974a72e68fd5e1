"""Answers of the database to a node's lease machine, and the failures that replace lost ones."""

from catalog.elements import TableId
from catalog.text.sentence import Sentence
from lab.cluster.control_plane import Control
from lab.cluster.parts import Node
from leases.node import vocabulary

SILENT, LOST = Sentence("the database does not answer"), Sentence("the connection was lost")


def cannot(act: str, why: Sentence) -> Sentence:
    return Sentence(f"cannot {act}: {{why}}", why=why)


def answer(
    control: Control, node: Node, request: vocabulary.Effect | vocabulary.Event, now: float
) -> list[vocabulary.Event]:
    """Events for the node; a failure if it is cut off."""
    match request:
        case vocabulary.Acquire(table):
            return [_acquire(control, node, table, now)]
        case vocabulary.Renew(tables):
            if node.is_cut_off:
                return [vocabulary.RenewFailed(cannot("renew", SILENT))]
            return [vocabulary.Renewed(tuple(_renew(control, node, table, now) for table in tables))]
        case vocabulary.Release(table, version):
            if node.is_cut_off:
                reason = cannot("release", SILENT)
                return [vocabulary.ReleaseFailed(table, version, reason)]
            control.release(table, version, node.name)
            return [vocabulary.Released(table, version)]
        case _:
            return []


def _acquire(control: Control, node: Node, table: TableId, now: float) -> vocabulary.Event:
    name = control.newest(table).name
    if node.is_cut_off:
        return vocabulary.AcquireFailed(table, Sentence("cannot lease {table}: {why}", table=name, why=SILENT))
    lease = control.acquire(table, node.name, now)
    if lease is None:
        state = Sentence("it is {state}", state=control.newest(table).state.value)
        why = Sentence("cannot lease {table}: {why}", table=name, why=state)
        return vocabulary.AcquireFailed(table, why, gone=True)
    left_s, is_leased = lease.expires_at - now, control.newest(table).coordination.has_leases
    return vocabulary.Acquired(table, lease.version, lease.expires_at, left_s, name, is_leased)


def _renew(control: Control, node: Node, table: TableId, now: float) -> vocabulary.RenewOutcome:
    newest = control.newest(table).version
    lease = control.renew(table, node.name, now)
    if lease is None:
        return vocabulary.RenewOutcome(table, newest, vocabulary.Renewal.LOST)
    left_s = lease.expires_at - now
    return vocabulary.RenewOutcome(table, newest, vocabulary.Renewal.RENEWED, lease.expires_at, left_s)


def failure(lost: vocabulary.Effect | vocabulary.Event) -> vocabulary.Event | None:
    """The failure after a lost answer: the node cannot know whether the request was done."""
    match lost:
        case vocabulary.Acquire(table) | vocabulary.Acquired(table):
            return vocabulary.AcquireFailed(table, cannot("lease", LOST))
        case vocabulary.Renew() | vocabulary.Renewed():
            return vocabulary.RenewFailed(cannot("renew", LOST))
        case vocabulary.Release(table, version) | vocabulary.Released(table, version):
            return vocabulary.ReleaseFailed(table, version, cannot("release", LOST))
        case _:
            return None
