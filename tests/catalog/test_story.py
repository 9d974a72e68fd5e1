"""The sentences of events, and how a page shows them."""

from typing import Any

import pytest

from catalog.story import GROUPS, SENTENCES, TEXT_MAX, kinds_of, sentence, shortened
from catalog.templatetags.look import arrows


@pytest.mark.parametrize(
    ("kind", "payload", "said"),
    [
        pytest.param(
            "reorganisation finished",
            {"what": "fill index by_dest", "rows": 336_776, "seconds": 3.24},
            "Fill index by_dest finished: 336,776 rows in 3.2 s.",
            id="a sentence begins with a capital",
        ),
        pytest.param(
            "reorganisation finished",
            {"what": "fill index by_dest", "rows": 0, "seconds": 0.01},
            "Fill index by_dest finished: nothing to do.",
            id="of an empty table there was nothing to do",
        ),
        pytest.param(
            "reorganisation started", {"what": "fill index i", "rows": 0}, "Fill index i started.", id="no rows to do"
        ),
        pytest.param(
            "reorganisation finished",
            {"what": "clear old tombstones of index i", "seconds": 0.14},
            "Clear old tombstones of index i finished in 0.1 s.",
            id="work that counts no rows",
        ),
        pytest.param(
            "reorganisation resumed",
            {"what": "fill index by_dest", "rows": 9, "why": ""},
            "Fill index by_dest resumed where it stopped.",
            id="after a pause there is no reason to tell",
        ),
        pytest.param(
            "reorganisation resumed",
            {"what": "fill index by_dest", "why": "the connection was lost"},
            "Fill index by_dest resumed where it stopped: the connection was lost.",
            id="after a failure there is",
        ),
        pytest.param(
            "traffic ended",
            {"table": "users", "why": "ann stopped it", "statements": 123_456, "wrong": 0},
            "Traffic on users ended, ann stopped it: 123,456 statements, 0 wrong answers.",
            id="large numbers have commas",
        ),
        pytest.param("table created", {"table": "users"}, "users was created.", id="a name stays as it is"),
        pytest.param("table created", {}, "? was created.", id="a detail that is missing"),
    ],
)
def test_an_event_in_plain_english(kind: str, payload: dict[str, Any], said: str) -> None:
    assert sentence(kind, payload) == said


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("index i absent -> delete-only.", "index i absent\u00a0\u2192\u00a0delete-only."),
        ("delete-only -> public, public -> absent", "delete-only\u00a0→\u00a0public, public\u00a0→\u00a0absent"),
        ("ann submitted change 5: SELECT a -> 'b'", "ann submitted change 5: SELECT a -> 'b'"),
    ],
)
def test_a_page_has_arrows_that_no_line_ends_at(text: str, shown: str) -> None:
    assert arrows(text) == shown


def test_a_long_statement_is_cut_and_says_so() -> None:
    kept = shortened({"who": "ann", "statement": "x" * (TEXT_MAX + 1), "rows": 3})
    assert kept == {"who": "ann", "statement": f"{'x' * TEXT_MAX} .. ({TEXT_MAX + 1} characters)", "rows": 3}


def test_each_kind_belongs_to_one_group() -> None:
    grouped = [kind for kinds in GROUPS.values() for kind in kinds]
    assert sorted(grouped) == sorted(SENTENCES)


def test_kinds_are_named_by_themselves_or_by_their_group() -> None:
    assert kinds_of(["leases", "node joined", "nonsense"]) == {*GROUPS["leases"], "node joined"}
