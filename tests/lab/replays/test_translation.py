"""A trace as actions on live nodes: transactions that are pinned, nodes that lag, and what cannot be carried out."""

from dataclasses import replace

import pytest

from catalog.elements import State
from lab.replays import actions
from lab.replays.actions import PUBLIC, ROLLED_BACK
from lab.replays.comparison import Comparison, compared, faults_at_end
from lab.replays.feats import FEATS
from lab.replays.trace import NotReplayable
from lab.replays.translation import on_sandbox, translated
from lab.sessions.model.setups import MODEL_SETUPS
from lab.sessions.session import Session
from tests.changes.tables import users

MISSING = ("publish.2", "n2.acquire", *(f"n1.{step}" for step in ("begin", "read.1", "write.insert.1.1", "commit")))
INSERTED = ("publish.2", "n2.acquire", *(f"n2.{step}" for step in ("begin", "read.1", "write.insert.1.1", "commit")))
ORPHAN = (*INSERTED, *(f"n1.{step}" for step in ("begin", "read.1", "write.delete.1.0", "commit")))


def session(setup: str, *steps: str, **parameters: object) -> Session:
    return Session(setup, parameters, frozenset(), tuple(steps))  # type: ignore[arg-type]


def words(one: Session) -> list[str]:
    return [str(narrated.text) for narrated in translated(one).actions]


def why_not(one: Session) -> str:
    with pytest.raises(NotReplayable) as refused:
        translated(one)
    return str(refused.value)


def test_the_missing_entry_is_a_pinned_transaction() -> None:
    """Its snapshot is older than in the model, and nobody has written its row."""
    script = translated(session("one-jump", *MISSING))
    assert not script.lags
    assert words(session("one-jump", *MISSING)) == [
        "n1 begins a transaction under v1, and keeps it open",
        "v2 is published, and nobody is waited for",
        "n1: INSERT INTO t VALUES (1, 1)",
        "n1 commits",
    ]
    begin, publish, run, end = [narrated.action for narrated in script.actions]
    assert (begin, run, end) == (
        actions.Begin(1, "n1", 1),
        actions.Run(1, "INSERT INTO t VALUES (1, 1)"),
        actions.End(1, commits=True),
    )
    assert isinstance(publish, actions.Publish)
    assert [index.state for index in publish.table.indexes] == [State.PUBLIC]


def test_the_orphan_needs_a_node_that_lags() -> None:
    """It deletes what was written under v2, which a transaction of before would not see."""
    assert translated(session("one-jump", *ORPHAN)).lags
    assert words(session("one-jump", *ORPHAN)) == [
        "n1 leases v1",
        "from now on news of the table is withheld from n1",
        "v2 is published, and nobody is waited for",
        "n2 comes to use v2",
        "n2 begins a transaction under v2",
        "n2: INSERT INTO t VALUES (1, 1)",
        "n2 commits",
        "n1 begins a transaction under v1",
        "n1: DELETE FROM t WHERE id = 1",
        "n1 commits",
    ]


def test_first_rows_are_inserted_first() -> None:
    first = translated(session("one-jump", *MISSING[:2], rows=[2])).actions[0]
    assert first.action == actions.Given(((1, 2),))


def test_a_transaction_that_begins_before_a_publish_needs_neither() -> None:
    script = translated(session("one-jump", "n1.begin", "n1.read.1", "publish.2", "n1.write.insert.1.1", "n1.commit"))
    kinds = [type(narrated.action).__name__ for narrated in script.actions]
    assert kinds == ["Use", "Begin", "Publish", "Run", "End"]
    assert not script.lags


# --- what cannot be carried out


FILL = MODEL_SETUPS["fill"].begins
FILLED = (*FILL, "fill.read.1.1", "fill.put.1.1", "close", "publish.4")


def test_a_fill_that_puts_pairs_is_one_real_change() -> None:
    """A transaction under the version before the newest keeps it where the trace has statements."""
    script = translated(session("fill", *FILLED))
    assert script.ends == PUBLIC
    kinds = [type(narrated.action).__name__ for narrated in script.actions]
    assert kinds == ["Given", "Use", "Begin", "Submit", "Await", "Use", "Begin", "End", "Await", "End", "Finish"]
    held = [narrated.action for narrated in script.actions if isinstance(narrated.action, actions.Begin | actions.End)]
    assert held == [
        actions.Begin(1, "n2", 1),
        actions.Begin(2, "n2", 2),
        actions.End(1, commits=False),
        actions.End(2, commits=False),
    ]


def test_rows_that_violate_a_unique_index_roll_it_back() -> None:
    assert translated(FEATS["violated"].replay).ends == ROLLED_BACK  # type: ignore[arg-type]
    assert translated(session("unique-index", *BEFORE_FILL, *TWO_FILLED, rows=[1, 2])).ends == PUBLIC


BEFORE_FILL = FILL[: FILL.index("drain.3") + 1]
TWO_FILLED = (
    *("clear", "fill.read.1.1", "fill.put.1.1", "fill.read.2.1", "fill.put.2.1", "close"),
    *("verify", "publish.4"),
)
UPDATED = tuple(f"n1.{step}" for step in ("begin", "read.1", "write.update.1.2", "commit"))


@pytest.mark.parametrize(
    ("one", "why"),
    [
        (
            session("fill", *FILLED[:-1]),
            "the trace ends before its change does, and a real one goes on to its end: play it on",
        ),
        (
            session("fill", *FILL, "fill.read.1.1", "fill.put.1.1", *UPDATED, "close", "publish.4"),
            "n1 writes while the fill is under way: no moment of a real fill can be chosen",
        ),
        (
            session("fill", *FILLED, *UPDATED),
            "n1 writes under an old version when the fill is over: it would hold it back",
        ),
        (
            replace(session("fill", *FILL, "fill.read.1.1", "fill.put.1.1"), left_out=frozenset({"blind"})),
            "it leaves out blind: no fill of the cluster is careless",
        ),
        (
            replace(session("fill", *FILLED), left_out=frozenset({"two-versions"})),
            "it leaves out two-versions: a change with a fill keeps every rule",
        ),
        (
            session(
                "write-only", "publish.2", "n1.acquire", "n2.acquire", "drain.2", "clear", *FILLED[-4:-1], rows=[1]
            ),
            "a real change takes the full ladder, and this trace fills on another one",
        ),
    ],
    ids=["unfinished", "beside the fill", "late", "careless", "past a rule", "another ladder"],
)
def test_what_no_real_change_does_is_said_by_name(one: Session, why: str) -> None:
    assert why_not(one) == why


def test_a_writer_of_an_old_version_begins_before_the_next_is_out() -> None:
    """It has to use that version, so it waits for the node to hear of it."""
    shown = words(FEATS["correct-run"].replay)  # type: ignore[arg-type]
    at = shown.index("n1 begins a transaction under v2, and keeps it open")
    assert shown[at - 2 : at] == ["it publishes v2, by the rules", "n1 comes to use v2"]
    assert shown[-4:] == [
        "n2 comes to use v4",
        "n2 begins a transaction under v4",
        "n2: UPDATE t SET a = 1 WHERE id = 1",
        "n2 commits",
    ]


def test_a_fill_of_an_empty_table_is_nothing_to_do() -> None:
    steps = list(MODEL_SETUPS["fill"].begins)
    script = translated(session("full-ladder", *steps, "fill.read.1.1", "fill.put.1.1", "close", "publish.4"))
    assert [narrated.action.version for narrated in script.actions if isinstance(narrated.action, actions.Publish)] == [
        2,
        3,
        4,
    ]


@pytest.mark.parametrize(
    ("one", "why"),
    [
        (session("one-jump", "n1.expire"), "n1 freezes until its lease runs out: others use the nodes, too"),
        (session("one-jump", "publish.7"), "step publish.7 is not possible: there is no such step here"),
        (session("required-column"), "a sandbox is a table t (id, a): only an index over a can be replayed on it"),
        (session("placement"), "a sandbox is a table t (id, a): only an index over a can be replayed on it"),
        (session("handbooks"), "this is a company with its handbooks: no node of the cluster reads any"),
    ],
    ids=["a freeze", "an impossible step", "a column", "a placement", "handbooks"],
)
def test_what_cannot_be_replayed_is_said_by_name(one: Session, why: str) -> None:
    assert why_not(one) == why


# --- on a sandbox


def test_versions_are_counted_on_from_the_sandbox() -> None:
    base = users()
    (_, publish, *_) = [narrated.action for narrated in translated(session("one-jump", *MISSING)).actions]
    assert isinstance(publish, actions.Publish)
    there = on_sandbox(publish.table, base, 2)
    assert (there.table_id, there.name, there.version) == (base.table_id, base.name, base.version + 2)
    (index,) = there.indexes
    assert index.name == f"by_a_{base.table_id}"
    assert there.next_index_id > index.id
    assert there.columns == base.columns


# --- side by side


@pytest.mark.parametrize(
    ("steps", "clauses"), [(MISSING, ("C4",)), (ORPHAN, ("C5",)), (INSERTED, ())], ids=["missing", "orphan", "neither"]
)
def test_verdicts_agree_on_what_both_can_say(steps: tuple[str, ...], clauses: tuple[str, ...]) -> None:
    """C3 under v1 is the model's alone: an audit judges the newest version."""
    found = [{"clause": clause} for clause in (*clauses, "C7")]
    assert compared(session("one-jump", *steps), found, judged_before=True) == Comparison(clauses, clauses)


def test_verdicts_that_differ_are_our_bug() -> None:
    result = compared(session("one-jump", *MISSING), [], judged_before=False)
    assert result.to_json() == {"model": ["C4"], "cluster": [], "agree": False}
    ends = compared(session("fill", *FILLED), [], judged_before=True, ends=(PUBLIC, ROLLED_BACK))
    assert (ends.agree, ends.to_json()["ends"]) == (False, {"model": PUBLIC, "cluster": ROLLED_BACK})
    faults, newest = faults_at_end(session("one-jump", *ORPHAN))
    assert newest == 2
    assert ("C3", 1) in {(fault.clause, fault.version) for fault in faults}
