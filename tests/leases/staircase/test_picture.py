"""What lanes over time say: sentences, figures, who has a lane, the moments one may look back at."""

from __future__ import annotations

import json

import pytest

from leases.samples import Sample
from leases.staircase.facts import SECONDS_MAX, Facts, Second, Use, Version, Walk, from_json, to_json
from leases.staircase.lanes import LAGGARDS, LANES_MAX, counts, looks, nodes_shown
from leases.staircase.picture import news_only, picture
from leases.staircase.plots import Span, beside, sentence
from leases.staircase.seconds import seconds_of
from leases.staircase.stops import STOPS_MAX
from tests.leases.staircase.drawn import Mark, Work, facts, steady, use, version

LADDER = [version(1, -9.0), version(2, 10.0, "delete-only"), version(3, 40.0)]


def crowd(nodes: int, slow: int = 0) -> Facts:
    """Many nodes, the last of which are slow to leave v1."""
    uses = []
    for number in range(nodes):
        lag = 20.0 if number >= nodes - slow else 0.1
        uses += [
            use(f"n{number:03}", 1, -5.0, 10.1 + lag),
            use(f"n{number:03}", 2, 10.05 + lag, 40.1),
            use(f"n{number:03}", 3, 40.05),
        ]
    return facts(LADDER, uses, end=50.0)


def lanes_of(window: Facts) -> list[str]:
    [walk] = window.walks
    return nodes_shown(walk, window)


def test_as_long_as_there_is_room_every_node_has_a_lane() -> None:
    some = crowd(LANES_MAX)
    assert (len(lanes_of(some)), counts(some.walks[0], some)) == (LANES_MAX, [])


def test_of_many_nodes_counts_are_drawn_and_the_laggards_lanes() -> None:
    many = crowd(LANES_MAX + 40, slow=3)
    shown = lanes_of(many)
    assert {"n097", "n098", "n099"} <= set(shown)
    assert len(shown) == LAGGARDS
    assert [row["node"] for row in picture(many)["tables"][0]["twin"]["rows"]] == shown
    found = counts(many.walks[0], many)
    assert [(one["version"], one["most"]) for one in found] == [(1, 100), (2, 100), (3, 100)]
    assert [n for _, n in found[0]["steps"]] == [100, 3, 0], "all but the laggards have left, then they"


@pytest.mark.parametrize(("of_loader", "lanes"), [
    pytest.param(use("load-4-0", 1, 2.0, 3.0), ["n1"], id="it has ended"),
    pytest.param(use("load-4-0", 1, 2.0, 10.3), ["n1"], id="it left soon after the next version was out"),
    pytest.param(use("load-4-0", 1, 2.0, 14.0), ["load-4-0", "n1"], id="it was a laggard"),
    pytest.param(use("load-4-0", 3, 41.0), ["load-4-0", "n1"], id="it runs"),
])  # fmt: skip
def test_a_loader_leaves_the_picture_when_it_has_ended(of_loader: Use, lanes: list[str]) -> None:
    """It is in the story of a change as long as it was in its way."""
    uses = [use("n1", 1, -5.0, 10.1), use("n1", 2, 10.05, 40.1), use("n1", 3, 40.05), of_loader]
    seen = picture(facts(LADDER, uses, end=50.0))
    [table] = seen["tables"]
    assert [row["node"] for row in table["twin"]["rows"]] == lanes
    assert table["summary"]["nodes"] == 1, "those that went from version to version, or use the last one"
    told = {one.get("node") for stop in seen["stops"] for one in stop["happened"]} - {None}
    assert told == set(lanes)


@pytest.mark.parametrize(("marks", "has_lane"), [
    pytest.param((Mark(45.0, "killed", "n000"),), True, id="it fell"),
    pytest.param((Mark(-45.0, "killed", "n000"), Mark(-40.0, "joined", "n000")), False, id="it rose before"),
    pytest.param((Mark(-30.0, "killed", "n000"),), True, id="it is down since before"),
])  # fmt: skip
def test_a_fallen_node_has_a_lane_however_quick_it_was(marks: tuple[Mark, ...], has_lane: bool) -> None:
    many = crowd(LANES_MAX + 40, slow=LAGGARDS)
    fallen = Facts(many.start, many.end, False, many.walks, marks)
    assert ("n000" in lanes_of(fallen)) == has_lane


@pytest.mark.parametrize(("kinds", "news"), [
    pytest.param("killed silent joined back frozen silent thawed silent back",
        "killed joined frozen thawed silent back", id="a killed node is silent, and a node that joined answers"),
    pytest.param("silent killed silent", "killed", id="it was killed just after its last heartbeat"),
])  # fmt: skip
def test_what_is_known_is_not_marked_again(kinds: str, news: str) -> None:
    marks = tuple(Mark(float(at), kind, "n1") for at, kind in enumerate(kinds.split(), 1))
    assert [mark.kind for mark in news_only(marks)] == news.split()


def test_of_several_columns_no_state_is_drawn_without_the_name_of_its_own() -> None:
    """A type change: first the new column moves, then the old one."""

    def moves(number: int, at: float, state: str, name: str) -> Version:
        one = {"element": "column", "name": name, "state": state, "filling": False}
        return Version(number, at, state, (one,))

    new, old = "year (as bigint)", "year (was integer)"
    versions = [version(1, 0), moves(2, 5, "delete-only", new), moves(3, 10, "write-only", old), version(4, 20)]
    assert [look.of for look in looks(facts(versions, [], end=30).walks[0]).values()] == ["", new, old, ""]
    assert {look.of for look in looks(facts(versions[:2], [], end=30).walks[0]).values()} == {""}, "one needs no name"


@pytest.mark.parametrize(("uses", "way"), [
    pytest.param([use("n1", 2, 1.0, 12.0), use("n1", 3, 11.0)], (2, 3, 1), id="what nobody used is no way"),
    pytest.param([use("n1", 1, 1.0, 12.0), use("n1", 3, 11.0), use("load", 2, 3.0, 5.0)], (1, 3, 1), id="a load"),
    pytest.param([use("n1", 2, 1.0), use("n2", 2, 1.0), use("n3", 1, 0.0, 1.0)], (2, 2, 2), id="nobody went"),
    pytest.param([], (None, None, 0), id="nobody used it"),
])  # fmt: skip
def test_the_sentence_is_about_those_who_went(uses: list[Use], way: tuple[int | None, int | None, int]) -> None:
    summary = picture(facts(LADDER, uses, end=50.0))["tables"][0]["summary"]
    assert (summary["first"], summary["last"], summary["nodes"]) == way


def test_the_sentence_names_the_longest_wait() -> None:
    uses = [use("n1", 1, -5.0, 10.1), use("n1", 2, 10.05), use("n2", 1, -5.0, 38.0, until=38.0)]
    shown = picture(facts(LADDER[:2], uses, end=50.0, marks=(Mark(9.0, "killed", "n2"),)))
    summary = shown["tables"][0]["summary"]
    assert summary["wait"] == {"seconds": 28.0, "node": "n2", "version": 1, "is_over": True}
    assert summary["is_fallen"]
    assert (summary["first"], summary["last"], summary["nodes"], summary["at_once"]) == (1, 2, 1, 2)


def test_words_tell_what_is_drawn_of_a_change_and_nothing_later() -> None:
    """A short change is drawn with two seconds around it; the next one begins within the ten that are read."""
    versions = [*LADDER, version(4, 51.0)]
    uses = [use("n1", 1, -5.0, 10.1), use("n1", 2, 10.05, 40.1), use("n1", 3, 40.05, 53.0), use("n1", 4, 51.5)]
    window = facts(versions, uses, end=54.0, start=29.0, works=(Work(1, 39.0, 44.0, "done"),)).near_changes()
    told = picture(window)
    assert (window.start, window.end) == (37.0, 46.0)
    assert [told["tables"][0]["summary"][name] for name in ("first", "last")] == [2, 3]
    assert {one.get("version") for stop in told["stops"] for one in stop["happened"]} - {None} == {2, 3}
    assert [one["version"] for one in told["tables"][0]["twin"]["versions"]] == [2, 3]


def test_a_wait_that_lasts_is_not_over() -> None:
    """Neither that of a node which still uses the version, nor one that ended only after the window."""
    for later in (use("n1", 1, -5.0), use("n1", 1, -5.0, 60.0)):
        summary = picture(facts(LADDER[:2], [later], end=70.0).until(50.0))["tables"][0]["summary"]
        assert summary["wait"] == {"seconds": 40.0, "node": "n1", "version": 1, "is_over": False}


@pytest.mark.parametrize("marks", [
    (Mark(2.0, "killed", "n2"), Mark(5.0, "joined", "n2")),
    (Mark(39.0, "killed", "n2"),),
    (Mark(12.0, "killed", "n1"),),
], ids=["before it", "after it", "another node"])  # fmt: skip
def test_a_fall_explains_no_wait_at_another_time(marks: tuple[Mark, ...]) -> None:
    uses = [use("n1", 1, -5.0, 10.1), use("n2", 1, -5.0, 38.0)]
    summary = picture(facts(LADDER[:2], uses, end=50.0, marks=marks))["tables"][0]["summary"]
    assert (summary["wait"]["node"], summary["is_fallen"]) == ("n2", False)


def test_a_third_version_in_use_would_be_counted() -> None:
    uses = [use("n1", 1, 1.0), use("n2", 2, 11.0), use("n3", 3, 41.0)]
    assert picture(facts(LADDER, uses, end=50.0))["tables"][0]["summary"]["at_once"] == 3


def test_one_may_stop_at_each_moment_and_see_who_used_what_then() -> None:
    uses = [use("n1", 1, -5.0, 11.0), use("n1", 2, 10.5), use("n2", 1, -5.0, 15.0, until=15.0)]
    work = Work(12, 9.0, 20.0, "done")
    shown = picture(facts(LADDER[:2], uses, end=30.0, marks=(Mark(10.2, "killed", "n2"),), works=(work,)))
    told = [(stop["happened"][0]["what"], stop["used"][0]["versions"]) for stop in shown["stops"]]
    both = [{"version": 1, "nodes": ["n1", "n2"]}]
    assert told == [
        ("change began", both),
        ("published", both),
        ("mark", both),
        ("used", [*both, {"version": 2, "nodes": ["n1"]}]),
        ("given back", [{"version": 1, "nodes": ["n2"]}, {"version": 2, "nodes": ["n1"]}]),
        ("ran out", [{"version": 2, "nodes": ["n1"]}]),
        ("change ended", [{"version": 2, "nodes": ["n1"]}]),
    ]


def test_of_a_table_without_leases_nobody_is_said_not_to_use_it() -> None:
    alone = Facts(0.0, 50.0, False, (Walk(7, "tickets", tuple(LADDER), (), has_leases=False),))
    drawn = picture(from_json(json.loads(json.dumps(to_json(alone)))))
    assert drawn["tables"][0]["has_leases"] is False
    assert {of["has_leases"] for stop in drawn["stops"] for of in stop["used"]} == {False}
    assert picture(alone.since(20.0).until(45.0))["tables"][0]["has_leases"] is False


def test_of_very_many_moments_neighbours_are_one_stop() -> None:
    many = picture(facts(LADDER, [use("n1", 1, at / 3, at / 3 + 0.1) for at in range(900)], end=400.0))
    assert 10 < len(many["stops"]) <= STOPS_MAX


def test_the_sentence_of_the_charts_compares_a_change_with_the_time_without() -> None:
    seconds = (*steady(1, 9), *steady(11, 19, rate=300.0, p99=40.0))
    shown = picture(facts(LADDER, [], end=30.0, seconds=seconds, works=(Work(1, 10.0, 20.0, "done"),)))
    figures = shown["figures"]
    assert (figures["rate_before"], figures["rate"], figures["rate_least"]) == (400.0, 300.0, 300.0)
    assert (figures["p99_before"], figures["p99"], figures["p99_worst"]) == (8.0, 40.0, 40.0)


@pytest.mark.parametrize(
    ("ended", "were_short"), [(10.6, True), (20.0, False), (None, False)], ids=["short", "long", "under way"]
)
def test_only_changes_that_were_over_within_a_second_are_said_to_be(ended: float | None, were_short: bool) -> None:
    works = (Work(1, 10.1, ended, "done"), Work(2, 8.0, 8.5, "done"))
    figures = picture(facts(LADDER, [], end=30.0, seconds=steady(1, 6), works=works))["figures"]
    assert (figures["rate"], figures["rate_before"], figures["were_short"]) == (None, 400.0, were_short)


def test_facts_are_kept_and_drawn_the_same() -> None:
    many = crowd(3)
    kept = Facts(
        many.start,
        many.end,
        False,
        many.walks,
        (Mark(1.0, "killed", "n1"),),
        steady(1, 40),
        (Work(1, 9.0, 41.0, "done"),),
    )
    assert from_json(json.loads(json.dumps(to_json(kept)))) == kept
    assert picture(from_json(to_json(kept))) == picture(kept)


def test_of_a_long_window_few_seconds_are_kept() -> None:
    kept = to_json(facts(LADDER, [], end=9000.0, seconds=(*steady(1, 5000), Second(5001.0, 400.0, 1.0, 99.0))))
    assert len(kept["seconds"]) <= SECONDS_MAX
    assert max(one["p99_ms"] for one in kept["seconds"]) == 99.0


def test_what_came_after_a_change_does_not_belong_to_it() -> None:
    uses = [use("n1", 1, -5.0, 11.0), use("n1", 2, 10.5, 40.1), use("n1", 3, 40.05)]
    part = facts(LADDER, uses, end=50.0, marks=(Mark(45.0, "killed", "n1"),), seconds=steady(1, 49)).until(30.0)
    [walk] = part.walks
    assert [(one.version, one.ended) for one in walk.uses] == [(1, 11.0), (2, None)]
    assert [one.version for one in walk.versions] == [1, 2]
    assert (part.end, part.marks, part.seconds[-1].at) == (30.0, (), 30.0)


def sample(at: float, rate: float, p50: float | None = 1.0, p99: float | None = 2.0) -> Sample:
    return Sample(at, rate, p50, p99)


def test_the_seconds_of_nodes_add_up() -> None:
    reported = {
        "n1": [sample(10.2, 100, 1.0, 5.0), sample(11.2, 100, 1.0, 5.0)],
        "n2": [sample(9.9, 300, 2.0, 9.0), sample(10.9, 300, 2.0, 9.0)],
        "n3": [sample(10.5, 0, None, None)],
    }
    assert seconds_of(reported, 12.0) == {Second(10.0, 300.0, 2.0, 9.0): 1, Second(11.0, 400.0, 1.75, 9.0): 3}
    assert seconds_of({}, 12.0) == {}


def test_a_node_that_reports_no_more_counts_no_more() -> None:
    reported = {"n1": [sample(at + 0.1, 100) for at in range(10, 16)], "n2": [sample(10.2, 50)]}
    rates = {second.at: (second.statements_per_s, nodes) for second, nodes in seconds_of(reported, 16.0).items()}
    assert rates[11.0] == (150.0, 2)
    assert rates[13.0] == (100.0, 1)


@pytest.mark.parametrize("off", [-36_000.0, 6.0, 36_000.0])
def test_a_node_whose_clock_is_off_adds_no_seconds(off: float) -> None:
    right = {"n1": [sample(at + 0.1, 100) for at in range(100, 106)]}
    wrong = right | {"n2": [sample(106 + off + at, 50) for at in range(60)]}
    assert seconds_of(wrong, 106.0) == seconds_of(right, 106.0)
    assert seconds_of({"n2": wrong["n2"]}, 106.0) == {}


# --- statements before a change and during it


def second(at: float, p50: float | None = 1.0, p99: float | None = 9.0, rate: float = 400.0) -> Second:
    return Second(at, rate, p50, p99)


def test_what_comes_after_a_change_is_neither_before_nor_during_it() -> None:
    seconds = [second(1.0), second(2.0, p50=3.0, p99=11.0), second(4.0, 2.0, 30.0, 100.0), second(9.0, 50.0, 900.0)]
    found = beside(seconds, Work(3, 2.5, 6.0, "done"))
    assert found.before == Span(2, 2.0, 10.0, 11.0, 400.0, 2)
    assert found.during == Span(1, 2.0, 30.0, 30.0, 100.0, 1)


def test_before_a_change_no_other_one_is_under_way() -> None:
    seconds, work = [second(1.0), second(2.0, 3.0, 20.0), second(4.0)], Work(3, 2.5, 6.0, "done")
    found = beside(seconds, work, calm_since=0.7)
    assert (found.before.seconds, found.before.p50, found.was_calm) == (1, 3.0, True)
    assert (beside(seconds, work, calm_since=2.5).before.seconds, beside(seconds, work, 2.5).was_calm) == (0, False)


def test_a_change_under_way_has_its_seconds_up_to_now_and_a_silent_one_has_none() -> None:
    found = beside([second(1.0), second(9.0)], Work(3, 2.5, None, "running"))
    assert (found.before.seconds, found.during.seconds) == (1, 1)
    silent = beside([second(1.0, None, None, 0.0)], Work(3, 2.5, None, "running"))
    assert (silent.before, silent.during) == (Span(1, None, None, None, None, 0), Span(0, None, None, None, None, 0))


def test_seconds_without_a_client_count_neither_before_nor_during_a_change() -> None:
    """Half of the time before it no client ran: that the cluster did 200 statements a second is not so."""
    idle = [second(float(at), None, None, 0.0) for at in (1, 2, 7)]
    seconds = [*idle[:2], second(3.0), second(4.0), second(6.0, rate=300.0), idle[2]]
    work = Work(3, 4.5, 8.0, "done")
    found = beside(seconds, work)
    assert (found.before.rate, found.before.busy, found.before.seconds) == (400.0, 2, 4)
    assert (found.during.rate, found.during.busy) == (300.0, 1)
    figures = sentence(seconds, [work])
    assert (figures["rate_before"], figures["rate"], figures["rate_least"]) == (400.0, 300.0, 300.0)


def test_a_picture_of_several_changes_compares_none_of_them() -> None:
    works = (Work(3, 2.5, 6.0, "done"), Work(4, 7.0, 8.0, "done"))
    assert picture(facts(LADDER, [use("n1", 1, 0.5)], end=50.0, works=works))["beside"] is None
    assert picture(facts(LADDER, [use("n1", 1, 0.5)], end=50.0, works=works[:1]))["beside"] is not None


def test_a_use_that_nothing_is_known_of_any_more_is_drawn_until_the_kept_window_ended() -> None:
    """Records of leases are deleted after a day: what lasted on then has an end that nobody knows, not none."""
    kept = facts(LADDER[:2], [use("n1", 1, 0.0), use("n9", 1, 0.0)], end=20.0)
    later = facts(LADDER[:2], [use("n1", 1, 0.0, 30.0), use("n1", 2, 29.0)], start=20.0, end=9_000.0, is_live=True)
    whole = kept.followed_by(later)
    assert [(one.node, one.version, one.ended) for one in whole.walks[0].uses] == [
        ("n1", 1, 30.0),
        ("n9", 1, 20.0),
        ("n1", 2, None),
    ]
    wait = picture(whole)["tables"][0]["summary"]["wait"]
    assert (wait["node"], wait["seconds"], wait["is_over"]) == ("n1", 20.0, True)
