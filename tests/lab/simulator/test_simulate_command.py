"""manage.py simulate: exit codes, one line for bad usage, JSON, a golden script."""

import json
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from lab.scripts.golden import play


def run(capsys: pytest.CaptureFixture[str], *args: str) -> tuple[int, str]:
    with pytest.raises(SystemExit) as ended:
        call_command("simulate", *args)
    return int(ended.value.code or 0), capsys.readouterr().out


def test_nothing_found_is_exit_code_0(capsys: pytest.CaptureFixture[str]) -> None:
    code, out = run(capsys, "--seeds", "1..3", "--json")
    said = json.loads(out)
    assert (code, said["runs"], said["found"], said["faults"]) == (0, 3, None, "all")
    assert said["sometimes"]["events"] == said["events"]


def test_a_finding_is_exit_code_1_with_its_seed_and_the_command_that_repeats_it(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    code, out = run(capsys, "--seeds", "1..200", "--without", "deletion", "--json")
    found = json.loads(out)["found"]
    assert (code, found["rule"]) == (1, "C3")
    assert found["command"] == f'manage.py simulate --seed {found["seed"]} --faults all --without "deletion"'
    golden = tmp_path / "found.script"
    code, out = run(capsys, "--seed", str(found["seed"]), "--without", "deletion", "--golden", str(golden))
    assert code == 1
    assert "shortest: C3: " in out
    assert play(golden.read_text(encoding="utf-8")).is_same


def test_several_processes_find_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    code, out = run(capsys, "--seeds", "1..4", "--jobs", "2", "--events", "30", "--json")
    assert (code, json.loads(out)["runs"]) == (0, 4)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        pytest.param(("--seeds", "7"), "--seeds '7' is not of the form A..B", id="no range"),
        pytest.param(("--seeds", "9..1"), "--seeds '9..1' is not of the form A..B", id="an empty range"),
        pytest.param(("--faults", "rain"), "'rain' is no fault", id="an unknown fault"),
        pytest.param(("--without", "gravity"), "'gravity' is not a valid Without; rules that", id="an unknown rule"),
        pytest.param(("--events", "-1"), "--events -1 is not between", id="too few events"),
        pytest.param(("--jobs", "0"), "--jobs 0 is less than 1", id="no process"),
        pytest.param(("--golden", "x"), "--golden needs one run", id="a script of a range"),
    ],
)
def test_bad_usage_is_one_clear_line(args: tuple[str, ...], message: str) -> None:
    with pytest.raises(CommandError) as refused:
        call_command("simulate", *args)
    assert refused.value.returncode == 2
    assert message in str(refused.value)
