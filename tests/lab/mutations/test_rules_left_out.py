"""Each rule left out is noticed: by a seed, by a golden script, or by a test that is named and exists."""

from pathlib import Path

import pytest

from lab.cluster.control_plane import Without
from lab.scripts.golden import play
from lab.simulator.invariants import Memory
from lab.simulator.simulation import Setup, simulate
from tests.lab.mutations.page import write_page
from tests.lab.mutations.rules_left_out import (
    BEHIND,
    IN_SCRIPTS,
    IN_SIMULATOR,
    IN_TESTS,
    RULES,
    SWITCHES,
    UNSWITCHED,
    InScript,
    InSimulator,
    InTest,
    ids_of,
)

TESTS = Path(__file__).parents[2]


@pytest.mark.parametrize("mutation", IN_SIMULATOR, ids=lambda one: f"{one.rules} ({one.without[-1].value})")
def test_the_simulator_finds_that_a_rule_is_left_out(mutation: InSimulator) -> None:
    without = frozenset(mutation.without)
    kept = simulate(mutation.seed, Setup(faults=mutation.faults), Memory())
    assert kept.finding is None
    broken = simulate(mutation.seed, Setup(faults=mutation.faults, without=without), Memory())
    what = f"look for another seed: manage.py simulate --without '{mutation.without[0].value}' --seeds 1..3000"
    assert broken.finding is not None, what
    assert broken.finding.rule == mutation.breaks, what


@pytest.mark.parametrize("mutation", IN_SCRIPTS, ids=lambda one: one.rules)
def test_a_golden_script_notices_that_a_rule_is_left_out(mutation: InScript) -> None:
    """With the rule switched the other way round, the script says something else than recorded."""
    text = (TESTS / "scripts" / f"{mutation.script}.script").read_text(encoding="utf-8")
    assert play(text).is_same
    commands = [f"without {rule.value}" for rule in mutation.without]
    shown = [command for command in commands if command in text.splitlines()]
    why, _, rest = text.partition("\n")
    other = text
    for command in commands:
        other = other.replace(f"{command}\n", "") if shown else f"{why}\n{command}\n{rest}"
    assert not play(other).is_same


@pytest.mark.parametrize("mutation", IN_TESTS, ids=lambda one: f"{one.rules}: {one.what}")
def test_the_tests_that_notice_a_rule_of_the_store_exist(mutation: InTest) -> None:
    for name in mutation.tests:
        path, _, function = name.partition("::")
        assert f"def {function}(" in (TESTS / path).read_text(encoding="utf-8")


def test_every_rule_that_can_be_left_out_is_in_the_table() -> None:
    listed = {rule for one in (*IN_SIMULATOR, *IN_SCRIPTS, *BEHIND) for rule in one.without}
    assert listed == set(Without)


def test_every_rule_of_sections_5_to_8_is_there() -> None:
    listed = {rule for one in (*IN_SIMULATOR, *IN_SCRIPTS, *SWITCHES, *IN_TESTS) for rule in ids_of(one.rules)}
    assert listed | set(UNSWITCHED) == set(RULES)
    assert not listed & set(UNSWITCHED)


def test_every_switch_is_tried_somewhere() -> None:
    """The modules named in tests/lab/mutations are all that switches name."""
    tried = "".join(path.read_text(encoding="utf-8") for path in (TESTS / "lab/mutations").glob("test_*.py"))
    assert [one.module for one in SWITCHES if f'"{one.module}"' not in tried] == []


def test_the_page_is_what_the_table_says() -> None:
    page = TESTS.parent / "docs/reference/rules-left-out.md"
    assert write_page() == page.read_text(encoding="utf-8"), f"python -m tests.lab.mutations > {page}"
