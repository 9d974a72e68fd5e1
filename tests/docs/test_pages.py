"""The pages hang together: the tour has an order, and whatever a page names in the code is there."""

import ast
import re
from pathlib import Path, PurePath

import pytest

from tests.docs.places import ROOT, exists, kept, named, source

TOUR = ROOT / "docs" / "architecture"
STOPS = re.findall(r"^\d+\. \[([^\]]+)\]\((\w+)\.md\)", (TOUR / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
BESIDE = {"README", "reading"}
"""Pages of the folder that are no stops of the tour."""


def test_the_tour_names_all_its_pages_once() -> None:
    assert sorted(name for _, name in STOPS) == sorted(
        page.stem for page in TOUR.glob("*.md") if page.stem not in BESIDE
    )


@pytest.mark.parametrize("place", range(len(STOPS)), ids=[name for _, name in STOPS])
def test_a_page_of_the_tour_bears_its_number_and_leads_on(place: int) -> None:
    lines = (TOUR / f"{STOPS[place][1]}.md").read_text(encoding="utf-8").splitlines()
    links = ["[The tour](README.md)"]
    if place > 0:
        links.insert(0, "[Previous: {}]({}.md)".format(*STOPS[place - 1]))
    if place + 1 < len(STOPS):
        links.append("[Next: {}]({}.md)".format(*STOPS[place + 1]))
    assert (lines[0], lines[-1]) == (f"# {place + 1}. {STOPS[place][0]}", " · ".join(links))


@pytest.mark.parametrize("page", [path for path in kept() if path.endswith(".md")])
def test_files_and_modules_that_a_page_names_exist(page: str) -> None:
    assert [name for name in named(source(page)) if not exists(name, page)] == []


def test_files_and_modules_that_docstrings_and_comments_name_exist() -> None:
    """Code names other code, too: a move leaves no wrong sign behind."""
    missing = [
        f"{path}: {name}"
        for path in kept()
        if path.endswith(".py") and "/migrations/" not in path
        for name in named(source(path))
        if not exists(name, path)
    ]
    assert missing == []


DJANGO = {
    "admin", "apps", "management", "migrations", "models", "selectors", "services", "streams", "tasks", "templatetags",
    "urls", "views",
}  # fmt: skip
"""Django's usual names need no line in a table of contents."""


def test_every_package_of_the_project_has_a_table_of_contents() -> None:
    """The docstring of an `__init__.py` names its modules and rooms: who looks for something begins there."""
    assert {str(folder): names for folder in packages() if (names := unnamed(folder))} == {}


def packages() -> list[Path]:
    others = re.compile(r"^tests/|/(management|migrations|templatetags)/")
    return [Path(path).parent for path in kept() if path.endswith("/__init__.py") and not others.search(path)]


def unnamed(folder: Path) -> list[str]:
    """The modules and rooms of a package that its docstring does not name."""
    inside = [PurePath(path) for path in kept() if path.startswith(f"{folder}/") and path.endswith(".py")]
    modules = {path.stem for path in inside if path.parent == folder}
    rooms = {path.parent.name for path in inside if path.parent.parent == folder and path.stem == "__init__"}
    text = ast.get_docstring(ast.parse((ROOT / folder / "__init__.py").read_text(encoding="utf-8"))) or ""
    words = set(re.findall(r"\w+", text))
    return sorted((modules | rooms) - {"__init__", "__main__"} - DJANGO - words)


def test_the_changelog_is_short_enough_to_be_read() -> None:
    assert len((ROOT / "CHANGELOG.md").read_text(encoding="utf-8").splitlines()) <= 60
