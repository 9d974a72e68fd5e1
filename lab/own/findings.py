"""The explorer's answer about a case, in its names: the steps, broken clauses, and the rows that readers find."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from lab.sessions.replay import show_in_lines
from lab.sessions.session import Session
from lab.sessions.shown import Probe, Severity, Text, TraceLine


@dataclass(frozen=True, slots=True)
class Broken:
    clause: str
    why: Text
    versions: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Finding:
    """A way into damage: `session` is at its end. `probe`: queries that table and index answer differently."""

    session: Session
    lines: tuple[TraceLine, ...]
    broken: tuple[Broken, ...]
    probe: tuple[Probe, ...]


def finding_of(session: Session, answer: Mapping[str, Any]) -> Finding | None:
    """None without a counterexample. Raises `BadSession`."""
    if not answer.get("steps"):
        return None
    whole = replace(session, steps=tuple(answer["steps"]))
    shown = show_in_lines(whole)
    damage = [one for one in shown.verdicts if one.severity is Severity.DAMAGE]
    alike = {(one.clause, str(one.why)): one for one in damage}
    broken = tuple(
        Broken(first.clause, first.why, tuple(one.version for one in damage if (one.clause, str(one.why)) == key))
        for key, first in alike.items()
    )
    return Finding(whole, shown.trace, broken, tuple(one for one in shown.probe if one.differs))
