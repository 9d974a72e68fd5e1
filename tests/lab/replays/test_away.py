"""Sessions in which a node dies, freezes or is drained: which moments a real change has for that."""

import pytest

from lab.replays import actions
from lab.replays.actions import PUBLIC
from lab.replays.comparison import Comparison, compared
from lab.replays.trace import NotReplayable
from lab.replays.translation import translated
from lab.sessions.session import Session
from lab.sessions.world.setups import SCENERY, WORLD_SETUPS

KILLED = ("n1: crash", "step", "tick 18 s", "step", "step")
FROZEN = ("n1: freeze", "step", "tick 10 s", "step", "step")


def words(setup: str, *steps: str) -> list[str]:
    return [str(narrated.text) for narrated in translated(Session(setup, steps=steps)).actions]


def test_a_change_waits_for_the_lease_of_a_node_that_died() -> None:
    """It is started again in the end; how long it takes is for the cluster's leases to say."""
    script = translated(Session("leases", steps=KILLED))
    assert (script.harms, script.ends) == (True, PUBLIC)
    assert words("leases", *KILLED) == [
        "n1 leases v1",
        "n2 leases v1",
        "the process of n1 is killed",
        "the change is submitted, as any other",
        "it publishes v2, by the rules",
        "it waits for n1, whose lease is not over",
        "it publishes v3, by the rules",
        "the change goes on to its end",
        "the process of n1 is started again",
    ]


def test_a_lease_that_ends_before_the_change_begins_is_waited_for() -> None:
    """On the cluster it lasts longer than on the stage: until then, nothing is as the model says."""
    assert words("leases", "n1: crash", "tick 18 s", "tick 1 s", "step", "step")[2:6] == [
        "the process of n1 is killed",
        "the lease of n1 is over",
        "the change is submitted, as any other",
        "it publishes v2, by the rules",
    ]
    assert words("frozen-node", "n1: freeze", "tick 10 s", "n1: thaw")[3:] == [
        "the process of n1 is frozen",
        "the lease of n1 is over",
        "the process of n1 is thawed",
        "n1 tries to commit, and is refused",
    ]
    assert "the lease of n1 is over" not in words("leases", "n1: crash", "tick 1 s", "step", "step")


def test_a_node_whose_lease_ended_wakes_up_after_the_change_that_waited_for_it() -> None:
    assert words("frozen-node", "n1: freeze", "step", "tick 10 s", "n1: thaw", "step")[-4:] == [
        "it waits for n1, whose lease is not over",
        "the change goes on to its end",
        "the process of n1 is thawed",
        "n1 tries to commit, and is refused",
    ]


def test_for_a_node_that_was_drained_before_it_waits_for_nothing() -> None:
    shown = words("leases", "n1: drain", "n1: crash", "step", "step", "step")
    assert "it waits for no lease of n1" in shown
    assert shown[2] == "n1 is drained: it gives its leases back"


def test_a_node_comes_back_while_the_change_waits_for_it() -> None:
    shown = words("leases", "n1: crash", "step", "n1: start", "step", "step")
    assert shown[-3:] == [
        "the process of n1 is started again",
        "it publishes v3, by the rules",
        "the change goes on to its end",
    ]


@pytest.mark.parametrize("steps", [FROZEN, (*FROZEN, "n1: thaw")], ids=["frozen to the end", "thawed"])
def test_who_wakes_up_too_late_is_refused(steps: tuple[str, ...]) -> None:
    assert words("frozen-node", *steps)[-3:] == [
        "the change goes on to its end",
        "the process of n1 is thawed",
        "n1 tries to commit, and is refused",
    ]
    last = translated(Session("frozen-node", steps=steps)).actions[-1].action
    assert last == actions.LateCommit(1, is_refused=True)


def test_who_wakes_up_in_time_commits() -> None:
    shown = words("frozen-node", "n1: freeze", "step", "n1: thaw", "n1: commit", "step", "step")
    assert shown[6:10] == [
        "it waits for n1, whose lease is not over",
        "the process of n1 is thawed",
        "n1 commits",
        "it publishes v3, by the rules",
    ]


def test_a_change_whose_news_is_lost_waits_for_renewals() -> None:
    """Both nodes go on under v1, also with statements, until they renew; then its news goes on, and it ends."""
    steps = ("lose news", "step", "n1: insert t (1, 1)", "tick 10 s", "step")
    script = translated(Session("news", steps=steps))
    assert (script.harms, script.lags, script.waits_for_leases, script.ends) == (False, True, True, PUBLIC)
    assert words("news", *steps) == [
        "n1 leases v1",
        "n2 leases v1",
        "from now on news of the table is lost",
        "the change is submitted, as any other",
        "it publishes v2, by the rules",
        "n1 has not heard of it, and uses v1",
        "n2 has not heard of it, and uses v1",
        "it waits for n1, whose lease is not over",
        "n1 begins a transaction under v1",
        "n1: INSERT INTO t VALUES (1, 1)",
        "n1 commits",
        "n1 learns of v2 as it renews",
        "n2 learns of v2 as it renews",
        "news of the table is sent to n1, n2 again",
        "the change goes on to its end",
    ]


def test_news_that_is_held_reaches_the_other_node_and_comes_later() -> None:
    """What comes after it has heard goes by itself; without a moment of its lease it waits for none."""
    steps = ("n1: hold", "step", "n2: insert t (1, 1)", "n1: delete t (1)", "n1: deliver", "n1: flush", "step", "step")
    assert not translated(Session("news", steps=steps)).waits_for_leases
    assert words("news", *steps)[2:] == [
        "news of the table waits, and does not reach n1",
        "the change is submitted, as any other",
        "it publishes v2, by the rules",
        "n1 has not heard of it, and uses v1",
        "it waits for n1, whose lease is not over",
        "n2 comes to use v2",
        "n2 begins a transaction under v2",
        "n2: INSERT INTO t VALUES (1, 1)",
        "n2 commits",
        "n1 begins a transaction under v1",
        "n1: DELETE FROM t WHERE id = 1",
        "n1 commits",
        "n1 hears of v2",
        "it publishes v3, by the rules",
        "the change goes on to its end",
    ]


def test_news_that_was_lost_does_not_come_when_the_other_messages_do() -> None:
    assert words("news", "n1: hold", "step", "n1: lose", "n1: flush", "tick 10 s", "step", "step")[6:] == [
        "it waits for n1, whose lease is not over",
        "n1 learns of v2 as it renews",
        "it publishes v3, by the rules",
        "news of the table is sent to n1 again",
        "the change goes on to its end",
    ]


@pytest.mark.parametrize(
    ("one", "why"),
    [
        (
            Session("frozen-node", left_out=frozenset({"deadline"}), steps=FROZEN),
            "it leaves out deadline: the nodes of the cluster keep every rule",
        ),
        (
            Session("news", steps=("n1: hold", "step", "tick 10 s")),
            "other messages of n1 wait, too: only news can be held or lost on the cluster",
        ),
        (
            Session("news", steps=("step", "lose news")),
            "news stays out while the change is on its way: it does not wait for that",
        ),
        (
            Session("leases", steps=("step", "n1: crash")),
            "n1 goes away while the change is on its way: it does not wait for that",
        ),
        (
            Session("leases", steps=("n1: crash", "step", "n2: insert t (1, 1)")),
            "n2 writes while the change is on its way: it does not wait for that",
        ),
    ],
    ids=["a rule", "held renewals", "news lost late", "a late crash", "a late statement"],
)
def test_what_has_no_moment_on_the_cluster_is_said_by_name(one: Session, why: str) -> None:
    with pytest.raises(NotReplayable) as refused:
        translated(one)
    assert str(refused.value) == why


def test_an_action_that_comes_out_otherwise_is_our_bug() -> None:
    session = Session("leases", steps=KILLED)
    assert compared(session, [], judged_before=True, ends=(PUBLIC, PUBLIC)).agree
    other = compared(session, [], judged_before=True, ends=(PUBLIC, PUBLIC), otherwise=["a commit was accepted"])
    assert other == Comparison((), (), (PUBLIC, PUBLIC), ("a commit was accepted",))
    assert not other.agree


@pytest.mark.parametrize("setup", sorted(WORLD_SETUPS))
def test_whatever_a_palette_offers_is_replayed_or_refused_in_words(setup: str) -> None:
    """Each step of each set-up alone: a page that is asked to replay it always has an answer."""
    answers = []
    for line in SCENERY[setup].palette:
        try:
            answers.append(str(translated(Session(setup, steps=(line.text,))).actions))
        except NotReplayable as refused:
            answers.append(str(refused.why))
    assert all(answers)
