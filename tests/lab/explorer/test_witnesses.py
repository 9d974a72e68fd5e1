"""Every witness on the page of safe sequences happens on the lab's cluster, too: neither can drift from the other."""

import re
from functools import cache
from pathlib import Path

import pytest

from lab.explorer.contents.foreign_keys import effects_of
from lab.explorer.spaces.config import step_id
from lab.explorer.spaces.full_space import Plain
from lab.explorer.variants import all_variants
from lab.explorer.witness import parse
from lab.scripts import golden
from lab.sessions.model.script import Lines

PAGE = (Path(__file__).parents[3] / "docs/reference/safe-sequences.md").read_text(encoding="utf-8")
STORIES = {
    name: re.findall(r"^\d+\. `([^`]+)`", story, re.MULTILINE)
    for name, story in re.findall(r"^### (\S+)\n(.+?)(?=^### |\Z)", PAGE, re.MULTILINE | re.DOTALL)
}
BROKEN = {name: variant for name, variant in all_variants().items() if variant.breaks}


def test_each_broken_variant_has_its_witness_on_the_page() -> None:
    assert STORIES.keys() == BROKEN.keys()
    assert all(STORIES.values())


@cache
def told(name: str) -> tuple[Lines, set[str]]:
    """A witness as lines of a script, compared with the model step by step; and what it breaks."""
    plain = Plain(effects_of(BROKEN[name].model))
    lines, config = Lines(plain, f"{name} breaks {BROKEN[name].breaks}."), plain.start()
    for step in parse(plain, STORIES[name]):
        config = plain.after(config, step)[0]
        lines.take(step)
        assert lines.lab.world.store.contents() == plain.effects.known[config.contents].storages(), step_id(step)
    return lines, {fault.clause for fault in plain.faults(config)}


@pytest.mark.parametrize("name", BROKEN)
def test_a_witness_leads_the_cluster_to_the_same_pairs_and_the_same_violation(name: str) -> None:
    lines, broken = told(name)
    assert broken, "the last step breaks something"
    assert broken <= {*BROKEN[name].breaks.split(), "lost write", "read twice", "refused writes", "unreadable value"}
    assert {clause for clause in broken if clause.startswith("C")} <= lines.clauses()


@pytest.mark.parametrize("name", BROKEN)
def test_it_is_a_golden_script_that_shows_the_same_violation(name: str) -> None:
    """As it is exported: run anew it says what it said, and its last block names the clauses."""
    lines, broken = told(name)
    played = golden.play(lines.text)
    assert played.is_same, list(played.differences())
    found = set(re.findall(r"\bC\d\b", " ".join(played.outcomes[-1].output)))
    assert {clause for clause in broken if clause.startswith("C")} <= found
