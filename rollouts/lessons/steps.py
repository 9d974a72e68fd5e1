"""The steps of a session by their names, which a page never parses.

deploy.1.schema              deploy 1: its statement; deploy.1.schema.2 its second one
deploy.2.starts              the release of deploy 2 starts beside the one before, until deploy.2.gone
backfill.1                   the backfill of row 1; of several statements backfill.1:1, backfill.1:2, ..
r1.create.1.Ann              release 1: create(id = 1, name = Ann); of several statements with :1, .., :commit
r1.save.1.Ann:2#2            of two users who are at the same statement the second
"""

from itertools import count as numbers

from rollouts.narration import shown
from rollouts.worlds.model import Model
from rollouts.worlds.search import Finding
from rollouts.worlds.world import BACKFILL, Outcome, Step, World

STATEMENTS = ("schema", "publish", "drain", "verify")


def id_of(model: Model, step: Step) -> str:
    stage = model.stages[step.stage]
    if step.release is None:
        texts = [one for one in model.stages if one.done == stage.done and one.kind == stage.kind]
        nth = f".{texts.index(stage) + 1}" if len(texts) > 1 and stage.kind in STATEMENTS else ""
        return f"deploy.{stage.done + 1}.{stage.kind}{nth}"
    asked = model.asked(step.release, step.operation) or {model.rollout.key}
    given = [shown(value) for name, value in step.environment if name in asked]
    if step.release == BACKFILL:
        name, count = ".".join(["backfill", *given]), len(stage.statements)
    else:
        release = model.releases[step.release]
        name = ".".join([f"r{step.release + 1}", step.operation, *given])
        count = len(release.operations[step.operation].statements)
    if step.under:
        name = f"{name}@{step.under}"
    if step.kind != "statement":
        return f"{name}:{step.kind}" + (f".{step.at + 1}" if count > 1 and step.kind == "begins" else "")
    return f"{name}:{step.at + 1}" if count > 1 else name


def steps_by_id(model: Model, world: World) -> dict[str, tuple[Step, Outcome | None]]:
    found: dict[str, tuple[Step, Outcome | None]] = {}
    for step, outcome in model.steps(world):
        name = plain = id_of(model, step)
        for number in numbers(2):
            if name not in found:
                break
            name = f"{plain}#{number}"
        found[name] = (step, outcome)
    return found


def ids_of(model: Model, finding: Finding) -> tuple[str, ...]:
    return tuple(
        next(name for name, (one, _) in steps_by_id(model, world).items() if one == step)
        for step, world in zip(finding.steps, finding.worlds, strict=True)
    )
