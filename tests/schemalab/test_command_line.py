"""manage.py as a newcomer meets it: our commands, each with a line, and bad usage in one line."""

import subprocess
import sys
from pathlib import Path

import pytest
from django.apps import apps
from django.core.management import get_commands

from schemalab.command_line import OF_UP, OVERVIEW, CommandLine
from tests.harness.cluster import ROOT, environment_of


def test_the_overview_has_every_command_of_ours_and_no_other() -> None:
    ours = {
        app.name for app in apps.get_app_configs() if Path(app.path).is_relative_to(ROOT) and ".venv" not in app.path
    }
    known = {name for name, app in get_commands().items() if app in ours}
    assert {name for commands in OVERVIEW.values() for name in commands} | OF_UP == known


def test_the_overview_says_what_each_does() -> None:
    text = CommandLine(["manage.py"]).main_help_text()
    assert "  change        submit a change, watch" in text
    assert "flush" not in text
    assert "flush" in CommandLine(["manage.py"]).main_help_text(commands_only=True)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        pytest.param(
            ["change", "show", "x"],
            "manage.py change show: argument ID: invalid int value: 'x'; see manage.py change show --help",
            id="a word for a number",
        ),
        pytest.param(
            ["node-control"],
            "manage.py node-control: the following arguments are required: action, name; "
            "see manage.py node-control --help",
            id="nothing",
        ),
    ],
)
def test_bad_usage_is_one_line(tmp_path: Path, words: list[str], said: str) -> None:
    done = subprocess.run(
        [sys.executable, "manage.py", *words],
        cwd=ROOT,
        env=environment_of(tmp_path / "home"),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"{said}\n")
