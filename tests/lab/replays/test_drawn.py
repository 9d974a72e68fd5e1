"""Replays as they are drawn: stores side by side, lanes in seconds, and recordings of all that chapters ask for."""

from typing import Any

import pytest

from lab.exercises.chapter import Live
from lab.exercises.shelf import OURS, read_book
from lab.pages.replay_part import Kept, part
from lab.replays.drawn import LEFT, picture, store, waits
from lab.replays.feats import FEATS
from lab.replays.recorded import OF_FEATS, SESSIONS, recording
from lab.replays.translation import translated
from lab.sessions.session import encode

LANES: dict[str, Any] = {
    "end": 26.0,
    "waits": True,
    "nodes": ["n1", "n2"],
    "versions": [
        {"version": 1, "at": 0.0, "state": "absent"},
        {"version": 2, "at": 1.0, "state": "delete-only"},
        {"version": 3, "at": 23.5, "state": "write-only"},
    ],
    "uses": [
        {"node": "n1", "version": 1, "from": 0.0, "to": 23.4},
        {"node": "n2", "version": 1, "from": 0.0, "to": 1.2},
        {"node": "n2", "version": 2, "from": 1.1, "to": 23.6},
        {"node": "n2", "version": 3, "from": 23.5, "to": 26.0},
    ],
    "marks": [{"at": 0.5, "kind": "killed", "node": "n1"}],
}


def labels(names: list[str], broken: list[str]) -> list[tuple[str, bool, str, str]]:
    return [
        (line["row"], line["is_there"], line["entry"]["value"], line["entry"]["label"]) for line in store(names, broken)
    ]


@pytest.mark.parametrize(
    ("names", "broken", "shown"),
    [
        pytest.param(["row 1 (a=1)", "entry 1→r1"], [], [("1", True, "1", "")], id="a row and its entry"),
        pytest.param(["entry 1→r1"], ["C5"], [("1", False, "1", "orphan")], id="an entry whose row is gone"),
        pytest.param(["row 1 (a=1)"], ["C4"], [("1", True, "", "missing")], id="a row that queries miss"),
        pytest.param(["row 1 (a=1)"], [], [("1", True, "", "")], id="a row without an entry that nobody misses"),
        pytest.param(
            ["row 1 (a=2)", "entry 1→r1"],
            ["C4", "C5"],
            [("1", True, "1", "orphan"), ("1", True, "", "missing")],
            id="an entry of another value",
        ),
    ],
)
def test_a_store_names_what_is_wrong(
    names: list[str], broken: list[str], shown: list[tuple[str, bool, str, str]]
) -> None:
    assert labels(names, broken) == shown


def test_a_wait_is_as_long_as_it_was_and_has_a_name() -> None:
    assert waits(LANES) == [{"from": 1.0, "to": 23.4, "node": "n1", "version": 3}]
    bracket = picture(LANES)["waits"][0]
    assert (bracket["seconds"], bracket["node"], bracket["version"]) == (22.4, "n1", 3)
    share = float(bracket["x2"][:-1]) - float(bracket["x1"][:-1])
    assert share == pytest.approx((100 - LEFT) * 22.4 / 26, abs=0.1)


def test_labels_of_versions_that_follow_closely_do_not_overlap() -> None:
    close = {"version": 4, "at": 23.9, "state": "public"}
    shown = picture(LANES | {"versions": [*LANES["versions"], close]})["versions"]
    assert [one["version"] for one in shown] == [2, 3, None]


def test_versions_past_the_rules_wait_for_nobody() -> None:
    assert waits(LANES | {"waits": False}) == []


def test_each_lane_has_its_bars_in_two_tracks() -> None:
    first, second = picture(LANES)["rows"]
    assert [bar["state"] for bar in second["bars"]] == ["absent", "delete-only", "write-only"]
    assert len({bar["y"] for bar in second["bars"]}) == 2
    assert [mark["kind"] for mark in first["marks"]] == ["killed"]


@pytest.mark.parametrize("name", SESSIONS)
def test_a_recording_is_of_the_session_as_it_is_carried_out_today(name: str) -> None:
    found = recording(name)
    assert found["outcome"]["agree"] is True
    assert len(found["times"]) == len(translated(SESSIONS[name]).actions)
    link = encode(SESSIONS[name], len(SESSIONS[name].steps))
    shown = part(Kept(link, found["times"], len(found["times"]), found["outcome"]))
    assert shown["lanes"]["rows"]
    if shown["stores"] is not None:
        assert shown["stores"]["model"] == shown["stores"]["cluster"]


def test_every_replay_of_a_chapter_has_a_recording() -> None:
    chapters = [read_book(path).chapter for path in sorted(OURS.iterdir()) if path.is_dir()]
    asked = {
        name
        for chapter in chapters
        if chapter
        for screen in chapter.screens
        if isinstance(screen.task, Live)
        for name in screen.task.asks
        if name in FEATS
    }
    assert asked
    assert asked <= OF_FEATS.keys()
