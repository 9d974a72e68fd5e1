"""The check of a rollout's file as one value. Pure but for `seconds`; sentences are `Text`s, `str` gives English."""

from dataclasses import asdict, dataclass, field
from typing import Any

from catalog.text.message import NOTHING, Text
from rollouts.file import FileMistake, rollout_of
from rollouts.findings import BROKEN, Answer, Gate, answer_of, counts, title_of
from rollouts.frames import Frame, frames_of
from rollouts.locks import HoldUp, tried
from rollouts.narration import Narrator
from rollouts.repairs.search import Repair, repair_of
from rollouts.statements.errors import NotModelled
from rollouts.words import DeployWords, words_of
from rollouts.worlds.search import Budget

WRONG, NOT_MODELLED = "wrong", "not modelled"


@dataclass(frozen=True, slots=True)
class Mistake:
    """Why a file was not explored. `line` counts from 1; None: unknown."""

    message: str
    key: str = ""
    line: int | None = None

    def __str__(self) -> str:
        return f"{f'line {self.line}: ' if self.line else ''}{f'{self.key}: ' if self.key else ''}{self.message}"


@dataclass(frozen=True, slots=True)
class Trace:
    """One finding. `kind`: fails, lost, invented, refused, or no rollback; `counts`: it makes the rollout broken;
    `is_yours`: the application has it without a rollout. `gate`: deploys done when it happened. `back_from`: of *no
    rollback*, deploys done when the earlier release came back."""

    kind: str
    because: str
    about: str
    counts: bool
    is_yours: bool
    release: str
    operation: str
    gate: int
    back_from: int | None
    fault: Text
    lines: tuple[Text, ...]
    frames: tuple[Frame, ...]


@dataclass(frozen=True, slots=True)
class Report:
    verdict: str
    title: Text = NOTHING
    mistake: Mistake | None = None
    bounds: Text = NOTHING
    worlds: int = 0
    seconds: float = 0.0
    gates: tuple[Gate, ...] = ()
    findings: tuple[Trace, ...] = ()
    occurred: tuple[Text, ...] = ()
    hold_ups: tuple[HoldUp, ...] = ()
    tried: Text = NOTHING
    """The version on which the table of `hold_ups` was tried, and whether that is the rollout's."""

    words: tuple[DeployWords, ...] = ()
    repair: Repair | None = None
    answer: Answer | None = field(default=None, compare=False, repr=False)

    @property
    def counted(self) -> tuple[Trace, ...]:
        return tuple(one for one in self.findings if one.counts)

    def to_json(self) -> dict[str, Any]:
        if self.mistake is not None:
            return {"verdict": self.verdict, "mistake": asdict(self.mistake)}
        return {
            "verdict": self.verdict,
            "bounds": str(self.bounds),
            "worlds": self.worlds,
            "seconds": round(self.seconds, 3),
            "findings": [
                {
                    "kind": one.kind,
                    "because": one.because,
                    "about": one.about,
                    "counts": one.counts,
                    "yours_already": one.is_yours,
                    "release": one.release,
                    "operation": one.operation,
                    "deploys_done": one.gate,
                    "back_from": one.back_from,
                    "fault": str(one.fault),
                    "steps": len(one.frames) - 1,
                    "trace": list(map(str, one.lines)),
                }
                for one in self.findings
            ],
            "gates": [asdict(one) for one in self.gates],
            "occurred": list(map(str, self.occurred)),
            "holds_up_tried": str(self.tried),
            "holds_up": [one.to_json() for one in self.hold_ups],
            "words": [asdict(one) for one in self.words],
        }


def check(text: str, *, rows: int | None = None, budget: Budget | None = None, repair: bool = False) -> Report:
    """Explores a file. `rows`: 1 or 2 (None: as many as its statements ask for). `repair`: search for a proved change
    of the plan. Raises `Stopped` if the budget's watch ends it; a wrong file is `Report.mistake`."""
    try:
        rollout = rollout_of(text)
        answer = answer_of(rollout, rows=rows, budget=budget)
    except FileMistake as error:
        return Report(WRONG, Text("the file is wrong"), Mistake(error.message, error.key, error.line))
    except NotModelled as error:
        return Report(NOT_MODELLED, Text("a statement is outside of the model"), Mistake(str(error)))
    found = repair_of(answer, budget) if repair and answer.verdict == BROKEN else None
    return report_of(answer, found)


def report_of(answer: Answer, repair: Repair | None = None) -> Report:
    narrator = Narrator(answer.model)
    return Report(
        answer.verdict,
        title_of(answer),
        None,
        narrator.bounds(),
        answer.outcome.worlds,
        answer.outcome.seconds,
        answer.gates,
        tuple(
            Trace(
                one.kind if one.back_from is None else "no rollback",
                one.kind,
                one.found.about,
                counts(one, answer.rollout),
                one.is_yours,
                one.release,
                one.operation,
                one.done,
                one.back_from,
                narrator.fault(one),
                tuple(narrator.trace(one)),
                tuple(frames_of(answer.model, one)),
            )
            for one in answer.outcome.findings
        ),
        tuple(narrator.occurred(answer.outcome)),
        answer.hold_ups,
        tried(answer.rollout.database),
        tuple(words_of(answer.model)),
        repair,
        answer,
    )
