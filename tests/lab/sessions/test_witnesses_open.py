"""Every witness of a built-in model opens as a session and ends in its fault; readers find what the clauses say."""

import json
import random

import pytest

from lab.explorer.spaces.config import step_id
from lab.explorer.variants import all_variants
from lab.sessions.model.session import machine_of
from lab.sessions.model.setups import MODEL_SETUPS, model_of
from lab.sessions.replay import show
from lab.sessions.session import Session, decode, encode
from lab.sessions.severity import CLAUSES
from lab.sessions.short_steps import in_full
from lab.sessions.shown import SessionView, Severity
from tests.lab.explorer.test_witnesses import BROKEN, STORIES
from tests.lab.sessions.plays import verdicts

SAMPLE = sorted(BROKEN)[::7]


def opened(name: str) -> None:
    session = Session("variant", {"name": name}, steps=tuple(STORIES[name]))
    shown = show(decode(encode(session, 0)).session)
    assert shown.refused is None, shown.refused
    broken = {verdict.clause for verdict in shown.verdicts}
    assert broken & set(BROKEN[name].breaks.split()) or broken & {
        "lost write",
        "read twice",
        "refused writes",
        "unreadable value",
    }
    assert broken <= set(CLAUSES)
    untranslated = [str(verdict.why) for verdict in shown.verdicts if verdict.why.template == "{why}"]
    assert untranslated == []
    assert shown.trace[-1].severity is not Severity.HOLDS


@pytest.mark.parametrize("name", SAMPLE)
def test_a_witness_opens_and_ends_in_its_fault(name: str) -> None:
    opened(name)


@pytest.mark.soak
@pytest.mark.parametrize("name", sorted(BROKEN))
def test_every_witness_opens_and_ends_in_its_fault(name: str) -> None:
    opened(name)


def test_a_model_of_its_own_is_a_session_too() -> None:
    variant = all_variants()["index-in-one-step"]
    session = Session("model", {"model": json.dumps(variant.model.to_json())}, steps=tuple(STORIES[variant.name]))
    assert verdicts(show(session)) == verdicts(show(Session("variant", {"name": variant.name}, steps=session.steps)))


def wandered(setup: str, left_out: frozenset[str], seed: int) -> SessionView:
    """A session after random steps of the explorer."""
    session = Session(setup, {}, left_out)
    machine = machine_of(*model_of(MODEL_SETUPS[setup], session))
    config, steps, chance = machine.first, [], random.Random(seed)
    for _ in range(30):
        step, config, _ = chance.choice(list(machine.plain.steps(config)))
        steps.append(step_id(step))
    return show(Session(setup, {}, left_out, tuple(steps)))


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize(
    ("setup", "left_out"),
    [
        ("one-jump", frozenset()),
        ("delete-only", frozenset({"skipped"})),
        ("write-only", frozenset({"blind"})),
        ("full-ladder", frozenset({"two-versions", "skipped"})),
        ("unique-index", frozenset({"early", "unverified"})),
    ],
)
def test_readers_differ_exactly_where_a_public_index_breaks_c4_or_c5(
    setup: str, left_out: frozenset[str], seed: int
) -> None:
    """The probe reads as a node does; the clauses judge all pairs: they agree on every version that reads the index."""
    shown = wandered(setup, left_out, seed)
    public = {v.number for v in shown.cluster.versions if v.is_in_force and v.elements[0].state == "public"}
    differs = {one.version for one in shown.probe if one.differs}
    broken = {verdict.version for verdict in shown.verdicts if verdict.clause in ("C4", "C5")}
    assert differs == broken & public


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize(
    ("setup", "left_out"),
    [("one-jump", frozenset()), ("write-only", frozenset({"blind"})), ("unique-index", frozenset({"unverified"}))],
)
def test_an_entry_is_drawn_as_an_orphan_exactly_where_c5_is_broken(
    setup: str, left_out: frozenset[str], seed: int
) -> None:
    """Whether its row is gone or has another value. A version that does not know the index judges no entry."""
    shown = wandered(setup, left_out, seed)
    orphans = [pair for pair in shown.cluster.pairs if pair.dangles]
    newest = max(one.number for one in shown.cluster.versions)
    assert bool(orphans) == any((one.clause, one.version) == ("C5", newest) for one in shown.verdicts)


def test_an_orphan_that_no_query_reads_yet_says_when_queries_meet_it() -> None:
    steps = ("publish.2", "n2.acquire", "n2.insert.1.1", "n1.delete.1")
    for setup, later in (("write-only", True), ("one-jump", False)):
        shown = show(Session(setup, steps=in_full(steps)))
        why = next(str(one.why) for one in shown.verdicts if one.clause == "C5")
        assert why.startswith("by_a has an entry for row 1, which does not exist")
        assert why.endswith(". No step removes it, so queries meet it once by_a is public") == later


@pytest.mark.parametrize("name", ["foreign-key-unchecked-by-parent", "self-reference-unchecked-as-parent"])
def test_a_value_that_refers_to_nothing_dangles(name: str) -> None:
    shown = show(Session("variant", {"name": name}, steps=tuple(STORIES[name])))
    dangling = [(pair.sort, pair.key) for pair in shown.cluster.pairs if pair.dangles]
    assert dangling == [("value", "a")]
    assert "C6" in {verdict.clause for verdict in shown.verdicts}


def test_rows_of_both_tables_are_named_as_sentences_name_them() -> None:
    shown = show(Session("variant", {"name": "add-foreign-key"}, steps=("given.-.2.2.-",)))
    named = [(pair.table, pair.sort, pair.row, pair.value) for pair in shown.cluster.pairs]
    assert named == [("child", "row", "1", ""), ("child", "value", "1", "2"), ("parent", "row", "2", "")]
