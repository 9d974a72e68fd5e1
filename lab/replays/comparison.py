"""The model's verdict beside the audit's: the same clauses broken, or it is our bug. An audit judges the newest
version, and C2, C4, C6 under the one before while a lease on it is live. It knows no lost writes, and checks tombstones
(C7) at a change's end. Only clauses that both can judge are compared."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from lab.explorer.contents.numbered import Fault
from lab.replays.translation import machine_for
from lab.sessions.session import Session
from lab.sessions.setup import WORLD
from lab.sessions.setups import setup_named
from lab.sessions.world import session as world_session

INTEGRITY = frozenset({"C2", "C4", "C6"})
COMPARED = frozenset({"C1", "C3", "C5"}) | INTEGRITY


@dataclass(frozen=True, slots=True)
class Comparison:
    """The clauses that the model and the audit find broken; `ends` of a real change, by both."""

    model: tuple[str, ...]
    cluster: tuple[str, ...]
    ends: tuple[str, str] = ("", "")
    otherwise: tuple[str, ...] = ()

    @property
    def agree(self) -> bool:
        return self.model == self.cluster and len(set(self.ends)) == 1 and not self.otherwise

    def to_json(self) -> dict[str, Any]:
        model, cluster = self.ends
        ends = {"ends": {"model": model, "cluster": cluster}} if model else {}
        others = {"otherwise": list(self.otherwise)} if self.otherwise else {}
        return {"model": list(self.model), "cluster": list(self.cluster), "agree": self.agree} | ends | others


def compared(
    session: Session,
    violations: Iterable[Mapping[str, Any]],
    *,
    judged_before: bool,
    ends: tuple[str, str] = ("", ""),
    otherwise: Iterable[str] = (),
) -> Comparison:
    """The verdicts on the end of a session. `judged_before`: the audit judged the version before the newest, too;
    `ends`: how the change ended by the model, and on the cluster."""
    faults, newest = faults_at_end(session)
    in_force = {newest, newest - 1} if judged_before else {newest}
    model = {
        fault.clause
        for fault in faults
        if fault.version == newest or (fault.version in in_force and fault.clause in INTEGRITY)
    }
    found = {str(violation["clause"]) for violation in violations}
    return Comparison(tuple(sorted(model & COMPARED)), tuple(sorted(found & COMPARED)), ends, tuple(otherwise))


def faults_at_end(session: Session) -> tuple[tuple[Fault, ...], int]:
    """The model's faults at the end of a session, and its newest version. Raises `NotReplayable`."""
    setup = setup_named(session.setup)
    if setup.kind == WORLD:
        end = world_session.followed(setup, session)[0][-1]
        return end.faults, end.newest
    machine, _ = machine_for(session)
    with machine.lock:
        position = machine.follow(session.steps)[0][-1]
    return position.faults, position.newest
