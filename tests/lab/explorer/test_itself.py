"""A table that refers to itself: what a row owes from both ends, and the race of both."""

import pytest

from lab.explorer.contents.foreign_keys import effects_of
from lab.explorer.contents.self_references import SelfEffects
from lab.explorer.contents.statements import DELETE, INSERT, MOVE, NO_VALUE, UPDATE, Statement
from lab.explorer.model import BadModel
from lab.explorer.rules_left_out import Broken
from lab.explorer.spaces.full_space import Plain
from lab.explorer.spaces.search import search
from lab.explorer.verdict import Verdict, explore
from tests.lab.explorer.models import model

BOTH = "write-only,public"
SMALL = {"ranges": 1, "pair": True}


def taken(statements: list[Statement], states: str = BOTH) -> list[bool]:
    """Which of these statements of the newest version, one after the other, are taken."""
    effects = effects_of(model("self-reference", states, moves=True, **SMALL))
    assert isinstance(effects, SelfEffects)
    contents, found = effects.first_contents()[0], []
    for statement in statements:
        effect = effects.effect(contents, (effects.program.stops[0].schemas[1],), statement)
        found.append(effect is not None)
        contents = contents if effect is None else effect.after
    return found


@pytest.mark.parametrize(
    ("before", "statement", "is_taken"),
    [
        pytest.param([], (INSERT, 1, 2), False, id="refers to nothing"),
        pytest.param([], (INSERT, 1, 1), True, id="refers to itself"),
        pytest.param([(INSERT, 1, 1)], (DELETE, 1, 0), True, id="what refers to itself may go"),
        pytest.param([(INSERT, 1, 1)], (MOVE, 1, 2), False, id="its new key is not what it refers to"),
        pytest.param([(INSERT, 1, 0), (INSERT, 2, 1)], (DELETE, 1, 0), False, id="another one refers to it"),
        pytest.param([(INSERT, 1, 0), (INSERT, 2, 1)], (DELETE, 2, 0), True, id="nobody refers to it"),
        pytest.param([(INSERT, 1, 0)], (MOVE, 1, 2), True, id="a key that nobody refers to"),
        pytest.param([(INSERT, 1, 0)], (UPDATE, 1, 2), False, id="refers to nothing from now on"),
        pytest.param([(INSERT, 1, 0)], (UPDATE, 1, 1), True, id="refers to itself from now on"),
        pytest.param([], (INSERT, 1, NO_VALUE), False, id="the column is always public"),
    ],
)
def test_what_a_row_demands_from_both_ends(before: list[Statement], statement: Statement, is_taken: bool) -> None:
    assert taken([*before, statement]) == [True] * len(before) + [is_taken]


def test_nobody_asks_where_the_foreign_key_is_absent() -> None:
    assert taken([(INSERT, 1, 2), (MOVE, 1, 2), (DELETE, 2, 0)], "absent,write-only") == [True, True, True]


@pytest.mark.soak
def test_a_row_and_the_removal_of_what_it_refers_to_conflict() -> None:
    """In the plain space reading and writing are steps of their own: what is looked up is read (T1)."""
    guarded = model("self-reference", BOTH, **SMALL)
    assert search(Plain(effects_of(guarded), fused=True)).faults == ()
    unguarded = model("self-reference", BOTH, broken=frozenset({Broken.SNAPSHOT}), **SMALL)
    assert explore(unguarded).clauses == ("C6",)


def test_three_rows_are_alike() -> None:
    """A cycle of three rows has no symmetry that swaps two of them; the renamings keep it one."""
    answer = explore(model("self-reference", "absent,write-only,public", rows=3, values=3, ranges=1, cancels=True))
    assert (answer.verdict, all(answer.sometimes.values())) == (Verdict.PROVED, True)


def test_the_story_names_rows_as_values() -> None:
    answer = explore(model("self-reference", "absent,public"))
    assert answer.sentences == ["at first there is row 1 (a = 2)", "v2 is published: t_a_fkey is public"]


@pytest.mark.parametrize(
    ("options", "why"),
    [({"rows": 3}, "2 values and 3 rows: rows refer to rows"), ({"check": True}, "moves alone: --kind self-reference")],
)
def test_a_model_that_cannot_refer_to_itself(options: dict[str, int], why: str) -> None:
    with pytest.raises(BadModel, match=why):
        model("self-reference", "absent,public", **options)
