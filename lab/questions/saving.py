"""The last choice before the damage, made otherwise: going back, each other possible step is put in, or moved there
from later on, and the same steps follow. If the damage disappears, or a step is refused, that choice saves it."""

from collections.abc import Iterator
from dataclasses import dataclass

from lab.explorer.spaces.config import step_id
from lab.explorer.spaces.full_space import Plain
from lab.sessions.model.session import Machine, Position, machine_of
from lab.sessions.model.setups import model_of
from lab.sessions.session import BadSession, Session
from lab.sessions.setup import MODEL
from lab.sessions.setups import setup_named
from lab.sessions.severity import severity_of, worst
from lab.sessions.shown import RefusedStep, Severity

INSTEAD = ("acquire",)
"""The only step that a node is asked to do first: to roll back, end or freeze would always save."""

STEPS_TRIED_MAX = 10_000
"""Of all branches together: some seconds of work, between which others use the model."""


@dataclass(frozen=True, slots=True)
class Saving:
    """`step` is taken before step `at`; `steps` is that branch, up to `refused`. By a `rule`, no step is put in."""

    at: int
    steps: tuple[str, ...]
    step: str = ""
    rule: str = ""
    refused: RefusedStep | None = None


class GaveUp(BadSession):
    """No saving choice among those tried, and not all were."""


def what_saves(session: Session) -> tuple[Saving, ...]:
    """Raises `BadSession` for a session without an explorer's model, and `GaveUp`."""
    setup = setup_named(session.setup)
    if setup.kind != MODEL:
        raise BadSession(f"set-up {setup.name} runs on no explorer's model")
    machine = machine_of(*model_of(setup, session))
    positions, lines, _ = machine.followed(session.steps)
    damaged = next((at for at, one in enumerate(positions) if _is_damaged(one)), None)
    if damaged is None:
        return ()
    steps = tuple(line.id for line in lines[:damaged])
    rule = next(_rules(session, steps), None)
    try:
        choice = next(_choices(machine, positions, steps), None)
    except GaveUp:
        if rule is None:
            raise
        choice = None
    return tuple(filter(None, (choice, rule)))


def _choices(machine: Machine, positions: list[Position], steps: tuple[str, ...]) -> Iterator[Saving]:
    tried = 0
    for at in range(len(steps) - 1, -1, -1):
        for step in _instead(machine.plain, positions[at]):
            if step == steps[at]:
                continue
            branch = (*steps[:at], step, *_without_next(step, steps[at:]))
            tried += len(branch)
            if tried > STEPS_TRIED_MAX:
                raise GaveUp(
                    f"no choice of the last {len(steps) - at} steps would have saved it; there may be one before"
                )
            after, _, refused = machine.followed(branch)
            if not any(map(_is_damaged, after)):
                yield Saving(at, branch[: len(after) - 1], step, refused=refused)


def _without_next(step: str, steps: tuple[str, ...]) -> tuple[str, ...]:
    at = steps.index(step) if step in steps else len(steps)
    return (*steps[:at], *steps[at + 1 :])


def _instead(plain: Plain, position: Position) -> Iterator[str]:
    for step, why in plain.offers(position.config):
        is_of_node = step[0] in plain.names
        if not why and (step[1] in INSTEAD if is_of_node else step != ("cancel",)):
            yield step_id(step)


def _rules(session: Session, steps: tuple[str, ...]) -> Iterator[Saving]:
    for rule in sorted(session.left_out):
        kept = Session(session.setup, session.parameters, session.left_out - {rule}, steps)
        machine = machine_of(*model_of(setup_named(kept.setup), kept))
        after, _, refused = machine.followed(steps)
        if not any(map(_is_damaged, after)):
            yield Saving(len(after) - 1, steps[: len(after) - 1], rule=rule, refused=refused)


def _is_damaged(position: Position) -> bool:
    return worst(severity_of(fault, position.newest) for fault in position.faults) is Severity.DAMAGE
