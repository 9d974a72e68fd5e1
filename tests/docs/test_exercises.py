"""The reference of the exercise format names every key, question and kind, and nothing else."""

import ast
import inspect
import re
from collections.abc import Callable
from dataclasses import fields

import pytest

from lab.exercises import chapter, observations, reading
from tests.docs.places import ROOT

PAGE = (ROOT / "docs/reference/exercises.md").read_text(encoding="utf-8")
PARTS = dict(re.findall(r"^### (.+?)\n(.+?)(?=^##|\Z)", PAGE, re.MULTILINE | re.DOTALL))
READ = re.compile(
    r'\.(?:text|number|flag|flag_or|items|words|steps|table|one_of)\("(\w+)"|_(?:dict|values)\(\w+, "(\w+)"'
)
READERS = {
    "Of a chapter": (reading.read_chapter,),
    "Of a screen": (reading._screen,),
    "Of sources": (reading._sources,),
    **{name: (reader,) for name, reader in reading.READERS.items()},
}
START = set(READ.findall(inspect.getsource(reading._start))) | {("parameters", "")}


def fields_read(reader: Callable[..., object]) -> set[str]:
    """The fields of a class that a reader takes from the table as they are called."""
    calls = (node for node in ast.walk(ast.parse(inspect.getsource(reader))) if isinstance(node, ast.Call))
    return {
        one.name
        for call in calls
        if isinstance(call.func, ast.Attribute) and call.func.attr == "read" and isinstance(call.args[0], ast.Name)
        for one in fields(getattr(reading, call.args[0].id))
        if one.name not in {keyword.arg for keyword in call.keywords}
    }


def keys_read(name: str) -> set[str]:
    """The keys that a reader asks for."""
    found = {one or other for reader in READERS[name] for one, other in READ.findall(inspect.getsource(reader))}
    found |= {key for reader in READERS[name] for key in fields_read(reader)}
    if name == "Of sources":
        found -= {"sources"}
    if name == "predict":
        found |= {one or other for one, other in READ.findall(inspect.getsource(reading._answer))}
    if name == "Of a chapter":
        found |= {"parameters", "sources"}
    if name == "Of a screen":
        found |= {"sources"} | {one or other for one, other in START}
    return found


def keys_documented(name: str) -> set[str]:
    rows = re.findall(r"^\| (`\w+`(?:, `\w+`)*) \| ", PARTS[name], re.MULTILINE)
    return {key for row in rows for key in re.findall(r"`(\w+)`", row)}


@pytest.mark.parametrize("name", READERS)
def test_every_key_is_documented_and_no_other(name: str) -> None:
    questions = {"pairs", "entries", "clauses", "damage", "taken", "seconds"} if name == "predict" else set()
    assert keys_documented(name) - questions == keys_read(name)


def test_every_kind_of_task_has_a_part() -> None:
    assert set(chapter.KINDS) <= set(PARTS)


def test_every_form_is_documented() -> None:
    forms = re.search(r"^\| `form` \| (.+) \|$", PARTS["predict"], re.MULTILINE)
    assert forms is not None
    assert set(re.findall(r"`(\w+)`", forms[1])) == {form.value for form in chapter.Form}


def test_every_question_is_documented() -> None:
    rows = re.findall(r"^\| (`[^|]+`) \|", PARTS["predict"].partition("| `asks` |")[2], re.MULTILINE)
    asked = {question for row in rows for question in re.findall(r"`([^`]+)`", row)}
    table = re.findall(r"`([^`]+)`", PARTS["predict"])
    assert set(observations.QUESTIONS) <= asked | set(table)


@pytest.mark.parametrize("question", observations.QUESTIONS)
def test_a_documented_question_can_be_asked(question: str) -> None:
    patterns = [*observations.OF_SESSION, *observations.OF_NOTHING, r"explorer((?: \w+)+)", r"seconds until .+"]
    assert any(re.fullmatch(pattern, question) for pattern in patterns)
