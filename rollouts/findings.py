"""The answer about a rollout: proved, broken or unknown, its findings, its gates, the statements that block others."""

from dataclasses import dataclass, field

from catalog.text.message import Text
from rollouts.file import Rollout
from rollouts.locks import HoldUp, hold_ups
from rollouts.worlds.model import Model
from rollouts.worlds.search import Budget, Finding, Outcome, Search

PROVED, BROKEN, UNKNOWN = "proved", "broken", "unknown"


@dataclass(frozen=True, slots=True)
class Gate:
    """A point between two deploys. `color`: red if something breaks, amber if there is no rollback."""

    done: int
    releases: tuple[str, ...]
    color: str


@dataclass(frozen=True, slots=True)
class Answer:
    rollout: Rollout
    model: Model
    outcome: Outcome
    verdict: str
    gates: tuple[Gate, ...]
    hold_ups: tuple[HoldUp, ...] = field(default=())

    @property
    def counted(self) -> list[Finding]:
        return [one for one in self.outcome.findings if counts(one, self.rollout)]


def counts(finding: Finding, rollout: Rollout) -> bool:
    """True if a finding breaks the rollout: not *yours already*, nor a rollback after `rollback_until`."""
    return not finding.is_yours and (finding.back_from is None or finding.back_from <= rollout.rollback_until)


def answer_of(rollout: Rollout, *, rows: int | None = None, budget: Budget | None = None) -> Answer:
    """Raises `NotModelled`."""
    model = Model(rollout, rows)
    if model.rows_needed < len(model.keys):  # no statement ties them together: their product adds no behaviour
        model = Model(rollout, model.rows_needed)
    outcome = Search(model, budget).run()
    broken = any(counts(one, rollout) for one in outcome.findings)
    verdict = BROKEN if broken else PROVED if outcome.is_complete else UNKNOWN
    return Answer(rollout, model, outcome, verdict, _gates(model, outcome), tuple(hold_ups(model)))


def _gates(model: Model, outcome: Outcome) -> tuple[Gate, ...]:
    own = [one for one in outcome.findings if not one.is_yours]
    broken = {one.done for one in own if one.back_from is None}
    no_rollback = {one.back_from for one in own if one.back_from is not None}
    running: dict[int, tuple[int, ...]] = {}
    for stage in model.stages:
        running[stage.done] = max(running.get(stage.done, ()), stage.running, key=len)
    return tuple(
        Gate(
            done,
            tuple(model.releases[one].name for one in releases),
            "red" if done in broken else "amber" if done in no_rollback else "green",
        )
        for done, releases in running.items()
    )


def title_of(answer: Answer) -> Text:
    if answer.verdict == PROVED:
        return Text("proved: no schedule of {worlds} worlds breaks this rollout", {"worlds": answer.outcome.worlds})
    if answer.verdict == UNKNOWN:
        return Text("unknown: the bounds were reached after {worlds} worlds", {"worlds": answer.outcome.worlds})
    return (
        Text("broken: {count} ways", {"count": len(answer.counted)})
        if len(answer.counted) > 1
        else Text("broken: 1 way")
    )
