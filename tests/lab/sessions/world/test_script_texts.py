"""Whatever the lab's cluster says in a session has a text: refusals, what came of steps, acts of the plan."""

import copy
import pickle
import random
from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace

import pytest

from catalog.text.message import Text
from catalog.text.sentence import Sentence
from lab.cluster.database import LOST, SILENT, cannot
from lab.cluster.lines import words_of
from lab.scripts.commands_of import Lab, Refusal, perform
from lab.sessions.replay import new_session, show
from lab.sessions.setups import SETUPS
from lab.sessions.world.script_texts import heard_text, text_of
from lab.sessions.world.setups import WORLD_SETUPS
from tests.rounds import rounds

STEPS = 14


@rounds(few=2, many=40)
@pytest.mark.parametrize("setup", WORLD_SETUPS)
def test_whatever_is_said_in_a_session_has_a_text(setup: str, rounds: int) -> None:
    chance = random.Random(setup)
    rules = [rule.id for rule in SETUPS[setup].may_leave_out]
    for _ in range(rounds):
        session = new_session(setup, left_out=frozenset(chance.sample(rules, chance.randint(0, len(rules)))))
        for _ in range(STEPS):
            shown = show(session, single_steps=True)
            assert [text for text in texts_in(shown) if text.template == "{why}"] == []
            may = [offer for offer in shown.offers if not offer.why_not and not offer.changes_nothing]
            if not may:
                break
            session = replace(session, steps=(*session.steps, *chance.choice(may).takes))


def texts_in(value: object) -> Iterator[Text]:
    """All texts in a value, and those in them."""
    if isinstance(value, Text):
        yield value
        for one in value.values.values():
            yield from texts_in(one)
    elif is_dataclass(value):
        for field in fields(value):
            yield from texts_in(getattr(value, field.name))
    elif isinstance(value, tuple):
        for one in value:
            yield from texts_in(one)


def said(*lines: str) -> str:
    """The output of lines of a script, the last one refused perhaps, as a page words it."""
    lab = Lab()
    *before, last = lines
    for line in before:
        perform(lab, line)
    try:
        return str(heard_text(perform(lab, last)))
    except Refusal as refusal:
        return str(text_of(words_of(refusal)))


ROW = ("table t (id bigint primary key, a bigint)", "n1: insert t (1, 1)")


def test_what_a_statement_writes_stands_behind_it() -> None:
    assert said(*ROW[:1], "n1: take t", "n1: insert t (1, 1)") == "n1, as v1: + row 1, + a = 1 of row 1"
    assert said(*ROW, "n1: delete t (1)") == "n1, as v1: - row 1, - a of row 1"


def test_the_entry_of_a_row_under_fill_leaves_a_tombstone() -> None:
    index = ("create index by_a on t (a)", "step 4", "n1: delete t (1)")
    assert "a tombstone for the entry 1 of row 1" in said(*ROW, *index)


@pytest.mark.parametrize(
    ("lines", "text"),
    [
        (("n1: insert t (1, 2)",), "row 1 exists already"),
        (("n1: begin", "n1: begin"), "n1 is in a transaction already"),
        (("n1: freeze", "n1: select t"), "n1 is frozen"),
        (("n1: cut off", "tick 40 s"), "n1 cannot renew its lease: the database does not answer it"),
        (("n1: begin", "n1: select t", "publish t", "publish t"), "v3 cannot be"),
        (("nobody has thought of this",), "'nobody has thought of this' is no command"),
    ],
)
def test_refusals_and_reasons(lines: tuple[str, ...], text: str) -> None:
    assert text in said(*ROW, *lines)


@pytest.mark.parametrize("act", ["lease", "renew", "release"])
@pytest.mark.parametrize("why", [LOST, SILENT])
def test_what_a_node_cannot_do_has_a_text_with_its_reason(act: str, why: Sentence) -> None:
    text = heard_text([Sentence("{node}: {why}", node="n1", why=cannot(act, why))])
    assert [one for one in texts_in(text) if one.template == "{why}"] == []


def test_a_sentence_is_the_same_after_a_copy() -> None:
    sentence = Sentence("{node}: {why}", node="n1", why=cannot("renew", LOST))
    for same in (copy.deepcopy(sentence), pickle.loads(pickle.dumps(sentence))):  # noqa: S301 - our own bytes
        assert (same, same.template, dict(same.values)) == (sentence, sentence.template, dict(sentence.values))
