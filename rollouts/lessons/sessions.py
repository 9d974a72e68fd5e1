"""Sessions over a rollout: two servers, their releases, deploys, and a PostgreSQL of a row or two. A step that ends in
a fault is taken: the fault stays in the strip, only its own transaction is undone.

    {"rollout": "rename", "deploys": ["add", "both"]}    deploy.1.schema, deploy.2.starts, r2.create.1.Ann, ..
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from lab.sessions.session import BadSession, Session
from lab.sessions.setup import Parameter, Setup
from lab.sessions.shown import (
    NOTHING,
    Offer,
    RefusedStep,
    SessionView,
    Severity,
    Strip,
    Text,
    TraceLine,
    Verdict,
    step_text,
)
from rollouts.lessons import plans
from rollouts.lessons.drawing import SERVERS, actor_of, cluster_of
from rollouts.lessons.steps import steps_by_id
from rollouts.narration import Narrator, shown
from rollouts.worlds.alone import Alone
from rollouts.worlds.model import Model
from rollouts.worlds.search import Finding
from rollouts.worlds.world import BACKFILL, Fault, Outcome, Step, Waits, World

ROLLOUT = "rollout"
KINDS = ("fails", "refused", "lost", "invented")

SETUP = Setup(
    ROLLOUT,
    ROLLOUT,
    Text("A rollout: two releases, one database"),
    Text("Servers run releases of an application while deploys change the schema."),
    (
        Parameter("rollout", "rename", Text("the rollout"), plans.LESSONS),
        Parameter("deploys", [], Text("its deploys, in order")),
        Parameter("text", "", Text("or a file of your own")),
    ),
    chapter="14-rename-a-column",
    begins=("deploy.1.schema",),
)


def model_of(setup: Setup, session: Session) -> Model:
    setup.check_left_out(session)
    values = setup.values(session)
    deploys = values["deploys"]
    assert isinstance(deploys, list)
    try:
        return plans.model_of(str(values["rollout"]), str(values["text"]), tuple(map(str, deploys)))
    except plans.BadPlan as error:
        raise BadSession(str(error)) from error


@dataclass(frozen=True, slots=True)
class Moment:
    """The state after `step`; `finding` is the fault that it met."""

    world: World
    step: Step | None = None
    finding: Finding | None = None


def show(setup: Setup, session: Session, at: int | None, *, single_steps: bool) -> SessionView:
    """A position of a session. Raises `BadSession`."""
    model = model_of(setup, session)
    moments, refused = taken(model, tuple(session.steps))
    here = len(moments) - 1 if at is None else max(0, min(at, len(moments) - 1))
    return SessionView(
        at=here,
        actors=("deploys", *SERVERS, "backfill"),
        offers=tuple(_offers(model, moments[here].world)),
        cluster=cluster_of(model, moments[here].world, moments[max(0, here - 1)].world),
        verdicts=tuple(_verdicts(model, moments[: here + 1])),
        strip=tuple(_strip(kind, moments) for kind in KINDS),
        probe=(),
        trace=tuple(_line(model, name, one) for name, one in zip(session.steps, moments[1:], strict=False)),
        refused=refused,
    )


Moments = tuple[Moment, ...]
KEPT_MAX = 512
"""Beginnings of sessions whose moments are kept: a click adds one step to a session that was shown before."""


@lru_cache(maxsize=KEPT_MAX)
def taken(model: Model, names: tuple[str, ...]) -> tuple[Moments, RefusedStep | None]:
    if not names:
        return (Moment(model.start()),), None
    moments, refused = taken(model, names[:-1])
    if refused is not None:
        return moments, refused
    world, name = moments[-1].world, names[-1]
    found = steps_by_id(model, world).get(name)
    number = len(names) - 1
    if found is None:
        return moments, RefusedStep(number, name, Text("{step}", {"step": name}), Text("there is no such step here"))
    step, outcome = found
    if isinstance(outcome, Waits):
        return moments, RefusedStep(
            number,
            name,
            step_text(actor_of(model, step.release, model.stages[world.stage].running), _label(model, step)),
            _waits(outcome),
        )
    return (*moments, _after(model, moments, step, outcome)), None


def _after(model: Model, moments: Moments, step: Step, outcome: Outcome | None) -> Moment:
    world = moments[-1].world
    if isinstance(outcome, World):
        return Moment(outcome, step)
    if not isinstance(outcome, Fault):
        return Moment(world, step)
    steps = (*(one.step for one in moments[1:] if one.step is not None), step)
    worlds = tuple(one.world for one in moments)
    is_yours = outcome.kind != "fails" and Alone(model).is_yours(steps, worlds, outcome)
    release = "" if step.release in (None, BACKFILL) else model.releases[step.release].name
    done = model.stages[world.stage].done
    finding = Finding(outcome, steps, worlds, release, step.operation, done, is_yours)
    kept = tuple(
        one
        for one in world.transactions
        if (one.release, one.operation, one.environment) != (step.release, step.operation, step.environment)
    )
    return Moment(world._replace(transactions=kept), step, finding)


def _offers(model: Model, world: World) -> Iterator[Offer]:
    running = model.stages[world.stage].running
    for name, (step, outcome) in steps_by_id(model, world).items():
        why_not = _waits(outcome) if isinstance(outcome, Waits) else NOTHING
        actor = actor_of(model, step.release, running)
        is_statement = step.release is not None and step.release != BACKFILL
        yield Offer(
            name,
            actor,
            _label(model, step),
            (name,),
            why_not,
            is_statement=is_statement,
            changes_nothing=outcome is None,
        )


def _label(model: Model, step: Step) -> Text:
    if step.release == BACKFILL and step.kind == "statement":
        key = dict(step.environment).get(model.rollout.key)
        row = Text("row {key}", {"key": shown(key)}) if key is not None else Text("all rows")
        return Text("copy {row}", {"row": row})
    return Narrator(model).step(step._replace(answer=None, met=None))


def _waits(outcome: Waits) -> Text:
    table, _what, identity, _exclusive = min(outcome.locks, key=repr)
    values = {"table": table, "row": ", ".join(map(str, identity))}
    return Text("it waits for a lock on {table} {row}, which another transaction holds", values)


def _severity(finding: Finding) -> Severity:
    return Severity.DANGER if finding.is_yours else Severity.DAMAGE


def _verdicts(model: Model, moments: Sequence[Moment]) -> Iterator[Verdict]:
    narrator, seen = Narrator(model), set[tuple[str, int]]()
    for one in moments:
        if one.finding is None or one.step is None:
            continue
        release, running = one.step.release, model.stages[one.step.stage].running
        version = (running[-1] if release in (None, BACKFILL) else release) + 1
        if (one.finding.kind, version) not in seen:
            seen.add((one.finding.kind, version))
            yield Verdict(one.finding.kind, version, _severity(one.finding), narrator.fault(one.finding))


def _strip(kind: str, moments: Sequence[Moment]) -> Strip:
    cells, worst = [], Severity.HOLDS
    for one in moments:
        if one.finding is not None and one.finding.kind == kind and worst is not Severity.DAMAGE:
            worst = _severity(one.finding)
        cells.append(worst)
    return Strip(kind, tuple(cells))


def _line(model: Model, name: str, moment: Moment) -> TraceLine:
    assert moment.step is not None
    narrator = Narrator(model)
    actor = actor_of(model, moment.step.release, model.stages[moment.step.stage].running)
    if moment.finding is None:
        return TraceLine(name, actor, "", narrator.step(moment.step))
    return TraceLine(name, actor, "", narrator.fault(moment.finding), _severity(moment.finding))
