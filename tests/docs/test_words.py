"""Retired words stay away: `tests.docs.words` has the table, and lists every hit with what to write instead.

python -m tests.docs.words changes/planning     all hits in a folder or file
"""

import io
import tokenize

import pytest

from tests.docs.places import source
from tests.docs.words import RETIRED, Text, comments, files, hits, hits_of


def test_no_retired_word_is_used() -> None:
    left = [str(hit) for path in files() for hit in hits(path)]
    assert not left, "retired words:\n" + "\n".join(left)


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


@pytest.mark.parametrize("path", ["tests/docs/words.py", "nodes/clients/connection.py"])
def test_comments_are_those_of_python(path: str) -> None:
    tokens = tokenize.generate_tokens(io.StringIO(source(path)).readline)
    known = [(token.start[0], token.string) for token in tokens if token.type == tokenize.COMMENT]
    assert [(one.line, one.text) for one in comments(source(path))] == known != []
