"""Rollouts that others have described: verdict, clause, depth and words of each finding, and what the page says."""

import re
from pathlib import Path

import pytest

from rollouts.checks import Report, check
from rollouts.findings import BROKEN, PROVED
from rollouts.report import as_text
from tests.rollouts.answers import DESCRIBED, PUBLIC, public_file

PAGE = (DESCRIBED / "README.md").read_text(encoding="utf-8")
FOUND: dict[str, list[tuple[str, str, int, str]]] = {
    "enum-to-table": [],
    "float-to-decimal": [
        ("invented", "rate", 3, "release float: show gives rate = 0.00000001, a value that no user wrote")
    ],
    "move-column": [
        ("lost", "plan", 10, "release 3 reads new: show gives plan = gold; written last: free"),
        ("lost", "plan", 12, "release 4 writes new first: show gives plan = gold; written last: free"),
        ("lost", "plan", 14, "release 5 new only: show gives plan = gold; written last: free"),
    ],
    "nullable-foreign-key": [
        ("refused", "23502", 8, 'release without owner: create is refused with 23502: null value in column "owner_id"'),
        ("lost", "row", 8, "release without owner: show finds no row; written last: note = x"),
        (
            "fails",
            "23502",
            9,
            'deploy 3 fails with 23502: column "owner_id" of relation "case_fields" contains null values',
        ),
        ("lost", "row", 11, "release with owner: show finds no row; written last: note = x"),
    ],
    "rename-column": [],
    "soft-delete": [
        (
            "refused",
            "23505",
            5,
            "release hard: create is refused with 23505: duplicate key value violates unique constraint",
        ),
        ("invented", "row", 5, "release hard: show finds a row that was deleted: name = Ann"),
    ],
    "split-name": [
        ("invented", "name", 9, "release reads new: show gives name = Bob van, a value that no user wrote"),
        ("lost", "name", 9, "release reads new: show gives name = Ann Lee; written last: Bob van Dyke"),
    ],
    "timestamp-with-zone": [
        (
            "invented",
            "at",
            3,
            "release local times: show gives at = 2020-06-30 12:00:00+00, a value that no user wrote",
        ),
        ("invented", "at", 4, "release with zone: show gives at = 2020-06-30 13:00:00, a value that no user wrote"),
    ],
    "unique-email": [
        (
            "refused",
            "23505",
            3,
            "release checks in the form: create is refused with 23505: duplicate key value violates unique constraint",
        ),
        ("fails", "23505", 3, "deploy 1 fails with 23505: duplicate key value violates unique constraint"),
    ],
    "uuid-keys": [
        (
            "refused",
            "23502",
            5,
            'release by number: create is refused with 23502: null value in column "uuid" of relation "users"',
        ),
        ("fails", "23502", 5, 'deploy 3 fails with 23502: column "uuid" of relation "users" contains null values'),
    ],
}
"""The findings that count: kind, SQLSTATE or name, steps of the shortest trace, and how its sentence begins."""


def report_on(name: str) -> Report:
    return check((DESCRIBED / f"{name}.toml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", FOUND)
def test_a_described_rollout_has_its_findings(name: str) -> None:
    report = report_on(name)
    found = [(one.kind, one.about, len(one.frames) - 1) for one in report.counted]
    assert found == [one[:3] for one in FOUND[name]]
    assert all(str(one.fault).startswith(words) for one, (*_, words) in zip(report.counted, FOUND[name], strict=True))
    assert report.verdict == (BROKEN if FOUND[name] else PROVED)
    assert as_text(report) + "\n" == public_file(name).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", FOUND)
def test_the_page_says_of_a_rollout_what_is_found(name: str) -> None:
    """It names every kind, each with the depth of its shortest trace or none, and no kind that is not found."""
    (row,) = re.findall(rf"^\| \[{name}\]\({name}\.toml\) \|.*$", PAGE, re.MULTILINE)
    said = row.rsplit(" | ", 1)[1].lower()
    assert said.startswith("proved") == (not FOUND[name])
    named = re.findall(r"\b(fails|lost|invented|refused)\b(?: in (\d+))?", said)
    assert {kind for kind, _ in named} == {one[0] for one in FOUND[name]}
    shortest = {kind: min(one[2] for one in FOUND[name] if one[0] == kind) for kind, _ in named}
    first = dict(reversed(named))
    assert all(not steps or int(steps) == shortest[kind] for kind, steps in first.items())
    assert any(first.values()) == bool(FOUND[name])


def test_every_file_is_on_the_page() -> None:
    assert {path.stem for path in DESCRIBED.glob("*.toml")} == set(FOUND)
    assert {path.stem for path in PUBLIC.glob("*.txt")} == set(FOUND)
    assert Path(PUBLIC).is_dir()
