"""Proved, violated, unknown: never confused, never vacuous, and the counts pinned."""

import re
from dataclasses import replace
from typing import Any

import pytest

from lab.explorer.contents.foreign_keys import effects_of
from lab.explorer.model import BadModel, Model, from_json
from lab.explorer.rules_left_out import Broken
from lab.explorer.spaces.config import Impossible, step_id
from lab.explorer.spaces.full_space import Plain
from lab.explorer.spaces.search import Budget
from lab.explorer.variant import DROP_INDEX, RESHARD
from lab.explorer.variants import all_variants
from lab.explorer.verdict import Verdict, explore
from lab.explorer.witness import replay
from tests.lab.explorer.models import ADD_INDEX, answer_to, foreign_key, model, stand, whys
from tests.rounds import some_of


def placement(**sizes: Any) -> Model:
    return model("placement", RESHARD, **sizes)


PINNED = [
    pytest.param(model(), 2230, id="small model, any number of operations"),
    pytest.param(model(operations=4), 6182, id="small model, 4 operations"),
    pytest.param(model(operations=4, nodes=3), 6323, id="standard model"),
    pytest.param(model(states=DROP_INDEX), 65, id="drop"),
    pytest.param(model("required column", moves=True), 735, id="required column, key changes"),
    pytest.param(model(partial=True, moves=True), 1053, id="partial index, key changes"),
    pytest.param(foreign_key(), 767, id="foreign key"),
    pytest.param(foreign_key(moves=True, nodes=3), 1407, id="foreign key, 3 nodes, key changes"),
    pytest.param(
        model("required column+foreign key", "--- d-- www PPP", ranges=1, crashes=0),
        2279,
        id="foreign key and its column",
    ),
    pytest.param(foreign_key(rows=3, values=1, ranges=1), 647, id="foreign key, 3 rows of a parent"),
    pytest.param(model(coordination="hash"), 2230, id="without leases"),
    pytest.param(model("placement", RESHARD, storages="2+3", by_value=False), 3232, id="one storage more"),
]


@pytest.mark.parametrize(("small", "states"), PINNED)
def test_a_safe_sequence_is_proved_and_the_proof_is_about_something(small: Model, states: int) -> None:
    answer = explore(small)
    assert (answer.verdict, answer.states) == (Verdict.PROVED, states)
    assert all(answer.sometimes.values()), answer.sometimes


def test_a_proof_about_nothing_says_so() -> None:
    answer = explore(model(rows=1, ranges=1, values=1, operations=0))
    assert answer.verdict is Verdict.PROVED
    assert not all(answer.sometimes.values())


@pytest.mark.parametrize(
    ("budget", "why"),
    [
        pytest.param(Budget(states=500), "it gave up after 632 states", id="states"),
        pytest.param(Budget(seconds=0.0), "it gave up after 0 s", id="seconds"),
    ],
)
def test_a_spent_budget_is_neither_proof_nor_counterexample(budget: Budget, why: str) -> None:
    answer = explore(model(), budget=budget)
    assert answer.verdict is Verdict.UNKNOWN
    assert why == str(answer.why)
    assert answer.steps == ()


def test_a_search_can_be_watched_and_stopped() -> None:
    heard = []

    def watch(progress: object) -> bool:
        heard.append(progress)
        return len(heard) < 3

    answer = explore(model(), watch=watch)
    assert (answer.verdict, len(heard)) == (Verdict.UNKNOWN, 3)
    assert "was stopped" in str(answer.why)


QUICK = [v for v in all_variants().values() if v.breaks and v.model.fence]


@pytest.mark.parametrize("name", some_of((v.name for v in QUICK), 3))
def test_a_counterexample_is_replayed_in_the_plain_space_and_nothing_of_it_can_go(name: str) -> None:
    variant = all_variants()[name]
    answer = answer_to(name)
    assert answer.verdict is Verdict.VIOLATED
    assert all(clause in variant.breaks for clause in answer.clauses)
    plain = Plain(effects_of(variant.model))
    assert plain.faults(replay(plain, answer.steps)[-1]) == answer.faults
    for at in range(len(answer.steps)):
        shorter = (*answer.steps[:at], *answer.steps[at + 1 :])
        try:
            faults = plain.faults(replay(plain, shorter)[-1])
        except Impossible:
            continue
        assert not {f.clause for f in faults} & set(answer.clauses), f"without {step_id(answer.steps[at])}"


def test_unsafe_pairs_break_what_the_protocol_says_over_both_directions() -> None:
    broken: dict[tuple[str, frozenset[str]], tuple[set[str], str]] = {}
    for variant in all_variants().values():
        is_rule_left_out = bool(variant.model.broken or variant.model.widths)
        if variant.model.pair and variant.breaks and not is_rule_left_out and len(variant.model.stages[0]) == 1:
            states = frozenset(stage[0].value for stage in variant.model.stages)
            seen, _ = broken.setdefault((variant.model.kind.value, states), (set(), variant.breaks))
            seen.update(answer_to(variant.name).clauses)
    assert len(broken) == 13
    assert {pair: " ".join(sorted(seen)) for pair, (seen, _) in broken.items()} == {
        pair: breaks for pair, (_, breaks) in broken.items()
    }


def test_a_model_survives_json_and_its_digest_distinguishes_it_from_others() -> None:
    held = model("required column", broken=frozenset({Broken.BLIND}), rows=3, fence=False)
    assert from_json(held.to_json()) == held
    assert held.digest != model("required column").digest


@pytest.mark.parametrize(
    ("make", "says"),
    [
        pytest.param(lambda: model(nodes=9), "nodes is 9; it must be 1 to 6", id="too many nodes"),
        pytest.param(lambda: model(states="absent"), "a model has at least two versions", id="one version"),
        pytest.param(lambda: model("table"), "a table is never write-only", id="undefined state"),
        pytest.param(lambda: model(states="absent,absent"), "stands twice in a row", id="no step"),
        pytest.param(lambda: model("placement"), "old+new", id="one placement only"),
        pytest.param(lambda: model("foreign key"), "child's+parent's", id="one table only"),
        pytest.param(lambda: model("table", "absent,delete-only", partial=True), "partial is for an index", id="where"),
        pytest.param(lambda: foreign_key(check=True), "a foreign key moves alone", id="two constraints"),
        pytest.param(lambda: model("index+foreign key"), "or with the column it is of", id="an index beside it"),
        pytest.param(lambda: model("optional column+foreign key"), "column+child's+parent's", id="three states"),
        pytest.param(
            lambda: foreign_key("absent+absent,delete-only+absent"), "a constraint is never delete-only", id="no state"
        ),
        pytest.param(lambda: model(states="absent,gone"), "unknown state 'gone'; states are: absent", id="unknown"),
        pytest.param(lambda: model(coordination="trust"), "there are: lease, hash, both", id="unknown coordination"),
        pytest.param(lambda: model(coordination="hash+lease"), "a table has one", id="two coordinations"),
        pytest.param(lambda: model(coordination="hash", fence=False), "it is the fence", id="neither"),
        pytest.param(lambda: model(coordination="hash", states="absent,public", pair=True), "begin with", id="pair"),
        pytest.param(lambda: model(storages="2+3"), "of an old and a new placement", id="storages of an index"),
        pytest.param(lambda: model("placement", "absent+absent,public+absent"), "the public one", id="no placement"),
        pytest.param(lambda: placement(storages="2"), "such as 2+3", id="storages of one placement"),
        pytest.param(lambda: placement(storages="2+99"), "it must be 1 to 16", id="too many storages"),
        pytest.param(lambda: placement(broken=frozenset({Broken.IN_PLACE})), "more or fewer", id="as many storages"),
        pytest.param(
            lambda: placement(storages="2+3", broken=frozenset({Broken.REMOVED_EARLY})), "none is removed", id="more"
        ),
        pytest.param(lambda: model("view"), "unknown kind 'view'; kinds are: table", id="unknown kind"),
    ],
)
def test_a_bad_model_is_refused_in_a_sentence(make, says: str) -> None:
    with pytest.raises(BadModel) as refused:
        make()
    assert says in str(refused.value)


@pytest.mark.parametrize(
    ("left_out", "why"),
    [
        ("kind", "a model has a kind, such as index"),
        ("road", 'a model has versions, by the name "road", such as ["absent", "delete-only", "public"]'),
    ],
)
def test_a_model_without_what_it_needs_is_refused_with_the_reason(left_out: str, why: str) -> None:
    body = {name: value for name, value in model().to_json().items() if name != left_out}
    with pytest.raises(BadModel) as refused:
        from_json(body)
    assert str(refused.value) == why


def test_a_model_that_is_coordinated_as_usual_has_the_json_it_had() -> None:
    """Links to models of before there was a choice go on meaning the same."""
    assert not {"coordination", "storages"} & model().to_json().keys()
    held = model("placement", RESHARD, storages="2+3", coordination="both")
    assert from_json(held.to_json()) == held


def test_without_leases_a_node_is_refused_and_loads_the_newest_version() -> None:
    why = whys(model(coordination="hash"), ["publish.2"])
    assert why["n1.begin"] == "version 1 is below the fence (2)"
    assert why["n1.expire"] == "n1 has no live lease"
    assert why["n1.acquire"] == why["publish.3"] == ""
    loaded = whys(model(coordination="hash"), ["publish.2", "n1.acquire"])
    assert (loaded["n1.acquire"], loaded["n1.begin"]) == ("n1 has v2 already", "")
    begun = whys(model(coordination="hash"), ["n1.begin", "publish.2"])
    assert begun["publish.3"] == "a transaction of v1 is still open"
    assert begun["n1.end"] == ""


def test_a_disabled_step_has_its_reason() -> None:
    why = whys(model(), ["publish.2", "n1.acquire"])
    assert why["publish.3"] == "n2 still leases v1"
    assert why["n1.acquire"] == "n1 leases version 2 already"
    assert why["n2.begin"] == ""


def test_an_open_transaction_holds_the_publisher_back_when_its_lease_is_over() -> None:
    why = whys(model(), ["n1.begin", "n1.expire", "publish.2", "n2.acquire"])
    assert why["publish.3"] == "a transaction of v1 is still open"
    assert why["n1.end"] == ""


def test_a_link_shows_its_longest_possible_part_and_says_what_failed() -> None:
    shown = stand(model(), ["publish.2", "publish.3", "n1.begin"])
    assert [(line.id, str(line.text)) for line in shown.trace] == [
        ("publish.2", "v2 is published: by_a is delete-only")
    ]
    assert shown.refused is not None
    assert (shown.refused.at, shown.refused.step) == (1, "publish.3")
    assert str(shown.refused.why) == "n1 still leases v1, n2 still leases v1"


def test_without_a_fence_a_frozen_node_breaks_the_change_and_with_it_does_not() -> None:
    frozen = model(states=ADD_INDEX, rows=1, ranges=1)
    assert explore(frozen).verdict is Verdict.PROVED
    broken = explore(model(rows=1, ranges=1, fence=False))
    assert broken.verdict is Verdict.VIOLATED
    assert ("n1", "expire") in broken.steps or ("n2", "expire") in broken.steps


def test_bounds_are_counted_in_words_that_every_page_can_say() -> None:
    models = [variant.model for variant in all_variants().values()]
    assert str(replace(models[0], rows=1, ranges=1, crashes=1).bounds).startswith("2 nodes, 1 row, 2 values")
    said = {part for model in models for part in str(model.bounds).split(", ")}
    assert not [part for part in said if re.match(r"1 \w+s$", part)]
