"""A proof is worth what this is worth: random rollouts, each step compared with real sessions of a PostgreSQL."""

from collections.abc import Iterator
from random import Random
from typing import Any

from rollouts.file import rollout_from
from rollouts.statements.effects import Query
from rollouts.statements.errors import NotModelled
from rollouts.worlds.model import Model
from rollouts.worlds.world import BACKFILL, Fault, Step, Waits, World
from tests.rollouts.random_rollouts import random_rollout
from tests.rollouts.server import Server
from tests.rounds import rounds

STEPS_MAX = 28


Choice = tuple[Step, World | Fault | Waits | None]


def forced(model: Model, world: World, choices: list[Choice]) -> list[Choice]:
    """A statement that has begun, and has its locks, ends at once: the server does not wait for us."""
    begun = {
        (one.release, one.operation, one.at, one.environment) for one in world.transactions if one.snapshot is not None
    }
    return [
        (step, outcome)
        for step, outcome in choices
        if step.kind == "statement"
        and (step.release, step.operation, step.at, step.environment) in begun
        and not isinstance(outcome, Waits)
    ]


def takes_no_lock(model: Model, step: Step) -> bool:
    """A statement that waits may hold rows, in the server's order: beside it others only read or commit."""
    if step.kind == "commit":
        return True
    if step.kind != "statement" or step.release in (None, BACKFILL):
        return False
    statement = model.releases[step.release].operations[step.operation].statements[step.at]
    return (
        isinstance(statement, Query)
        and not statement.locks
        and len(model.releases[step.release].operations[step.operation].statements) == 1
    )


def is_open(world: World, step: Step) -> bool:
    return step.at > 0 or any(
        (one.release, one.operation, one.at, one.environment)
        == (step.release, step.operation, step.at, step.environment)
        for one in world.transactions
    )


def walk(model: Model, server: Server, random: Random) -> Iterator[str]:
    """One random schedule, on both. Gives what was met."""
    world = model.start()
    for _ in range(STEPS_MAX):
        choices: list[Choice] = [one for one in model.steps(world) if not server.is_ambiguous(one[0])]
        now = forced(model, world, choices)
        if any(one.snapshot is not None for one in world.transactions):
            choices = [one for one in choices if takes_no_lock(model, one[0])]
        if not (now or choices):
            return
        deploys = [one for one in choices if one[0].release is None]
        step, outcome = random.choice(now or (deploys if deploys and random.random() < 0.12 else choices))
        server.take(step, outcome)
        yield type(outcome).__name__ if not isinstance(outcome, Fault) else outcome.kind
        if isinstance(outcome, Fault) and (
            outcome.kind == "fails" or (outcome.kind == "refused" and is_open(world, step))
        ):
            return  # the server has ended what the model's world still has under way
        if isinstance(outcome, World):
            world = outcome
            if not forced(model, world, list(model.steps(world))):
                server.compare_rows(world)


@rounds(40, 300)
def test_model_and_server_agree_step_by_step(url: str, rounds: int) -> None:
    met: dict[str, int] = {}
    random = Random(20261129 if rounds < 100 else None)
    walked = 0
    while walked < rounds:
        seed = random.randrange(10**9)
        body = random_rollout(Random(seed))
        try:
            model = Model(rollout_from(body))
        except NotModelled:
            continue
        walked += 1
        try:
            with Server(url, model, f"rollout_{seed}") as server:
                for what in walk(model, server, Random(seed)):
                    met[what] = met.get(what, 0) + 1
        except NotModelled:
            continue
        except AssertionError as error:
            raise AssertionError(f"seed {seed}: {error}\n{describe(body)}") from error
    assert {"World", "Waits", "refused", "fails", "lost"} <= set(met), met


def describe(body: dict[str, Any]) -> str:
    return "\n".join(f"{key}: {value}" for key, value in body.items())
