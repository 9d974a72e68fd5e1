"""The page for somebody who knows Django's migrations: its files give the answers that it prints."""

import re
from pathlib import Path

import pytest

from rollouts.command import main

PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "design-a-rollout.md").read_text(encoding="utf-8")
FILES = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
ANSWERS = re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL)


def answer(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], *options: str) -> tuple[int, str]:
    path = tmp_path / "rename.toml"
    path.write_text(text, encoding="utf-8")
    code = main(["check", str(path), *options])
    out, err = capsys.readouterr()
    return code, out or err.replace(str(path), "rename.toml")


def says(out: str, printed: str) -> list[str]:
    """The lines of the page that the answer does not have; `..` stands for anything."""
    lines = [line for line in printed.splitlines() if line != ".."]
    return [one for one in lines if not re.search(re.escape(one).replace(r"\.\.", ".*"), out)]


def test_the_file_that_everybody_writes_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out = answer(FILES[0], tmp_path, capsys)
    assert (code, says(out, ANSWERS[0])) == (1, [])
    other_way = FILES[0].split("[[deploy]]")
    code, out = answer("[[deploy]]".join([other_way[0], other_way[2], other_way[1]]), tmp_path, capsys)
    assert code == 1
    assert "release new: create is refused" in out


def test_the_backfill_of_most_guides_and_its_repair(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out = answer(FILES[1], tmp_path, capsys, "--repair")
    assert (code, says(out, ANSWERS[1])) == (1, [])
    repaired = FILES[1].replace("full_name IS NULL", "full_name IS DISTINCT FROM name")
    code, out = answer(repaired, tmp_path, capsys, "--words")
    assert (code, says(out, ANSWERS[2])) == (0, [])
    for what in ("gates:", "holds up others", "AddField", "RemoveField"):
        assert what in out


def test_a_mistake_is_named_as_the_page_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out = answer(FILES[0].replace("\nschema =", "\nshema ="), tmp_path, capsys)
    assert (code, says(out, ANSWERS[3])) == (2, [])


def test_the_page_has_no_other_files_and_answers() -> None:
    assert (len(FILES), len(ANSWERS)) == (2, 4)
