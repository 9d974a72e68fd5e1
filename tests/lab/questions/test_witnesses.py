"""Every unsafe model opens on the stage in the world that it breaks."""

import pytest

from lab.explorer.rules_left_out import Broken
from lab.explorer.variants import all_variants
from lab.questions.witnesses import unsafe_without, witness_of
from lab.sessions.replay import show
from lab.sessions.session import BadSession

UNSAFE = [name for name, variant in all_variants().items() if variant.breaks]
SOME = UNSAFE[::9]


@pytest.mark.parametrize(
    "name", [name if name in SOME else pytest.param(name, marks=pytest.mark.soak) for name in UNSAFE]
)
def test_a_witness_ends_on_the_stage_in_what_it_breaks(name: str) -> None:
    witness = witness_of(name)
    shown = show(witness.session)
    assert shown.refused is None
    assert witness.is_unsafe
    found = {verdict.clause for verdict in shown.verdicts}
    assert {fault.clause for fault in witness.answer.faults} <= found


def test_a_proved_model_opens_at_its_start() -> None:
    witness = witness_of("add-optional-column")
    assert (witness.is_unsafe, witness.session.steps) == (False, ())


def test_every_rule_but_the_one_that_closing_covers_is_missed_by_some_model() -> None:
    """A finished range that is done again is harmless while the run is closed in time (R7)."""
    assert {rule for rule, names in unsafe_without().items() if not names} == {Broken.TWICE.value}


def test_an_unknown_model_is_named() -> None:
    with pytest.raises(BadSession, match="there is no built-in model nope"):
        witness_of("nope")
