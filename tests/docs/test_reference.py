"""The reference says what there is: every command and every setting is in it, and nothing that is not."""

import re
from pathlib import Path

import pytest
from django.core.management import get_commands

from schemalab.environment import SETTINGS

ROOT = Path(__file__).parents[2]
REFERENCE = ROOT / "docs" / "reference"
OURS = {"schemalab", "lab", "nodes", "changes", "spark_tasks", "leases", "storage", "catalog"}


def own_commands() -> set[str]:
    return {name for name, app in get_commands().items() if app in OURS}


@pytest.mark.parametrize("command", sorted(own_commands()))
def test_every_command_is_documented(command: str) -> None:
    assert re.search(rf"`{command}\b", (REFERENCE / "commands.md").read_text())


def test_every_documented_command_exists() -> None:
    rows = re.findall(r"^\| `([a-z-]+)\b", (REFERENCE / "commands.md").read_text(), re.MULTILINE)
    assert set(rows) - {"make"} <= own_commands()


@pytest.mark.parametrize("page", ["docs/reference/settings.md", ".env.example"])
@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.name)
def test_every_setting_is_documented(page: str, setting) -> None:
    assert re.search(rf"\b{setting.name}\b", (ROOT / page).read_text())


def pages() -> list[Path]:
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text())
    assert [link for link in links if not (page.parent / link).exists()] == []
