"""A run whose workers collect late runs the same tests, and keeps what the files of a folder share."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
FILES = {
    "shared/__init__.py": "",
    "shared/conftest.py": "import pytest\n@pytest.fixture(scope='package')\ndef seen():\n    return []\n",
    "shared/test_a.py": "def test_first(seen):\n    seen.append(1)\n",
    "shared/test_b.py": "import pytest\n@pytest.mark.soak\ndef test_left_out():\n    pass\n",
    "shared/test_c.py": "def test_second(seen):\n    assert seen == [1]\n",
    "test_d.py": "import no_such_module\n",
    "test_e.py": "def test_third():\n    assert 1 + 1 == 3\n",
}


def test_files_are_collected_when_their_turn_comes(tmp_path: Path) -> None:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = -n 1 --dist loadgroup --whole-files -m 'not soak' -rA\n")
    environ = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    command = (sys.executable, "-m", "pytest", "-p", "tests.whole_files", "-p", "no:django", "--rootdir", tmp_path)
    run = subprocess.run(
        command, cwd=tmp_path, env=environ | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False
    )
    assert "[5 items]" in run.stdout
    assert "PASSED shared/test_a.py::test_first" in run.stdout
    assert "PASSED shared/test_c.py::test_second" in run.stdout
    assert "ERROR test_d.py" in run.stdout
    assert "FAILED test_e.py::test_third - assert (1 + 1) == 3" in run.stdout
    assert "1 failed, 2 passed, 2 skipped" in run.stdout  # skipped: the files without a test
    assert run.returncode == 1
