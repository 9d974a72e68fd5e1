"""Retired words stay away: `tests.docs.words` has the table, and lists every hit with what to write instead.

python -m tests.docs.words changes/planning     all hits in a folder or file
"""

from pathlib import Path

import pytest

from tests.docs.words import RETIRED, Text, files, hits, hits_of, room

NOT_YET = Path(__file__).with_name("not_yet.txt").read_text(encoding="utf-8").split()
"""Rooms in which retired words are left. Take a room out once it is clean; none may come in."""


def rooms_with_hits() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for path in files():
        for hit in hits(path):
            found.setdefault(room(path), []).append(str(hit))
    return found


@pytest.fixture(scope="module")
def found() -> dict[str, list[str]]:
    return rooms_with_hits()


def test_no_retired_word_is_used(found: dict[str, list[str]]) -> None:
    left = [hit for name, hits in found.items() if name not in NOT_YET for hit in hits]
    assert not left, "retired words:\n" + "\n".join(left)


def test_rooms_that_are_clean_are_not_listed(found: dict[str, list[str]]) -> None:
    clean = sorted(set(NOT_YET) - set(found))
    assert not clean, f"clean: take these out of tests/docs/not_yet.txt: {', '.join(clean)}"


def found_in(kind: str, text: str, path: str = "changes/x.py") -> list[str]:
    return [hit.found for row in RETIRED for hit in hits_of(path, Text(kind, 1, text), row)]


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        pytest.param("name", "is past turn", ["past turn"], id="a name by its words"),
        pytest.param("name", "is its turn", [], id="a place in a queue"),
        pytest.param("text", "the change walks\n    back", ["walks back"], id="over the end of a line"),
        pytest.param("text", "a column goes", ["column goes"], id="an object that goes"),
        pytest.param("text", "a column goes on", [], id="an object that goes on"),
        pytest.param("text", "the client is told why", [], id="a person is told"),
        pytest.param("text", "the step is told", ["is told"], id="a fact is told"),
        pytest.param("text", '{"road": "back"}', [], id="a key of JSON"),
        pytest.param("docstring", "What is done.", ["What"], id="a docstring that begins with What"),
        pytest.param("docstring", "Does what is asked.", [], id="a docstring that begins with a verb"),
    ],
)
def test_what_is_found(kind: str, text: str, expected: list[str]) -> None:
    assert found_in(kind, text) == expected
