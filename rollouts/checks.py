"""The check of a rollout's file as one value: what a page, a command and a test read.

    report = check(text)
    report.verdict        proved, broken, unknown, or wrong: see report.mistake
    report.gates          the strip: a gate for each pair of neighbours, green, amber or red
    report.findings       the shortest trace of each fault, as sentences and as frames

Pure, and deterministic but for `seconds`; `Budget` bounds worlds and processor seconds. Sentences are `Text`s: a page
renders them in its reader's language, `str` gives English.
"""

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
from rollouts.worlds.search import Budget, Finding

WRONG, NOT_MODELLED = "wrong", "not modelled"


@dataclass(frozen=True, slots=True)
class Mistake:
    """The reason why a file was not explored: wrong, or outside of the model. `line` counts from 1; None: unknown."""

    message: str
    key: str = ""
    line: int | None = None

    def __str__(self) -> str:
        return f"{f'line {self.line}: ' if self.line else ''}{f'{self.key}: ' if self.key else ''}{self.message}"


@dataclass(frozen=True, slots=True)
class Trace:
    """One finding. `kind`: fails, lost, invented, refused, or no rollback; `counts`: it makes the rollout broken.

    `is_yours`: the application has it without a rollout (shown grey). `gate`: deploys done when it happened, the
    place in the strip. `back_from`: of *no rollback*, the number of deploys done when the release before came back.
    """

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
    """The exploration itself; None of a file that was not explored."""

    @property
    def counted(self) -> tuple[Trace, ...]:
        """The findings that make the rollout broken, the shortest first."""
        return tuple(one for one in self.findings if one.counts)

    def to_json(self) -> dict[str, Any]:
        """The report as data for a script: sentences in English, traces as lines."""
        if self.mistake is not None:
            return {"verdict": self.verdict, "mistake": asdict(self.mistake)}
        return {
            "verdict": self.verdict,
            "bounds": str(self.bounds),
            "worlds": self.worlds,
            "seconds": round(self.seconds, 3),
            "findings": [_finding_json(one) for one in self.findings],
            "gates": [{"done": one.done, "releases": list(one.releases), "color": one.color} for one in self.gates],
            "occurred": list(map(str, self.occurred)),
            "holds_up_tried": str(self.tried),
            "holds_up": [one.to_json() for one in self.hold_ups],
            "words": [asdict(one) for one in self.words],
        }


def _finding_json(one: Trace) -> dict[str, Any]:
    return {
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


def check(text: str, *, rows: int | None = None, budget: Budget | None = None, repair: bool = False) -> Report:
    """Explore a rollout's file. `rows`: 1 or 2 (None: as many as its statements ask for). `repair`: look for a change
    of the plan that is proved. Raises `Stopped` if the budget's watch ends it, and nothing for a file that is wrong:
    see `Report.mistake`.
    """
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
        tuple(_trace(answer, one, narrator) for one in answer.outcome.findings),
        tuple(narrator.occurred(answer.outcome)),
        answer.hold_ups,
        tried(answer.rollout.database),
        tuple(words_of(answer.model)),
        repair,
        answer,
    )


def _trace(answer: Answer, finding: Finding, narrator: Narrator) -> Trace:
    return Trace(
        finding.kind if finding.back_from is None else "no rollback",
        finding.kind,
        finding.found.about,
        counts(finding, answer.rollout),
        finding.is_yours,
        finding.release,
        finding.operation,
        finding.done,
        finding.back_from,
        narrator.fault(finding),
        tuple(narrator.trace(finding)),
        tuple(frames_of(answer.model, finding)),
    )
