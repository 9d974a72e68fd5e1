"""The fingerprint of the rules: any code that a proof runs, however deep it lies, changes it."""

import subprocess
import sys
from pathlib import Path

import pytest

from lab import services
from lab.explorer.fingerprint import PLACES, RECORDED, ROOT, fingerprint
from lab.sessions import session

LOADED = """
import sys
import {modules}
print(*{{m.__file__ for m in sys.modules.values() if getattr(m, "__file__", None)}}, sep="\\n")
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name in ("catalog/states.py", "changes/plan/model.py", "lab/explorer/deep/down/rule.py"):
        file = tmp_path / name
        file.parent.mkdir(parents=True)
        file.write_text("RULE = 1\n")
    return tmp_path


def hashed(tree: Path) -> str:
    return fingerprint.__wrapped__(tree)


@pytest.mark.parametrize("name", ["catalog/states.py", "changes/plan/model.py", "lab/explorer/deep/down/rule.py"])
def test_a_rule_that_changes_is_another_rule_at_any_depth(tree: Path, name: str) -> None:
    before = hashed(tree)
    (tree / name).write_text("RULE = 2\n")
    assert hashed(tree) != before


def test_a_rule_that_moves_is_another_rule(tree: Path) -> None:
    before = hashed(tree)
    (tree / "changes/plan/model.py").rename(tree / "changes/model.py")
    assert hashed(tree) != before


def test_a_single_file_counts_too(tree: Path) -> None:
    (tree / "lab/rule.py").write_text("RULE = 1\n")
    before = fingerprint.__wrapped__(tree, ("lab/rule.py",))
    (tree / "lab/rule.py").write_text("RULE = 2\n")
    assert fingerprint.__wrapped__(tree, ("lab/rule.py",)) != before


def test_what_is_no_rule_does_not_count(tree: Path) -> None:
    before = hashed(tree)
    (tree / "nodes").mkdir()
    (tree / "nodes/server.py").write_text("RULE = 1\n")
    (tree / "changes/plan/notes.txt").write_text("nothing\n")
    assert hashed(tree) == before


@pytest.mark.parametrize(
    ("modules", "places"),
    [
        pytest.param("lab.explorer.planned, lab.explorer.variants, lab.explorer.verdict", PLACES, id="proofs"),
        pytest.param("lab.sessions.replay", session.PLACES, id="sessions"),
        pytest.param("lab.questions.search, lab.questions.goal, lab.questions.aimed", services.PLACES, id="questions"),
    ],
)
def test_all_that_finds_an_answer_is_in_its_hash(modules: str, places: tuple[str, ...]) -> None:
    program = LOADED.format(modules=modules)
    ran = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    ours = [Path(file).relative_to(ROOT) for file in ran.stdout.split() if file.startswith(f"{ROOT}/")]
    ours = [file for file in ours if file.parts[0] != ".venv" and file.name != "__init__.py"]
    assert len(ours) > 30
    assert [str(file) for file in ours if not any(file.is_relative_to(place) for place in places)] == []


def test_an_archive_of_part_of_the_code_has_the_fingerprints_of_all_of_it(tmp_path: Path) -> None:
    (tmp_path / RECORDED).write_text('{"lab/sessions lab/rule.py": "0123456789abcdef"}')
    assert fingerprint(tmp_path, ("lab/sessions", "lab/rule.py")) == "0123456789abcdef"
    assert fingerprint(tmp_path, ("lab/sessions",)) != "0123456789abcdef"
