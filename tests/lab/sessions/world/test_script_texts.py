"""Whatever the lab's cluster says in a session has a text: refusals, what came of steps, acts of the plan."""

import random
from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace

import pytest

from lab.sessions.replay import new_session, show
from lab.sessions.setups import SETUPS
from lab.sessions.world.script_texts import heard_text, refusal_text
from lab.sessions.world.setups import WORLD_SETUPS
from lab.texts import Text
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


def test_what_a_statement_writes_stands_behind_it() -> None:
    lines = ["n1: leased t@2", "n1: under t@2", "  - t (1)", "  - t (1) a", "  ~ by_a (1) -> (1)"]
    written = "- row 1, - a of row 1, a tombstone for the entry 1 of row 1"
    assert str(heard_text(lines)) == f"n1 leases v2; n1, as v2: {written}"


@pytest.mark.parametrize(
    ("why", "text"),
    [
        ("t@1 is below the fence: version 3 is the oldest accepted (40001)", "v1 is below the fence: v3 is the oldest"),
        ("the transaction was ended: it was past its deadline (40001)", "its transaction was ended: it was past its"),
        ("a transaction still runs on version 1", "a transaction still runs under v1"),
        ("nobody has thought of this", "nobody has thought of this"),
    ],
)
def test_refusals(why: str, text: str) -> None:
    assert str(refusal_text(why)).startswith(text)


@pytest.mark.parametrize("act", ["lease", "renew", "release"])
@pytest.mark.parametrize("why", ["the connection was lost", "the database does not answer"])
def test_what_a_node_cannot_do_has_a_text_with_its_reason(act: str, why: str) -> None:
    said = heard_text([f"n1: cannot {act}: {why}"])
    assert [text for text in texts_in(said) if text.template == "{why}"] == []
