"""Every sentence of a fault has a text, by which a page says it in its reader's language."""

import ast
from collections.abc import Iterator

import pytest

from catalog.text.sentence import Sentence
from lab.sessions.model.fault_texts import TEXTS, TOMBSTONE, fault_text
from tests.docs.places import ROOT

MODULES = (
    "storage/integrity/clauses.py",
    "storage/integrity/offenders.py",
    "storage/integrity/constraints.py",
    "lab/explorer/contents/judgement.py",
    "lab/explorer/contents/foreign_keys.py",
    "lab/explorer/contents/numbered.py",
    "lab/cluster/acknowledged.py",
)
IN_OTHERS = frozenset({
    TOMBSTONE,
    "{words}",
    "{row} with {values}",
    "{offender} {why}",
    "({columns}) = ({values})",
    "index {index}",
    "{constraint} does not hold, and {column} is {state}",
})  # fmt: skip
"""Sentences that stand in others."""
OF_A_RUN = frozenset({"has NULL in {column}, which constraint {constraint} forbids"})
"""The lab's tables have no such constraint."""


def templates(module: str) -> Iterator[str]:
    for node in ast.walk(ast.parse((ROOT / module).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and "{" in node.value:
            yield node.value


@pytest.mark.parametrize("module", MODULES)
def test_every_fault_has_a_text(module: str) -> None:
    assert {one for one in templates(module) if "\n" not in one} - TEXTS.keys() - IN_OTHERS - OF_A_RUN == set()


def test_values_of_sentences_in_a_fault_are_its_own() -> None:
    row, values = (
        Sentence("{words}", words="row id = 7", key="7"),
        Sentence("({columns}) = ({values})", columns="a", values="12"),
    )
    offender = Sentence("{row} with {values}", row=row, values=values)
    why = Sentence(
        "{offender} {why}", offender=offender, why=Sentence("breaks constraint {constraint}", constraint="c")
    )
    assert why == "row id = 7 with (a) = (12) breaks constraint c"
    assert str(fault_text(why)) == "row 7 with a = 2 breaks c"
    assert str(fault_text("somebody's own words")) == "somebody's own words"
