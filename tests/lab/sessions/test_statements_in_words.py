"""The sentence of a statement says what became of the element's pairs: in random sessions it is never wrong."""

from dataclasses import replace

import pytest

from catalog.text.message import Text
from lab.sessions.model.setups import MODEL_SETUPS
from lab.sessions.random_step import random_step
from lab.sessions.replay import new_session, show
from lab.sessions.shown import Difference, Pair, SessionView
from tests.lab.sessions.plays import play

WALKS, STEPS = 4, 60
STAYS, NONE = "so the {what} stays", "There was no {what} of row"
PUTS_NONE, AGAIN = "puts no", "held the same one"
SORTS = {"entry": "entry", "value": "value", "copy": "row"}
SETUPS = sorted(MODEL_SETUPS.keys() - {"model", "variant"})


def stored(shown: SessionView, what: str, row: str = "") -> set[str]:
    """The live pairs that a sentence may mean, by their ids: those of a row, or all."""

    def is_meant(pair: Pair) -> bool:
        is_live = pair.difference is not Difference.REMOVED and not pair.is_tombstone
        return is_live and pair.sort == SORTS[what] and row in ("", pair.row) and (what != "copy" or pair.is_new)

    return {pair.id for pair in shown.cluster.pairs if is_meant(pair)}


def is_true(said: Text, row: str, before: SessionView, after: SessionView) -> bool:
    template, what = said.template, said.values["what"].template  # type: ignore[union-attr]
    was, now = stored(before, what), stored(after, what)
    kept = stored(before, what, row) & stored(after, what, row)
    if STAYS in template:
        return bool(kept) and was == now
    if NONE in template:
        return not stored(before, what, row) and was == now
    if PUTS_NONE in template:
        return not now - was
    if AGAIN in template:
        return bool(kept)
    if "removes" in template:
        return bool(was - now)
    return bool(now - was) or "replaces" in template


def walked(setup: str, seed: int) -> tuple[int, list[str]]:
    """The number of sentences that a random session says of pairs, and those that are false."""
    session, said, false = new_session(setup), 0, list[str]()
    shown = show(session, single_steps=True)
    for _ in range(STEPS):
        offer = random_step(shown, seed)
        if offer is None:
            break
        session = replace(session, steps=(*session.steps, *offer.takes))
        before, shown = shown, show(session, single_steps=True)
        statement = shown.trace[-1].statement
        so = statement.values.get("so")
        if isinstance(so, Text):
            said += 1
            did = statement.values["did"]
            row = str(did.values["row"])  # type: ignore[union-attr]
            if not is_true(so, row, before, shown):
                false.append(f"{'/'.join(session.steps)}: {statement}")
    return said, false


@pytest.mark.parametrize("setup", SETUPS)
def test_no_sentence_of_a_random_session_is_false(setup: str) -> None:
    walks = [walked(setup, seed) for seed in range(WALKS)]
    assert [one for _, false in walks for one in false] == []


def test_the_walks_hear_sentences() -> None:
    assert walked("one-jump", 0)[0]


def test_without_an_entry_none_stays() -> None:
    """A reader's order in chapter 1: the row is inserted and deleted by a node that does not know the index."""
    _, shown = play("one-jump", "n1.insert.1.1", "n1.delete.1.0")
    said = shown.trace[-1].statement
    assert str(said) == "n1 deletes row 1. It does not know by_a. There was no entry of row 1."
