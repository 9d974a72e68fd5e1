"""Chapter 0's machine: what is lost, what must wait, and the judge over all twelve handbooks."""

from itertools import product
from typing import Any

import pytest

from lab.sessions import handbooks
from lab.sessions.as_json import to_json
from lab.sessions.handbooks import (
    LOST,
    MAIL_ONLY,
    MESSENGER_ONLY,
    TOO_MANY,
    TWO_EDITIONS,
    Handbook,
    all_handbooks,
    earliest_next_min,
    handbook,
    judge,
)
from lab.sessions.replay import show
from lab.sessions.session import BadSession, Session
from lab.sessions.shown import SessionView, Severity, Text

AGREED = {"agreed_min": 60, "fast_min": [5, 0]}


def after(steps: str, left_out: frozenset[str] = frozenset(), **parameters: Any) -> SessionView:
    return show(Session("handbooks", parameters, left_out, tuple(steps.split())))


def clauses(shown: SessionView) -> set[tuple[str, int]]:
    return {(verdict.clause, verdict.version) for verdict in shown.verdicts}


@pytest.mark.parametrize(
    ("steps", "lost"),
    [
        pytest.param("ann.writes.bo bo.writes.ann", 0, id="all go by the first edition"),
        pytest.param("post.2 ann.looks bo.writes.ann", 1, id="who is early misses what the late one sends"),
        pytest.param("post.2 ann.looks ann.writes.bo", 1, id="and the late one misses what the early one sends"),
        pytest.param("post.2 ann.looks bo.looks bo.writes.ann", 0, id="all have changed over"),
    ],
)
def test_messages_between_two_editions(steps: str, lost: int) -> None:
    shown = after(steps)
    assert shown.refused is None
    assert len(shown.cluster.messages) == lost
    assert {clause for clause, _ in clauses(shown)} == ({LOST} if lost else set())


def test_a_lost_message_says_why_where_it_happened() -> None:
    shown = after("post.2 ann.looks bo.writes.ann bo.looks")
    why = "lost. Ann uses edition 2, which does not read e-mail"
    assert str(shown.trace[2].text) == f"Bo writes to Ann by e-mail: {why}"
    assert [line.severity for line in shown.trace].index(Severity.DAMAGE) == 2
    assert shown.strip[0].cells == (Severity.HOLDS,) * 3 + (Severity.DAMAGE,) * 2


def test_an_edition_waits_for_whoever_goes_by_the_last_but_one() -> None:
    editions = ["mail/mail", "both/both", "messenger/messenger"]
    shown = after("post.2 ann.looks post.3", editions=editions)
    assert shown.refused is not None
    assert (shown.refused.at, str(shown.refused.why)) == (2, "edition 3 waits for Bo, who may still use edition 1")
    [post] = [offer for offer in shown.offers if offer.id == "post.3"]
    assert (str(post.why_not), post.rule) == ("edition 3 waits for Bo, who may still use edition 1", "L2")


def test_without_that_rule_a_careful_edition_in_between_does_not_help() -> None:
    editions = ["mail/mail", "both/both", "messenger/messenger"]
    shown = after("post.2 ann.looks post.3 ann.looks bo.writes.ann", frozenset({TWO_EDITIONS}), editions=editions)
    assert clauses(shown) == {(LOST, 3), (TOO_MANY, 1)}


@pytest.mark.parametrize(
    ("steps", "lost"),
    [
        pytest.param("wait.5 bo.writes.ann", 1, id="a watch that is fast"),
        pytest.param("wait.5 wait.5 bo.writes.ann", 0, id="when both watches have come to it"),
        pytest.param("bo.writes.ann", 0, id="before any has"),
    ],
)
def test_an_agreed_hour_comes_at_each_persons_own_time(steps: str, lost: int) -> None:
    assert len(after(steps, **AGREED).cluster.messages) == lost


def test_an_edition_is_done_only_when_a_newer_one_is_used_by_all() -> None:
    status = lambda steps: [one.status for one in after(steps).cluster.plan]  # noqa: E731
    assert status("post.2") == ["now", "ahead"], "posted, and nobody has looked"
    assert status("post.2 ann.looks") == ["now", "now"]
    assert status("post.2 ann.looks bo.looks") == ["done", "now"]


def test_an_edition_that_another_replaced_before_anybody_used_it_is_not_to_come() -> None:
    editions = ["mail/mail", "both/both", "messenger/messenger"]
    session = Session("handbooks", {"editions": editions}, frozenset({"two-editions"}), ("post.2", "post.3"))
    assert [one.status for one in show(session).cluster.plan] == ["now", "done", "ahead"]


def test_a_lost_message_is_not_under_way() -> None:
    (lost,) = after("post.2 ann.looks bo.writes.ann").cluster.messages
    assert lost.is_lost


def test_with_an_agreed_hour_nobody_looks_and_nothing_is_posted() -> None:
    shown = after("wait.5", **AGREED)
    assert {offer.id for offer in shown.offers} == {"wait.5", "ann.writes.bo", "bo.writes.ann"}
    assert (shown.cluster.clock_s, str(shown.trace[0].text)) == (
        55 * 60,
        "it is 12:55; by the watch of Ann it is 13:00 or later, so edition 2 applies",
    )


def test_there_are_twelve_handbooks_and_each_has_a_name() -> None:
    assert len(set(map(str, all_handbooks()))) == 12
    assert {handbook(str(one)) for one in all_handbooks()} == set(all_handbooks())


def safe_sequences(between: int, *, one_channel: bool = False) -> list[tuple[Handbook, ...]]:
    """Every choice of so many editions between mail and messenger with which no message can be lost."""
    may = [one for one in all_handbooks() if len(one.sends) == 1 or not one_channel]
    chosen = product(may, repeat=between)
    return [some for some in chosen if judge((MAIL_ONLY, *some, MESSENGER_ONLY)).is_safe]


def test_of_twelve_one_may_stand_between_mail_and_messenger() -> None:
    assert [list(map(str, some)) for some in safe_sequences(1)] == [["both/both"]]


def test_of_two_that_send_by_one_channel_each_receiving_comes_before_sending() -> None:
    assert [list(map(str, some)) for some in safe_sequences(2, one_channel=True)] == [["both/mail", "both/messenger"]]


def test_the_judge_shows_a_shortest_session_that_loses() -> None:
    judgement = judge((MAIL_ONLY, MESSENGER_ONLY))
    assert len(judgement.steps) == 3
    assert {LOST} == {clause for clause, _ in clauses(after(" ".join(judgement.steps)))}


def test_whom_the_judge_lets_pass_loses_nothing_and_keeps_two_editions() -> None:
    judgement = judge((MAIL_ONLY, handbook("both/both"), MESSENGER_ONLY))
    assert judgement.is_safe
    assert judgement.steps == ()


def test_the_next_edition_is_due_when_nobody_at_work_can_have_missed_the_last() -> None:
    assert earliest_next_min(posted_min=0, look_every_min=30, give_up_min=10, slack_min=20) == 60


@pytest.mark.parametrize(
    ("parameters", "left_out", "says"),
    [
        pytest.param({"editions": ["mail"]}, frozenset(), "'mail' is not a handbook", id="no handbook"),
        pytest.param({"editions": ["mail/none"]}, frozenset(), "it must send", id="one that sends nothing"),
        pytest.param({"editions": []}, frozenset(), "1 to 8 handbooks", id="none"),
        pytest.param({"agreed_min": "13:00"}, frozenset(), "it is like 0", id="an hour as text"),
        pytest.param({"agreed_min": 60, "editions": ["mail/mail"]}, frozenset(), "two editions", id="one edition"),
        pytest.param({"fast_min": [1]}, frozenset(), "2 watches", id="a watch too few"),
        pytest.param({}, frozenset({"hour"}), "cannot leave out hour", id="an unknown rule"),
    ],
)
def test_parameters_of_no_company_are_refused(parameters: dict[str, Any], left_out: frozenset[str], says: str) -> None:
    with pytest.raises(BadSession, match=says):
        after("", left_out, **parameters)


@pytest.mark.parametrize("at", [0, 1, 3, 9])
def test_going_back_keeps_the_future(at: int) -> None:
    shown = show(Session("handbooks", steps=("post.2", "ann.looks", "bo.writes.ann")), at)
    assert (shown.at, len(shown.trace), len(shown.strip[0].cells)) == (min(at, 3), 3, 4)
    assert to_json(shown)["trace"][0]["id"] == "post.2"


def test_a_lost_message_is_worded_where_it_is_shown_and_not_for_each_day_after_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """200 steps are shown within 50 ms: the strip asks whether a message was lost, and makes no sentences of it."""
    worded: list[Text] = []
    words = handbooks._lost_words
    monkeypatch.setattr(handbooks, "_lost_words", lambda message: worded.append(words(message)) or worded[-1])
    steps = ("post.2", "ann.looks", *["bo.writes.ann", "ann.writes.bo"] * 99)
    shown = show(Session("handbooks", {}, frozenset(), steps))
    assert len(shown.cluster.messages) == 198
    assert len(worded) <= 3 * len(steps)
