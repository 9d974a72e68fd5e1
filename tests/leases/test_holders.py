"""Whom to ask for a version: sessions by person, program and statement."""

import pytest

from leases.holders import REPORTED_MAX, STATEMENT_MAX, Holder, MalformedHolders, from_text, of_lease, shown, to_text


def holder(session: int = 4, *, version: int = 2, for_s: float = 1.0, statement: str = "UPDATE t SET a = 1") -> Holder:
    return Holder(1, version, session, "alice", "report", statement, is_running=False, for_s=for_s)


def test_a_holder_is_named_by_person_program_and_statement() -> None:
    assert str(holder()) == "session 4 of alice (report) is idle after UPDATE t SET a = 1"


@pytest.mark.parametrize(("statement", "line"), [
    ("SELECT 1\n  FROM t", "SELECT 1 FROM t"),
    ("SELECT '\x1b[2J'", "SELECT ' [2J'"),
    ("x" * 500, "x" * STATEMENT_MAX + " .."),
], ids=["one line", "no escape reaches a terminal", "a long one is cut"])  # fmt: skip
def test_what_a_user_wrote_is_shown_as_one_harmless_line(statement: str, line: str) -> None:
    assert shown(statement) == line


def test_the_oldest_are_reported() -> None:
    incarnation, told = from_text(to_text(7, [holder(n, for_s=n) for n in range(1, REPORTED_MAX + 10)]))
    assert incarnation == 7
    assert (len(told), told[0].session, told[-1].session) == (REPORTED_MAX, REPORTED_MAX + 9, 10)


def test_only_the_present_incarnation_counts() -> None:
    told = {"n1": (7, [holder(), holder(5, version=3)])}
    assert of_lease(told, node="n1", incarnation=7, table_id=1, version=2) == (holder(),)
    assert of_lease(told, node="n1", incarnation=8, table_id=1, version=2) == ()
    assert of_lease(told, node="n2", incarnation=7, table_id=1, version=2) == ()


@pytest.mark.parametrize("text", ["", "[]", '{"incarnation": 1}', '{"incarnation": 1, "holders": [{"a": 1}]}'])
def test_what_is_no_word_of_a_node_is_refused(text: str) -> None:
    with pytest.raises(MalformedHolders):
        from_text(text)
