"""The storm over a cluster of its own: short, and with a fault made on purpose, which must turn it red."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.harness.cluster import ROOT

STORM_S_MAX = 900.0


def storm(folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "tests.soak", "--json", "--keep", str(folder), *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=STORM_S_MAX)


@pytest.mark.soak
@pytest.mark.parametrize(
    ("sabotage", "found"),
    [("row", "no existence"), ("entry", "no row asks for"), ("acknowledged", "was acknowledged as")],
)
def test_a_fault_made_on_purpose_is_found(tmp_path: Path, sabotage: str, found: str) -> None:
    done = storm(tmp_path, "--calm", "--minutes", "0.2", "--seed", "1", "--sabotage", sabotage)
    assert done.returncode == 1, done.stderr
    seen = json.loads(done.stdout)
    assert any(found in violation for violation in seen["violations"]), seen["violations"]
    assert "VIOLATION" in (tmp_path / "storm.log").read_text()
