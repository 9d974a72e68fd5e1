"""Templates: each naive form broken by its shortest trace, each safe one proved, in as many worlds as before."""

from functools import cache

import pytest

from rollouts.checks import Report, check
from rollouts.findings import BROKEN, PROVED
from rollouts.report import as_text
from rollouts.templates import BY_NAME, NAIVE, PGROLL, SAFE, TEMPLATES, text_of
from tests.rollouts.answers import FOLDER, FORMS, file_of

SHORTEST = {
    "rename": ("refused", 2),
    "split": ("lost", 9),
    "merge": ("lost", 5),
    "change-type": ("fails", 2),
    "add-not-null": ("fails", 3),
    "make-nullable": ("lost", 4),
    "move-column": ("lost", 10),
    "change-foreign-key": ("fails", 6),
    "unique": ("fails", 3),
    "uuid-keys": ("lost", 6),
    "soft-delete": ("invented", 5),
    "change-meaning": ("invented", 3),
    "drop-column": ("refused", 2),
}
"""The kind for which each naive form is a template, and the steps of its shortest trace."""


@cache
def report_on(name: str, form: str) -> Report:
    return check(text_of(name, form), rows=2)


@pytest.mark.parametrize("name", BY_NAME)
def test_the_naive_form_is_broken_by_its_shortest_trace(name: str) -> None:
    report = report_on(name, NAIVE)
    assert report.verdict == BROKEN
    kind, steps = SHORTEST[name]
    assert min(len(one.frames) - 1 for one in report.counted if one.kind == kind) == steps


@pytest.mark.parametrize("name", BY_NAME)
def test_the_safe_form_is_proved_and_something_occurred(name: str) -> None:
    report = report_on(name, SAFE)
    assert (report.verdict, report.counted) == (PROVED, ())
    occurred = {str(text) for text in report.occurred}
    assert any("read what another release had written" in text for text in occurred)
    assert not any("never found a row" in text for text in occurred)


@pytest.mark.parametrize(("name", "form"), FORMS)
def test_the_answer_is_as_it_was_read(name: str, form: str) -> None:
    assert as_text(report_on(name, form)) + "\n" == file_of(name, form).read_text(encoding="utf-8")


def test_every_folder_is_a_template() -> None:
    assert {path.name for path in FOLDER.glob("*.txt")} == {file_of(*one).name for one in FORMS}
    assert set(SHORTEST) == set(BY_NAME) == {one.name for one in TEMPLATES}
    assert set(PGROLL) < set(BY_NAME)


@pytest.mark.parametrize(("name", "form"), FORMS)
def test_frames_begin_without_a_fault_and_end_with_one(name: str, form: str) -> None:
    for trace in report_on(name, form).findings:
        first, *_, last = trace.frames
        assert (first.actor, first.done, bool(first.fault)) == ("start", 0, False)
        assert last.fault == trace.fault
        assert [one.done for one in trace.frames] == sorted(one.done for one in trace.frames)
        tables = [table for one in trace.frames for table in one.tables]
        assert all(len(row.cells) in (0, len(table.columns)) for table in tables for row in table.rows)


@pytest.mark.parametrize("name", ["rename", "split", "drop-column", "soft-delete"])
@pytest.mark.parametrize("form", [NAIVE, SAFE])
def test_two_rows_say_what_one_says_where_no_statement_ties_them(
    name: str, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = check(text_of(name, form))
    monkeypatch.setattr("rollouts.worlds.model.Model._rows_needed", lambda model: 2)
    both = check(text_of(name, form), rows=2)
    assert both.worlds > alone.worlds
    assert facts(both) == facts(alone)


def facts(report: Report) -> tuple[object, ...]:
    found = {(one.kind, one.about, one.release, one.operation, one.is_yours) for one in report.findings}
    return report.verdict, found, report.gates
