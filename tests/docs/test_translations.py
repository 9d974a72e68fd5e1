"""Texts of the pages and their Chinese: every text is translated, and what is compiled is what is written.

After a text has changed: edit locale/zh_Hans/LC_MESSAGES/django.po, then `manage.py compilemessages`.
"""

import ast
import functools
import gettext
import re

import pytest
from django.utils.translation import templatize

from catalog.story import NO_ROWS, SENTENCES, UNCOUNTED, UNEXPLAINED
from catalog.text.sentence import WORDS
from lab.explorer import verdict
from tests.docs.places import ROOT, kept, source, tree

FOLDER = ROOT / "locale/zh_Hans/LC_MESSAGES"
STRING = r'"((?:[^"\\]|\\.)*)"'
FIRST_ARGUMENT = {"gettext": 0, "gettext_lazy": 0, "gettext_noop": 0, "_": 0, "ngettext": 0, "pgettext": 1, "Text": 0}
"""The place of the text among the arguments of a function that marks it; `Text` is `catalog.text.message.Text`."""
VALUES_ONLY = re.compile(r"(\{\w+\})?")
"""A template in which there is nothing to translate."""
NO_APPS = ("tests/", "tools/", "static/", "docs/")


def joined(strings: str) -> str:
    """The text of a run of quoted strings, as in a .po file."""
    return "".join(ast.literal_eval(f'"{one}"') for one in re.findall(STRING, strings))


@functools.cache
def catalogue(*, in_context: bool = True) -> dict[str, str]:
    """The written texts and their Chinese; of a plural the only form that Chinese has. Without those `in_context`:
    what a text that names no context finds."""
    found = {}
    for block in (FOLDER / "django.po").read_text(encoding="utf-8").split("\n\n")[1:]:
        text = re.search(rf"^msgid ((?:{STRING}\n?)+)", block, re.MULTILINE)
        chinese = re.search(rf"^msgstr(?:\[0\])? ((?:{STRING}\n?)+)", block, re.MULTILINE)
        assert text is not None, block
        assert chinese is not None, block
        if not in_context and re.search("^msgctxt", block, re.MULTILINE):
            continue
        found[joined(text[1])] = joined(chinese[1])
    return found


def texts_of(module: ast.Module, but: str = "") -> list[str]:
    """The texts that a module marks for translation, by another function than `but`."""
    calls = [node for node in ast.walk(module) if isinstance(node, ast.Call)]
    found = []
    for call in calls:
        name = getattr(call.func, "id", None)
        if name == but:
            continue
        at = FIRST_ARGUMENT.get(name) if name is not None else None
        if at is not None and len(call.args) > at and isinstance(call.args[at], ast.Constant):
            found.append(call.args[at].value)
    return [text for text in found if not VALUES_ONLY.fullmatch(text)]


@functools.cache
def calls_in(path: str) -> ast.Module:
    """A template's texts as calls in Python, without what stands between them."""
    names = "|".join(name for name in FIRST_ARGUMENT if name != "_")
    call = rf"(?:\b(?:{names})|\b_)\((?:[^()\"']|{STRING}|'(?:[^'\\]|\\.)*')*\)"
    return ast.parse("\n".join(match[0] for match in re.finditer(call, templatize(source(path)))))


SPEAKING = (
    "changes/plan/",
    "changes/planning/",
    "changes/pages/preview.py",
    "changes/executor/interventions.py",
    "changes/executor/machine.py",
    "changes/executor/state.py",
    "changes/driver/reorganisations.py",
    "nodes/traffic/runs.py",
    "schemalab/operations/faults.py",
    "schemalab/supervisor/refusals.py",
    "schemalab/supervisor/restarts.py",
    "leases/staircase/phases.py",
)
"""Modules whose sentences pages say in their reader's language (`catalog.text.sentence.Sentence`)."""
IN_OTHERS = frozenset({"the deletion of {pairs} has begun", "{states} since {versions}"})
"""Reasons that stand in other sentences, which have their Chinese."""


def sentences_of(module: ast.Module) -> list[str]:
    """The templates of a module's sentences: literals in calls, and all constants with names in them."""
    found = []
    for node in ast.walk(module):
        if isinstance(node, ast.Call) and getattr(node.func, "id", None) in ("Sentence", "NoUndo") and node.args:
            found += [node.args[0].value] if isinstance(node.args[0], ast.Constant) else []
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and re.search(r"\{[a-z]+\}", node.value):
            found.append(node.value)
    return [text for text in found if not VALUES_ONLY.fullmatch(text) and text not in IN_OTHERS]


@functools.cache
def marked() -> dict[str, str]:
    """Every text that is marked for translation, and a file that has it."""
    found = {}
    for path in kept():
        if path.endswith((".html", ".py")) and not path.startswith(NO_APPS):
            module = calls_in(path) if path.endswith(".html") else tree(path)
            found |= dict.fromkeys(texts_of(module), path.rpartition("/")[2])
        if path.startswith(SPEAKING) and path.endswith(".py"):
            found |= dict.fromkeys(sentences_of(tree(path)), path)
    for sentences in (SENTENCES, UNCOUNTED, UNEXPLAINED, NO_ROWS):
        found |= dict.fromkeys([*sentences, *sentences.values()], "story.py")
    return found | dict.fromkeys(WORDS, "sentence.py") | dict.fromkeys(verdict.SENTENCES.values(), "verdict.py")


def test_every_text_has_its_chinese() -> None:
    known = catalogue()
    assert {text: where for text, where in marked().items() if not known.get(text)} == {}


def test_a_text_of_a_template_without_a_context_has_a_chinese_of_its_own() -> None:
    known = catalogue(in_context=False)
    missing = {}
    for path in kept():
        if path.startswith("templates/") and path.endswith(".html"):
            texts = texts_of(calls_in(path), but="pgettext")
            missing |= {text: path for text in texts if not known.get(text)}
    assert missing == {}


def test_a_text_and_its_chinese_have_the_same_values() -> None:
    """In `{names}`, as `catalog.text.message.Text` has them; a % stands for nothing there."""
    chinese = {text: catalogue()[text] for text in marked() if "{" in text and "%" not in text}
    differing = {text: other for text, other in chinese.items() if names_in(text) != names_in(other)}
    assert differing == {}
    assert chinese


def names_in(text: str) -> set[str]:
    return set(re.findall(r"\{(\w+)\}", text))


def test_every_template_of_a_text_is_a_literal() -> None:
    """What is not cannot be found, so it would have no Chinese. A template that was taken from another text is one."""
    calls = {
        f"{path}:{call.lineno}": call.args[0]
        for path in kept()
        if path.startswith(("catalog/", "changes/", "lab/")) and path.endswith(".py")
        for call in ast.walk(tree(path))
        if isinstance(call, ast.Call) and getattr(call.func, "id", None) == "Text"
    }
    assert [at for at, template in calls.items() if not _is_literal(template)] == []
    assert len(calls) > 200


def _is_literal(template: ast.expr) -> bool:
    if isinstance(template, ast.Attribute):
        return template.attr == "template"
    return isinstance(template, ast.Constant)


def test_what_is_compiled_is_what_is_written() -> None:
    with (FOLDER / "django.mo").open("rb") as file:
        compiled = gettext.GNUTranslations(file)._catalog  # type: ignore[attr-defined]
    texts = {key[0] if isinstance(key, tuple) else key: value for key, value in compiled.items() if key}
    assert {text.rpartition("\x04")[2]: value for text, value in texts.items()} == catalogue()


@pytest.mark.parametrize("part", ["change", "lanes", "plan", "headline"])
def test_texts_of_a_template_are_found(part: str) -> None:
    path = f"templates/parts/{part}.html"
    marks = len(re.findall(r"{% (?:blocktranslate|translate \")", source(path)))
    assert len(texts_of(calls_in(path))) == marks > 0
