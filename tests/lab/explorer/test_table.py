"""The page of verdicts says what the explorer answers, and the story of a counterexample reads well."""

from pathlib import Path

import pytest

from lab.explorer.contents.effects import Effects
from lab.explorer.narration import narrate
from lab.explorer.rules_left_out import Broken
from lab.explorer.spaces.full_space import Plain
from lab.explorer.variants import all_variants
from lab.explorer.variants_page import row, story
from lab.explorer.verdict import Verdict, explore
from tests.lab.explorer.models import answer_to, model
from tests.rounds import some_of

PAGE = (Path(__file__).parents[3] / "docs/reference/safe-sequences.md").read_text(encoding="utf-8")
SLOW = {
    "add-unique-index",
    "no-fence-add",
    "no-fence-drop",
    "reshard-by-value",
    "reshard-by-key",
    "add-index-4-operations",
}
"""Left to `make prove`, which writes the whole page again and compares."""

RARE = {
    "add-required-column-and-foreign-key",
    "drop-required-column-and-foreign-key",
    "foreign-key-before-required-column",
    "foreign-key-no-fence",
    "add-required-column-and-index",
    "drop-column-and-foreign-key",
    "add-column-and-foreign-key",
    "foreign-key-public-in-child-first",
    "foreign-key-before-its-column",
    "add-two-indexes",
    "exchange-two-indexes",
    "change-type",
}
"""Left to `make soak`: seconds each."""

NAMES = [name for name in all_variants() if name not in SLOW]
RARE_ONES = [pytest.param(name, marks=pytest.mark.soak) for name in sorted(RARE)]


@pytest.mark.parametrize("name", [*some_of((name for name in NAMES if name not in RARE), 3), *RARE_ONES])
def test_the_page_says_what_the_explorer_answers(name: str) -> None:
    variant = all_variants()[name]
    answer = answer_to(name)
    assert answer.verdict is (Verdict.VIOLATED if variant.breaks else Verdict.PROVED)
    assert all(answer.sometimes.values()), answer.sometimes
    assert row(variant, answer) in PAGE
    assert answer.verdict is Verdict.PROVED or story(variant, answer) in PAGE


@pytest.mark.parametrize("name", sorted(SLOW))
def test_the_page_has_the_slow_ones_too(name: str) -> None:
    verdict = Verdict.VIOLATED if all_variants()[name].breaks else Verdict.PROVED
    lines = [line for line in PAGE.splitlines() if line.startswith(f"| {name} ")]
    assert [f"| {verdict.value} |" in line for line in lines] == [True]


def test_a_counterexample_is_given_in_sentences() -> None:
    broken = model(rows=1, ranges=1, broken=frozenset({Broken.BLIND}))
    answer = explore(broken)
    assert answer.sentences[-6:] == [
        "the fill reads row 1: the entry 1 of row 1 is to be put",
        "n1 begins a transaction as v3: by_a is write-only, filling",
        "n1 reads row 1",
        "n1 updates row 1 to a = 2",
        "n1 commits as v3: ~ a = 2 of row 1, a tombstone where the entry 1 of row 1 might be, + the entry 2 of row 1",
        "the fill puts row 1: + the entry 1 of row 1",
    ]


def test_a_node_that_does_not_know_an_index_leaves_its_entry() -> None:
    broken = model(states="public,absent", rows=1, ranges=1, pair=True)
    plain = Plain(Effects(broken))
    steps = [
        ("n1", "begin"),
        ("n1", "read", 1),
        ("n1", "write", ("insert", 1, 1)),
        ("n1", "commit"),
        ("n2", "acquire"),
        ("n2", "begin"),
        ("n2", "read", 1),
        ("n2", "write", ("delete", 1, 0)),
        ("n2", "commit"),
    ]
    assert str(narrate(plain, steps)[-1]) == (
        "n2 commits as v2: - row 1, - a = 1 of row 1; under v2 by_a is absent: the entry 1 of row 1 stays"
    )
