"""The recipes are true: the files that each names are those through which its example runs."""

import re

import pytest

from tests.docs.places import ROOT, kept

PAGE = (ROOT / "docs" / "contributing.md").read_text(encoding="utf-8")
RECIPES = dict(re.findall(r"^### (.+?)\n(.+?)(?=^##|\Z)", PAGE, re.MULTILINE | re.DOTALL))
EXAMPLES = {
    "A new kind of element": {
        "(catalog|storage|changes|spark_tasks|lab)/": r"\bUNIQUE_INDEX\b|\bNewUnique\b|CONSTR_UNIQUE",
        "(storage|spark_tasks)/": r"\bindex\.unique\b",
    },
    "A new page": {"": r'views\.about\b|def about\(request\b|"about\.html"|"/about/"|url "about"|About this cluster'},
    "A new SQL statement": {r"(?!(tests/)?lab/exercises/)": r'"explain"|import explain|def explain\(|`EXPLAIN`'},
    "A new golden script": {"": r'@command\("store flushes"|\| `store flushes` \|'},
    "A new setting": {"": r"\bSUBMITTERS_STEER\b"},
}
"""What betrays the example of each recipe in the files it runs through, and in which folders it is looked for: that
planner and nodes *use* an index because it is unique is no part of the kind."""

KIND_FILES_MAX = 25
"""A plain new kind of element is not to touch more modules than this."""

OTHERS = re.compile(r"^tests/docs/|^docs/contributing\.md|/migrations/|\.mo$|^static/vendor/")


def files_of(recipe: str) -> list[str]:
    return re.findall(r"^\| `([^`]+)` \|", RECIPES[recipe], re.MULTILINE)


def files_with(recipe: str) -> set[str]:
    return {
        path
        for folder, pattern in EXAMPLES[recipe].items()
        for path in kept()
        if re.match(folder, path) and path.endswith(TEXTS) and not OTHERS.search(path)
        if re.search(pattern, (ROOT / path).read_text(encoding="utf-8"))
    }


TEXTS = (".py", ".md", ".html", ".js", ".css", ".po", ".example", ".script", ".sql")


def test_every_recipe_has_an_example_that_is_followed() -> None:
    assert set(RECIPES) == set(EXAMPLES)


@pytest.mark.parametrize("recipe", EXAMPLES)
def test_a_recipe_names_the_files_of_its_example(recipe: str) -> None:
    assert sorted(files_of(recipe)) == sorted(files_with(recipe))


@pytest.mark.parametrize("recipe", EXAMPLES)
def test_a_recipe_names_each_file_once(recipe: str) -> None:
    assert len(files_of(recipe)) == len(set(files_of(recipe)))


def test_a_new_kind_of_element_touches_few_modules() -> None:
    assert len(files_of("A new kind of element")) <= KIND_FILES_MAX
