"""Rollouts that others have described: the page says of each file what is found."""

import re
from pathlib import Path

import pytest

from rollouts.checks import check
from rollouts.findings import BROKEN, PROVED

FOLDER = Path(__file__).parents[2] / "docs" / "rollouts"
PAGE = (FOLDER / "README.md").read_text(encoding="utf-8")
FOUND = {
    "rename-column": set(),
    "split-name": {("lost", 9), ("invented", 9)},
    "float-to-decimal": {("invented", 3)},
    "nullable-foreign-key": {("refused", 8), ("lost", 8), ("fails", 9), ("lost", 11)},
    "enum-to-table": set(),
    "move-column": {("lost", 10), ("lost", 12), ("lost", 14)},
    "soft-delete": {("refused", 5), ("invented", 5)},
    "unique-email": {("refused", 3), ("fails", 3)},
    "uuid-keys": {("refused", 5), ("fails", 5)},
    "timestamp-with-zone": {("invented", 3), ("invented", 4)},
}
"""The kinds that count, with the steps of each trace."""


@pytest.mark.parametrize("name", FOUND)
def test_a_described_rollout_has_the_findings_of_the_page(name: str) -> None:
    report = check((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))
    assert {(one.kind, len(one.frames) - 1) for one in report.counted} == FOUND[name]
    assert report.verdict == (BROKEN if FOUND[name] else PROVED)
    (row,) = re.findall(rf"^\| \[{name}\]\({name}\.toml\) \|.*$", PAGE, re.MULTILINE)
    found = row.rsplit(" | ", 1)[1].lower()
    for kind, steps in re.findall(r"(\w+) in (\d+)", found):
        assert (kind, int(steps)) in FOUND[name]
    assert found.startswith("proved") == (not FOUND[name])


def test_every_file_is_on_the_page() -> None:
    assert {path.stem for path in FOLDER.glob("*.toml")} == set(FOUND)
