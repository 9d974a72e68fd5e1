"""Sessions on the lab's cluster: the traces of chapters 6, 7 and 12, and that no session sees another's cluster."""

import pytest

from lab.sessions.replay import new_session, show
from lab.sessions.session import BadSession, Session
from lab.sessions.shown import Difference, Node, SessionView, Severity
from lab.sessions.world import session as world_session
from lab.sessions.world.setups import SCENERY


def shown(setup: str, *steps: str, left_out: tuple[str, ...] = (), at: int | None = None) -> SessionView:
    return show(Session(setup, {}, frozenset(left_out), steps), at)


def node(position: SessionView, name: str) -> Node:
    return next(one for one in position.cluster.nodes if one.name == name)


def offer(position: SessionView, step: str) -> str:
    return str(next(one.why_not for one in position.offers if one.id == step))


def newest(position: SessionView) -> int:
    return position.cluster.versions[-1].number


# Chapter 6


def test_a_dead_node_holds_up_the_second_publish_until_its_lease_ends() -> None:
    waits = shown("leases", "n1: crash", "step", "step")
    assert newest(waits) == 2
    assert str(waits.trace[-1].text).endswith("the change waits: n1 still leases v1, for 18 s at most")
    assert newest(shown("leases", "n1: crash", "step", "tick 6 s", "tick 10 s", "step", "step")) == 2
    in_time = shown("leases", "n1: crash", "step", "tick 18 s", "step", "step")
    assert newest(in_time) == 3


def test_a_node_that_was_drained_first_holds_up_nothing() -> None:
    assert newest(shown("leases", "n1: drain", "n1: crash", "step", "step", "step")) == 3


def test_a_lease_shrinks_with_the_clock() -> None:
    begun, later = shown("leases"), shown("leases", "n1: crash", "tick 6 s")
    assert (begun.cluster.clock_s, later.cluster.clock_s) == (12.0, 18.0)
    assert [(lease.left_s, lease.length_s) for lease in node(begun, "n1").leases] == [(18.0, 30.0)]
    assert [lease.left_s for lease in node(later, "n1").leases] == [12.0]
    assert node(later, "n1").condition == "down"


# Chapter 7


def test_without_news_a_node_learns_of_a_version_as_it_renews() -> None:
    lost = shown("news", "lose news", "step", "tick 5 s")
    assert [lease.version for lease in node(lost, "n1").leases] == [1]
    renewed = shown("news", "lose news", "step", "tick 10 s")
    assert [lease.version for lease in node(renewed, "n1").leases] == [2]
    assert renewed.verdicts == ()


def test_messages_that_wait_are_shown_with_their_way() -> None:
    held = shown("news", "n1: hold", "step")
    assert [(one.sender, one.receiver, str(one.text)) for one in held.cluster.messages] == [
        ("catalog", "n1", "news of v2")
    ]
    asked = shown("news", "n1: hold", "step", "n1: deliver")
    assert [(one.sender, one.receiver, str(one.text)) for one in asked.cluster.messages] == [
        ("n1", "catalog", "asks for a lease")
    ]


# Chapter 12

TWO_VERSIONS_LATER = ("n1: freeze", "step", "tick 10 s", *("step",) * 8)


def test_a_frozen_node_that_thaws_cannot_commit() -> None:
    thawed = shown("frozen-node", *TWO_VERSIONS_LATER, "n1: thaw")
    assert newest(thawed) == 4
    assert "n1 is not running" in offer(thawed, "n1: commit")
    refused = shown("frozen-node", *TWO_VERSIONS_LATER, "n1: late commit")
    assert refused.refused is not None
    assert "past its deadline" in str(refused.refused.why)


def test_without_the_fence_its_row_is_found_by_the_table_and_not_by_the_index() -> None:
    after = shown("frozen-node", *TWO_VERSIONS_LATER, "n1: late commit", left_out=("fence",))
    assert after.refused is None
    assert ("C4", 4, Severity.DAMAGE) in {(one.clause, one.version, one.severity) for one in after.verdicts}
    assert [probe.version for probe in after.probe if probe.differs] == [4]
    assert [pair.sort for pair in after.cluster.pairs if pair.difference is Difference.ADDED] == ["row", "value"]
    assert all(pair.unseen_by == () for pair in after.cluster.pairs)
    assert [strip.cells[-1] for strip in after.strip if strip.clause == "C4"] == [Severity.DAMAGE]


@pytest.mark.parametrize("rule", ["lock", "entry", "deadline"])
def test_each_of_the_three_alone_is_missed_by_nobody(rule: str) -> None:
    """One of lock, entry and deadline left out: the other two still keep the old version out."""
    after = shown("frozen-node", *TWO_VERSIONS_LATER, "n1: late commit", left_out=(rule,))
    assert after.verdicts == ()


# Chapter 10

ASKED, SWAPPED = "n1: request insert t (id = 1, a = 1, b = 2)", "publish t swap a b"
SENT, DONE, RELOADED = "n1: send request", "n1: commit request", "n1: reload t"


def test_a_request_planned_with_an_old_schema_is_refused_loaded_anew_and_tried_once_more() -> None:
    refused = shown("router", ASKED, SWAPPED, SENT)
    assert "refuses request 1 before anything is written" in str(refused.trace[-1].text)
    assert refused.cluster.present == ()
    assert [str(one.text) for one in refused.cluster.messages] == [
        "request 1 waits for a version newer than v1",
        "asks which version is the newest",
    ]
    done = shown("router", ASKED, SWAPPED, SENT, RELOADED, SENT, DONE)
    assert (done.refused, done.verdicts) == (None, ())
    assert [(probe.version, probe.query, probe.by_table) for probe in done.probe] == [
        (2, "SELECT a, b FROM t WHERE id = 1", ("a = 1, b = 2",))
    ]
    assert [line.to for line in done.trace] == ["", "", "store", "versions", "store", "store"]


def test_who_joins_a_reload_needs_none_of_its_own() -> None:
    second = ASKED.replace("id = 1", "id = 2")
    joined = shown("router", ASKED, second, SWAPPED, SENT, SENT)
    assert str(joined.trace[-1].text).endswith("request 2 joins the reload that is under way")
    loaded = shown("router", ASKED, second, SWAPPED, SENT, SENT, RELOADED)
    assert [str(one.text) for one in loaded.cluster.messages] == [f"request {n}, planned with v2" for n in (1, 2)]


@pytest.mark.parametrize("steps", [(ASKED, SWAPPED, SENT, DONE), (SWAPPED, ASKED, SENT, DONE)])
def test_where_nobody_compares_versions_values_change_places_and_the_answer_is_done(steps: tuple[str, ...]) -> None:
    exchanged = shown("router", *steps, left_out=("entry",))
    assert {(one.clause, one.version, one.severity) for one in exchanged.verdicts} == {
        ("lost write", 2, Severity.DAMAGE)
    }
    assert exchanged.probe[-1].by_table == ("a = 2, b = 1",)


def test_a_row_that_was_done_before_its_columns_were_renamed_stays_right() -> None:
    assert shown("router", ASKED, SENT, DONE, SWAPPED, left_out=("entry",)).verdicts == ()
    assert shown("router", ASKED, SENT, SWAPPED, DONE).verdicts == ()


# All of them


@pytest.mark.parametrize("setup", SCENERY)
def test_a_palette_is_short_and_every_line_is_offered_or_refused_with_a_reason(setup: str) -> None:
    assert len(SCENERY[setup].palette) <= 25
    begun = show(new_session(setup), single_steps=True)
    assert [one.id for one in begun.offers] == [line.text for line in SCENERY[setup].palette]
    for one in begun.offers:
        after = shown(setup, one.id)
        assert (after.refused is None) == (not one.why_not), one


def test_going_back_keeps_the_steps_that_follow() -> None:
    back = shown("leases", "n1: crash", "step", "step", at=1)
    assert (back.at, len(back.trace), newest(back)) == (1, 3, 1)
    assert all(len(strip.cells) == 4 for strip in back.strip)


def test_one_session_does_not_see_what_another_did() -> None:
    before = shown("leases", "step")
    shown("leases", "step", "n2: insert t (1, 1)", "n1: crash")
    assert shown("leases", "step") == before


def test_a_line_that_is_not_of_the_palette_is_no_step() -> None:
    """The language can do more than a learner may: make tables, leave out rules."""
    other = shown("leases", "without fence")
    assert other.refused is not None
    assert str(other.refused.why) == "this set-up has no such step"
    with pytest.raises(BadSession, match="cannot leave out purge"):
        shown("leases", left_out=("purge",))


def test_what_is_offered_at_a_position_is_tried_once_for_all_who_look(monkeypatch: pytest.MonkeyPatch) -> None:
    session = Session("leases", {}, frozenset(), ("tick 10 s", "tick 1 s"))
    offers = show(session, single_steps=True).offers
    monkeypatch.delattr(world_session, "_offer")
    assert show(session, single_steps=True).offers == offers
    assert all(offer in offers for offer in show(session, single_steps=False).offers)
