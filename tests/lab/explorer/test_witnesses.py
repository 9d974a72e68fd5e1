"""Every witness on the page of safe sequences happens in the lab's world, too: neither can drift from the other."""

import re
from pathlib import Path

import pytest

from lab.explorer.contents.foreign_keys import effects_of
from lab.explorer.spaces.full_space import Plain, step_id
from lab.explorer.variants import all_variants
from lab.explorer.witness import parse
from tests.lab.explorer.in_the_world import Run

PAGE = (Path(__file__).parents[3] / "docs/reference/safe-sequences.md").read_text(encoding="utf-8")
STORIES = {
    name: re.findall(r"^\d+\. `([^`]+)`", story, re.MULTILINE)
    for name, story in re.findall(r"^### (\S+)\n(.+?)(?=^### |\Z)", PAGE, re.MULTILINE | re.DOTALL)
}
BROKEN = {name: variant for name, variant in all_variants().items() if variant.breaks}


def test_each_broken_variant_has_its_witness_on_the_page() -> None:
    assert STORIES.keys() == BROKEN.keys()
    assert all(STORIES.values())


@pytest.mark.parametrize("name", BROKEN)
def test_a_witness_leads_the_world_to_the_same_pairs_and_the_same_violation(name: str) -> None:
    variant = BROKEN[name]
    plain = Plain(effects_of(variant.model))
    run, config = Run(plain), plain.start()
    for step in parse(plain, STORIES[name]):
        config = plain.after(config, step)[0]
        run.take(step)
        assert run.pairs() == plain.effects.known[config.contents].storages(), step_id(step)
    broken = {fault.clause for fault in plain.faults(config)}
    assert broken, "the last step breaks something"
    assert broken <= {*variant.breaks.split(), "lost write", "read twice", "refused writes"}
    assert {clause for clause in broken if clause.startswith("C")} <= run.clauses()
