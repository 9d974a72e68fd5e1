"""`manage.py exercises check` finds what is wrong with a chapter: each mistake once, in a copy of a good one."""

import io
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from lab.exercises.checking import faults_of
from lab.exercises.shelf import OURS, books, read_book
from lab.management.commands.exercises import known

GOOD = "01-one-jump"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of a good chapter in a folder of its own."""
    shutil.copytree(OURS / GOOD, tmp_path / GOOD)
    return tmp_path / GOOD


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


MENDED = next(line for line in (OURS / GOOD / "exercise.toml").read_text().splitlines() if line.startswith("mended"))
NOT_MENDED = 'mended = { steps = ["publish.2", "n2.acquire", "n2.insert.1.1"] }'
AHEAD = '\nsteps = ["publish.2", "n2.acquire", "n1.insert.1.1"]'
FOUND = 'id = "found-by-table"'
MISTAKES = [
    pytest.param("exercise.toml", "act = 1", "act = 1\nactt = 2", "unknown key 'actt'", id="an unknown key"),
    pytest.param(
        "exercise.toml",
        '"n2.acquire"]\ndo',
        '"n3.acquire"]\ndo',
        "screen two-servers: step 2, n3.acquire, is not possible",
        id="an impossible step",
    ),
    pytest.param(
        "exercise.toml",
        'do = ["n2.insert.1.1"]',
        'do = ["n2.delete.1"]',
        "screen two-servers: step 5",
        id="an impossible first action",
    ),
    pytest.param(
        "exercise.toml",
        'answer = "entry"',
        'answer = "nothing"',
        "the answer is nothing, the machine says entry",
        id="an answer that is not true",
    ),
    pytest.param(
        "exercise.toml",
        'entry = ["entry 1→r1"]',
        'entry = ["entry 2→r1"]',
        "the machine says none of the choices",
        id="no choice is true",
    ),
    pytest.param(
        "exercise.toml",
        "nothing = []",
        'nothing = ["entry 1→r1"]',
        "two choices stand for the same",
        id="two choices for one thing",
    ),
    pytest.param(
        "exercise.toml",
        'asks = "pairs"',
        'asks = "weather"',
        "'weather' is no question; questions are: pairs",
        id="no question",
    ),
    pytest.param(
        "exercise.toml",
        '"n2.acquire", "n1.insert.1.1"]',
        '"n2.acquire", "n2.insert.1.1"]',
        "its own solution is wrong: not yet there: missing entry (C4) under v2: a row without its entry",
        id="a solution that does not pass",
    ),
    pytest.param(
        "exercise.toml",
        'until = ["C4@v2"]\nby = "insert"',
        'until = ["C4@v2"]\nsteps = ["n1.insert.1.1"]',
        "unknown key 'steps'",
        id="a key of another table",
    ),
    pytest.param(
        "exercise.toml",
        FOUND,
        FOUND + AHEAD,
        "screen found-by-table: its own solution is wrong: step 7",
        id="a solution from elsewhere",
    ),
    pytest.param(
        "exercise.toml",
        "step = 3",
        "step = 2",
        "its own solution is wrong: that clause did not break at that step",
        id="another step",
    ),
    pytest.param("exercise.toml", MENDED, NOT_MENDED, "C3 is broken in the mended session too", id="nothing is mended"),
    pytest.param("exercise.toml", 'rules = ["C4"]', 'rules = ["C9"]', "there is no rule C9", id="no rule of that name"),
    pytest.param(
        "exercise.toml",
        'sections = ["2", "4"]',
        'sections = ["2", "44"]',
        "the protocol has no section 44",
        id="no section of that number",
    ),
    pytest.param(
        "exercise.toml",
        "storage/mutations.py",
        "storage/muttations.py",
        "there is no file storage/muttations.py",
        id="no file of that name",
    ),
    pytest.param(
        "exercise.toml",
        'setup = "one-jump"',
        'setup = "two-jumps"',
        "there is no set-up two-jumps",
        id="no set-up of that name",
    ),
    pytest.param(
        "en.md",
        "### hint-2",
        "### hint-9",
        "en.md: what-is-left.hint-2: this text is missing",
        id="a hint is missing in English",
    ),
    pytest.param(
        "zh-hans.md",
        "### solution",
        "### solutoin",
        "zh-hans.md: what-is-left.solution: this text is missing",
        id="a solution is missing in Chinese",
    ),
    pytest.param(
        "zh-hans.md",
        "# 一步到位",
        "<h1>一步到位</h1>",
        "zh-hans.md: line 1: a text before the title",
        id="HTML for Markdown",
    ),
    pytest.param(
        "en.md",
        "### choice row",
        "### choice rows",
        "what-is-left.choice row: this text is missing",
        id="a choice without words",
    ),
]


@pytest.mark.parametrize(("name", "old", "new", "says"), MISTAKES)
def test_a_mistake_is_found(folder: Path, name: str, old: str, new: str, says: str) -> None:
    edit(folder / name, old, new)
    found = [str(fault) for fault in faults_of(read_book(folder), known())]
    assert [one for one in found if says in one], found


def test_an_untouched_start_that_passes_is_found(folder: Path) -> None:
    """What is to be reached is broken already where the screen begins."""
    structure = folder / "exercise.toml"
    edit(
        structure,
        'id = "found-by-table"',
        'id = "found-by-table"\nsteps = ["publish.2", "n2.acquire", "n1.insert.1.1"]',
    )
    edit(
        structure,
        'by = "insert"\nsolution = ["publish.2", "n2.acquire", "n1.insert.1.1"]',
        'solution = ["n1.update.1.2"]',
    )
    assert [fault.why for fault in faults_of(read_book(folder), known())] == [
        "screen found-by-table: the untouched start passes"
    ]


def test_a_wrong_sequence_that_passes_is_found(tmp_path: Path) -> None:
    folder = tmp_path / "00-new-messenger"
    shutil.copytree(OURS / folder.name, folder)
    edit(folder / "exercise.toml", 'wrong = ["both/mail"]', 'wrong = ["both/both"]')
    assert [fault.why for fault in faults_of(read_book(folder), known())] == [
        "screen one-in-between: its wrong sequence passes"
    ]


@pytest.mark.parametrize("name", ["exercise.toml", "en.md", "zh-hans.md"])
def test_a_file_that_is_missing_is_a_fault(folder: Path, name: str) -> None:
    (folder / name).unlink()
    assert any(f"{name} cannot be read" in str(fault) for fault in faults_of(read_book(folder), known()))


def test_a_file_that_is_no_text_or_too_long_is_a_fault(folder: Path) -> None:
    (folder / "en.md").write_bytes(b"\xff\xfe")
    (folder / "exercise.toml").write_text("#" * 300_000)
    whys = [str(fault) for fault in faults_of(read_book(folder), known())]
    assert any("exercise.toml has 300000 bytes" in why for why in whys)
    assert any("en.md is no UTF-8 text" in why for why in whys)


def test_a_teachers_folder_stands_beside_ours_and_hides_none_of_them(folder: Path) -> None:
    shutil.copytree(folder, folder.parent / "21-my-own")
    found = {book.folder: book for book in books(folder.parent)}
    assert found["21-my-own"].faults == ()
    assert found["21-my-own"].chapter is not None
    assert any("already" in why for why in found[GOOD].faults)
    assert [book.folder for book in books(folder.parent)].count(GOOD) == 2


def test_what_a_teacher_writes_is_seen_without_a_restart(folder: Path) -> None:
    folder.rename(folder.with_name("21-my-own"))
    own = folder.with_name("21-my-own")
    assert _title(own) == "One jump"
    edit(own / "en.md", "# One jump", "# My own title")
    assert _title(own) == "My own title"


def _title(own: Path) -> str:
    return next(book.text("en", "title") for book in books(own.parent) if book.folder == own.name)


def run(*args: str) -> tuple[int, str]:
    out = io.StringIO()
    code = 0
    try:
        call_command("exercises", *args, stdout=out)
    except SystemExit as ended:
        code = int(ended.code or 0)
    except CommandError as error:
        return error.returncode, str(error)
    return code, out.getvalue()


def test_the_command_says_nothing_is_wrong(folder: Path) -> None:
    code, out = run("check", str(folder.parent))
    assert (code, out.startswith("1 chapters, no faults")) == (0, True)


def test_the_command_says_what_is_wrong(folder: Path) -> None:
    edit(folder / "en.md", "### hint-2", "### hint-9")
    code, out = run("check", str(folder.parent), "--json")
    result: dict[str, Any] = json.loads(out)
    assert code == 1
    assert sorted(result["faults"][GOOD]) == [
        "en.md: what-is-left.hint-2: this text is missing",
        "en.md: what-is-left.hint-9: nothing in exercise.toml has this text",
    ]


def test_the_command_lists_chapters_with_their_tasks() -> None:
    code, out = run("list", "--json")
    chapter = next(one for one in json.loads(out) if one["chapter"] == GOOD)
    assert code == 0
    assert (chapter["title"], chapter["tasks"]["reach"]) == ("One jump", 3)


@pytest.mark.parametrize("args", [("check", "/no/such/folder"), ("check", "/proc/self/fd")])
def test_a_folder_that_is_none_is_bad_usage(args: tuple[str, ...]) -> None:
    assert run(*args)[0] == 2
