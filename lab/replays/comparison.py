"""The model's verdict beside the audit's: the same clauses broken, or it is our bug.

An audit judges the newest version; of the one before, while a lease on it is live, what it relies on (C2, C4, C6). It
knows no lost writes and no versions of others, and whether tombstones are left over (C7) is asked at a change's end:
so what both can say is compared, and nothing else.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from lab.explorer.contents.numbered import Fault
from lab.replays.translation import machine_for
from lab.sessions.session import Session

INTEGRITY = frozenset({"C2", "C4", "C6"})
COMPARED = frozenset({"C1", "C3", "C5"}) | INTEGRITY


@dataclass(frozen=True, slots=True)
class Comparison:
    """The clauses that the model says are broken, and those the audit found."""

    model: tuple[str, ...]
    cluster: tuple[str, ...]

    @property
    def agree(self) -> bool:
        return self.model == self.cluster

    def to_json(self) -> dict[str, Any]:
        return {"model": list(self.model), "cluster": list(self.cluster), "agree": self.agree}


def compared(session: Session, violations: Iterable[Mapping[str, Any]], *, judged_before: bool) -> Comparison:
    """The verdicts on the end of a session. `judged_before`: the audit judged the version before the newest, too."""
    faults, newest = faults_at_end(session)
    in_force = {newest, newest - 1} if judged_before else {newest}
    model = {
        fault.clause
        for fault in faults
        if fault.version == newest or (fault.version in in_force and fault.clause in INTEGRITY)
    }
    found = {str(violation["clause"]) for violation in violations}
    return Comparison(tuple(sorted(model & COMPARED)), tuple(sorted(found & COMPARED)))


def faults_at_end(session: Session) -> tuple[tuple[Fault, ...], int]:
    """The faults of the model at the end of a session, and its newest version. Raises `NotReplayable`."""
    machine, _ = machine_for(session)
    with machine.lock:
        position = machine.follow(session.steps)[0][-1]
    return position.faults, position.newest
