"""Offers: everything the explorer would do is offered, a statement as one button, and what is refused says why."""

import random
from collections.abc import Iterator

import pytest

from lab.explorer.spaces.config import Config, step_id
from lab.explorer.spaces.full_space import Plain
from lab.sessions.grain import offers
from lab.sessions.model.session import Machine, machine_of
from lab.sessions.model.setups import MODEL_SETUPS, model_of
from lab.sessions.replay import show
from lab.sessions.session import Session, Value
from lab.sessions.shown import Offer
from tests.lab.explorer.models import foreign_key, model
from tests.lab.sessions.plays import play
from tests.rounds import some_of

MODELS = {
    **{name: model_of(setup, Session(name)) for name, setup in MODEL_SETUPS.items() if name != "model"},
    "two crashes": (model(crashes=2, rows=2, ranges=2), ()),
    "cancels, key changes, NULLs": (model("unique index", cancels=True, moves=True, nulls=True), ()),
    "foreign key": (foreign_key(moves=True), ()),
    "itself": (model("self reference", "absent,write-only,public"), ()),
    "no fence": (model(fence=False, rows=1, ranges=1), ()),
    "snapshot": (model(operations=3, rows=1, ranges=1), ()),
}
STEPS = 30
BOTH_ON_V3 = ("publish.2", "n1.acquire", "n2.acquire", "publish.3", "n1.acquire", "n2.acquire")


def wander(machine: Machine, seed: int) -> Iterator[Config]:
    """States along a random walk."""
    config, chance = machine.first, random.Random(seed)
    for _ in range(STEPS):
        yield config
        after = [after for _, after, _ in machine.plain.steps(config)]
        if not after:
            return
        config = chance.choice(after)


@pytest.mark.parametrize("name", MODELS)
def test_every_step_of_the_explorer_is_offered(name: str) -> None:
    machine = machine_of(*MODELS[name])
    for config in wander(machine, seed=1):
        enabled = {step_id(step) for step, _, _ in machine.plain.steps(config)}
        assert {offer.id for offer in offers(machine.plain, config, single_steps=True) if not offer.why_not} == enabled


@pytest.mark.parametrize("name", some_of(MODELS, 3))
def test_every_step_is_offered_by_statements_too(name: str) -> None:
    """But for those that begin a statement which nobody can end."""
    machine = machine_of(*MODELS[name])
    for config in wander(machine, seed=2):
        may = [offer for offer in offers(machine.plain, config, single_steps=False) if not offer.why_not]
        taken = {offer.takes[0] for offer in may}
        for step, after, _ in machine.plain.steps(config):
            assert step_id(step) in taken or ends_nowhere(machine.plain, after, step), step_id(step)
        for offer in may:
            follow(machine, config, offer)


def ends_nowhere(plain: Plain, after: Config, step: tuple[object, ...]) -> bool:
    """True if no statement can be written after this begin, or this read."""
    if step[1:2] not in (("begin",), ("read",)) or step[0] not in plain.names:
        return False
    following = [
        (one, then) for one, then, _ in plain.steps(after) if one[0] == step[0] and one[1] in ("read", "write")
    ]
    return all(one[1] == "read" and ends_nowhere(plain, then, one) for one, then in following)


def follow(machine: Machine, config: Config, offer: Offer) -> None:
    """The steps of an offer that may be taken are steps of the explorer, one after the other."""
    for name in offer.takes:
        [config] = [after for step, after, _ in machine.plain.steps(config) if step_id(step) == name]


@pytest.mark.parametrize("single_steps", [False, True])
@pytest.mark.parametrize("name", MODELS)
def test_each_offer_has_a_name_of_its_own_and_says_what_it_is_or_why_not(name: str, single_steps: bool) -> None:
    machine = machine_of(*MODELS[name])
    for config in wander(machine, seed=3):
        found = offers(machine.plain, config, single_steps=single_steps)
        assert len({offer.id for offer in found}) == len(found)
        assert all(str(offer.label) and "{" not in str(offer.label) for offer in found)
        assert not any(offer.rule and not offer.why_not for offer in found)
        assert not any(offer.is_statement for offer in found if single_steps)


ROW = "n1.insert.1.1"
DOWN = "public,write-only,delete-only,absent"


@pytest.mark.parametrize(
    ("taken", "of", "says", "rule"),
    [
        pytest.param(("publish.2",), "publish.3", "n1 still leases v1, n2 still leases v1", "L7", id="L7"),
        pytest.param(BOTH_ON_V3[:5], "drain.3", "n2 still leases v2", "L9", id="L9"),
        pytest.param(("n1.expire",), ROW, "n1 has no live lease", "L1", id="L1"),
        pytest.param((), "n1.update.1.1", "there is no row 1", "", id="no row"),
        pytest.param((ROW,), "n1.insert.1.2", "row 1 exists already", "", id="a row"),
        pytest.param((ROW,), "n1.update.1.1", "the row has that value already", "", id="the same value"),
        pytest.param((), "n1.acquire", "n1 leases version 1 already", "", id="the newest version"),
    ],
)
def test_a_refusal_says_why_and_by_which_rule(taken: tuple[str, ...], of: str, says: str, rule: str) -> None:
    assert refusal("full-ladder", *taken, of=of) == (says, rule)


@pytest.mark.parametrize(
    ("setup", "of", "says", "parameters"),
    [
        pytest.param("required-column", ROW, "column a is absent: no statement can name it", {}, id="absent"),
        pytest.param(
            "required-column",
            "n1.insert.1.-1",
            "it gives no value for column a, which this version has",
            {"states": DOWN},
            id="a value is needed",
        ),
        pytest.param(
            "unique-index",
            "n1.insert.2.1",
            "another row has that value in by_a",
            {"states": DOWN, "rows": [1, "-"]},
            id="unique",
        ),
    ],
)
def test_a_refused_statement_says_why(setup: str, of: str, says: str, parameters: dict[str, Value]) -> None:
    assert refusal(setup, of=of, **parameters) == (says, "")


PARENT_AND_CHILD = ("n1.insert-parent.1.1", ROW)


@pytest.mark.parametrize(
    ("name", "taken", "of", "says"),
    [
        pytest.param("drop-check", (), "n1.insert.1.2", "a_is_11 does not accept that value", id="CHECK"),
        pytest.param("drop-constraint", (), "n1.insert.1.0", "NOT NULL does not accept that value", id="NOT NULL"),
        pytest.param("drop-foreign-key", (), ROW, "the row that it refers to is not there", id="child"),
        pytest.param(
            "drop-foreign-key", PARENT_AND_CHILD, "n1.delete-parent.1.0", "another row refers to it", id="parent"
        ),
        pytest.param("add-self-reference", (ROW,), "n1.update.1.1", "the row has that value already", id="itself"),
        pytest.param(
            "drop-table",
            ("publish.2", "n1.acquire"),
            ROW,
            "the table is delete-only: no statement of a client can use it",
            id="a table that is dropped",
        ),
        pytest.param("add-index", (ROW, "n1.insert.2.1"), "n1.move.1.2", "the key 2 is taken", id="key"),
    ],
)
def test_a_refused_statement_of_any_model_says_why(name: str, taken: tuple[str, ...], of: str, says: str) -> None:
    assert refusal("variant", *taken, of=of, name=name) == (says, "")


def refusal(setup: str, *taken: str, of: str, **parameters: Value) -> tuple[str, str]:
    """Why an offer may not be taken after these, and the rule."""
    [offer] = [offer for offer in play(setup, *taken, **parameters)[1].offers if offer.id == of]
    return str(offer.why_not), offer.rule


def test_a_conflict_is_told_at_the_commit_it_prevents() -> None:
    _, shown = play("one-jump", "n1.begin", "n1.read.1", "n2.insert.1.1")
    refused = {offer.id: (str(offer.why_not), offer.rule) for offer in shown.offers if offer.actor == "n1"}
    assert refused["n1.insert.1.1"] == ("row 1 exists already", "")
    _, shown = play("one-jump", "n1.begin", "n1.read.1", "n1.write.insert.1.1", "n2.insert.1.1")
    [transaction] = shown.cluster.nodes[0].transactions
    assert str(transaction.did) == "has written: inserts row 1 with a = 1"
    assert str(transaction.why_not_commit)
    assert transaction.versions == {"t": 1}


def test_a_statement_that_was_begun_in_single_steps_goes_on_as_one() -> None:
    session, shown = play("one-jump", "n2.begin")
    [insert] = [offer for offer in shown.offers if offer.id == "n2.insert.1.1"]
    assert insert.takes == ("n2.read.1", "n2.write.insert.1.1", "n2.commit")
    [again] = [o for o in play("one-jump", "n2.begin", "n2.read.1")[1].offers if o.id == "n2.insert.1.1"]
    assert again.takes == ("n2.write.insert.1.1", "n2.commit")
    assert "n2.rollback" in {offer.id for offer in show(session).offers}


def test_steps_that_change_nothing_are_marked() -> None:
    _, shown = play("full-ladder", *BOTH_ON_V3)
    assert {offer.id for offer in shown.offers if offer.changes_nothing} == set()
    _, shown = play("fill", "n1.update.1.2")
    assert {offer.id for offer in shown.offers if offer.changes_nothing} == {"fill.1.1"}
    before = play(
        "full-ladder", *("publish.2", "n1.acquire", "n2.acquire", "publish.3", "n1.acquire", "n2.acquire", "drain.3")
    )
    assert {offer.id for offer in before[1].offers if offer.changes_nothing} == {"clear"}


def test_single_steps_are_what_the_set_up_says_unless_somebody_does() -> None:
    ladder, fill = Session("full-ladder"), play("fill")[0]
    assert any(offer.is_statement for offer in show(ladder).offers)
    assert not any(offer.is_statement for offer in show(ladder, single_steps=True).offers)
    assert not any(offer.is_statement for offer in show(fill).offers)
    assert any(offer.is_statement for offer in show(fill, single_steps=False).offers)
