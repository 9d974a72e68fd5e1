"""Commands that pages name can be given: the command is there, and so are its options and make's targets."""

import re
from argparse import ArgumentParser, _SubParsersAction
from collections.abc import Iterator

import pytest
from django.core.management import get_commands, load_command_class

from tests.docs.places import ROOT, kept

PAGES = {path: (ROOT / path).read_text(encoding="utf-8") for path in kept() if path.endswith(".md")}
MANAGE = re.compile(r"manage\.py ([a-z-]+(?: [^`\n#]*)?)")
MAKE = re.compile(r"(?:`|^ {4}|^)make ([a-z]+)(?=[`\n ]|$)", re.MULTILINE)
TARGETS = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
MADE = sorted({(page, target) for page, text in PAGES.items() for target in MAKE.findall(text)})
LINES = sorted({(page, line.strip()) for page, text in PAGES.items() for line in MANAGE.findall(text)})


@pytest.mark.parametrize(("page", "line"), LINES)
def test_a_command_that_a_page_names_can_be_given(page: str, line: str) -> None:
    name, *rest = line.split()
    assert name in get_commands()
    parser = load_command_class(get_commands()[name], name).create_parser("manage.py", name)
    given = {word.strip('.,:;[]()"').split("=")[0] for word in rest if word.lstrip("[").startswith("--")}
    assert given <= set(options_of(parser))


def options_of(parser: ArgumentParser) -> Iterator[str]:
    yield from parser._option_string_actions
    for action in parser._actions:
        if isinstance(action, _SubParsersAction):
            for sub in action.choices.values():
                yield from options_of(sub)


@pytest.mark.parametrize(
    ("page", "target"), sorted({(page, t) for page, text in PAGES.items() for t in MAKE.findall(text)})
)
def test_a_target_that_a_page_names_exists(page: str, target: str) -> None:
    assert target in TARGETS
