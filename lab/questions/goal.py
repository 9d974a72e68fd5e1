"""A goal: the broken clause that a search looks for, by default damage, since the nearest broken world is often
danger."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from lab.explorer.contents.numbered import Fault
from lab.sessions.session import BadSession
from lab.sessions.severity import CLAUSES, severity_of
from lab.sessions.shown import Severity

VERSIONS_MAX = 20


@dataclass(frozen=True, slots=True)
class Goal:
    """Any of `clauses` under any of `versions`; empty: all that do damage, all versions."""

    clauses: frozenset[str] = frozenset()
    versions: frozenset[int] = frozenset()

    def is_met_by(self, fault: Fault, newest: int) -> bool:
        if self.versions and fault.version not in self.versions:
            return False
        return fault.clause in self.clauses if self.clauses else severity_of(fault, newest) is Severity.DAMAGE

    def of(self, faults: Iterable[Fault], newest: int) -> tuple[Fault, ...]:
        return tuple(fault for fault in faults if self.is_met_by(fault, newest))

    def to_json(self) -> dict[str, list[Any]]:
        return {"clauses": sorted(self.clauses), "versions": sorted(self.versions)}


DAMAGE = Goal()


def goal_from_json(body: object) -> Goal:
    """Raises `BadSession`."""
    if body is None:
        return DAMAGE
    if not isinstance(body, Mapping) or set(body) - {"clauses", "versions"}:
        raise BadSession("a goal has clauses and versions")
    clauses, versions = body.get("clauses", []), body.get("versions", [])
    if not isinstance(clauses, list) or not set(map(str, clauses)) <= set(CLAUSES):
        raise BadSession(f"a goal's clauses are of: {', '.join(CLAUSES)}")
    if not isinstance(versions, list) or not all(type(one) is int and 0 < one <= VERSIONS_MAX for one in versions):
        raise BadSession(f"a goal's versions are numbers from 1 to {VERSIONS_MAX}")
    return Goal(frozenset(map(str, clauses)), frozenset(versions))
