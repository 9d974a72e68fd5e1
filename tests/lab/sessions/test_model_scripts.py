"""Sessions on models as golden scripts: written, or the step is named that no script says."""

import random

import pytest

from lab.explorer.spaces.config import step_id
from lab.scripts import golden
from lab.sessions.model.script import NoSentence, script_of
from lab.sessions.model.session import machine_of
from lab.sessions.model.setups import MODEL_SETUPS, model_of
from lab.sessions.session import Session

STEPS = 25


def walked(session: Session, seed: int) -> Session:
    """The session with a random walk as its steps, without those that no sentence says."""
    machine = machine_of(*model_of(MODEL_SETUPS[session.setup], session))
    config, chance, names = machine.first, random.Random(f"{session.setup} {seed}"), []
    for _ in range(STEPS):
        after = [(step, after) for step, after, _ in machine.plain.steps(config) if step[1:] != ("end",)]
        if not after:
            break
        step, config = chance.choice(after)
        names.append(step_id(step))
    return Session(session.setup, session.parameters, steps=tuple(names))


@pytest.mark.parametrize("setup", sorted(MODEL_SETUPS.keys() - {"model", "variant"}))
def test_what_a_reader_may_play_is_a_golden_script(setup: str) -> None:
    session = walked(Session(setup), seed=1)
    assert session.steps
    assert golden.play(script_of(session, "why")).is_same


@pytest.mark.parametrize(
    ("variant", "steps"),
    [
        pytest.param("table-delete-only-beside-absent", ["n1.begin"], id="a table that is not there"),
        pytest.param("add-table", ["publish.2", "drain.2", "publish.3"], id="a change that is over"),
        pytest.param(
            "rollback-without-delete",
            ["publish.2", "n2.acquire", "n1.acquire", "cancel", "drain.2"],
            id="a change on its way back",
        ),
    ],
)
def test_a_step_that_the_cluster_does_not_take_is_named(variant: str, steps: list[str]) -> None:
    """The model takes it: its tables are used in every state, and its change has other steps."""
    before = Session("variant", {"name": variant}, steps=tuple(steps[:-1]))
    assert golden.play(script_of(before, "why")).is_same
    with pytest.raises(NoSentence, match=rf"does not take {steps[-1]}: "):
        script_of(Session("variant", {"name": variant}, steps=tuple(steps)), "why")
