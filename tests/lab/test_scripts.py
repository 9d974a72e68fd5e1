"""Every golden script says what it said when somebody last read it."""

from pathlib import Path

import pytest

from lab.scripts.golden import play

SCRIPTS = sorted((Path(__file__).parent.parent / "scripts").glob("*/*.script"))


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_script_says_what_was_recorded(path: Path) -> None:
    played = play(path.read_text(encoding="utf-8"))
    assert list(played.differences()) == []


def test_there_are_scripts_of_every_kind() -> None:
    kinds = {path.parent.name for path in SCRIPTS}
    assert kinds == {"leases", "states", "changes", "elements", "requests", "transactions"}
