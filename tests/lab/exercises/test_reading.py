"""exercise.toml and the languages' files: what is read, and how mistakes are refused."""

import pytest

from lab.exercises.chapter import Explain, Form, Live, Predict, Reach, Survive
from lab.exercises.reading import BadExercise, read_chapter
from lab.exercises.texts import BadText, faults_of, read_texts, wanted
from tests.lab.exercises.chapters import DESIGN, EXPLAIN, FOLDER, PREDICT, REACH, screen_of, toml


def test_a_prediction() -> None:
    task = screen_of(PREDICT).task
    assert isinstance(task, Predict)
    assert (task.form, task.asks, task.answer) == (Form.CHOICE, "pairs", "both")
    assert task.then == ("n2.begin", "n2.read.1", "n2.write.insert.1.1", "n2.commit")
    assert task.values["row"] == frozenset({"row 1 (a=1)"})


def test_something_to_reach() -> None:
    task = screen_of(REACH + 'by = "insert"\nstatements = { n1 = 1 }\n').task
    assert isinstance(task, Reach)
    assert (task.until, task.by, task.statements) == (("C4@v2",), "insert", {"n1": 1})


def test_an_explanation_begins_where_its_screen_does_not() -> None:
    task = screen_of(EXPLAIN).task
    assert isinstance(task, Explain)
    assert task.mended.setup == "one-jump"
    assert task.mended.steps[1:3] == ("n1.acquire", "n2.acquire")


def test_what_is_live_asks_for_feats() -> None:
    assert screen_of('[screens.task]\nkind = "live"\n').task == Live()
    assert screen_of('[screens.task]\nkind = "live"\nasks = ["orphan"]\n').task == Live(("orphan",))
    with pytest.raises(BadExercise, match="asks: a-miracle is none of missing-entry, orphan"):
        screen_of('[screens.task]\nkind = "live"\nasks = ["a-miracle"]\n')


def test_someone_may_survive() -> None:
    task = screen_of('[screens.task]\nkind = "survive"\ngoal = "public"\nmoves_max = 25\n').task
    assert task == Survive("public", 25, ())


def test_a_screen_of_another_set_up_leaves_rules_and_parameters_behind() -> None:
    text = 'act = 1\nminutes = 1\nsetup = "fill"\nleft_out = ["blind"]\nparameters = { rows = [1] }\n'
    chapter = read_chapter(FOLDER, text + '[[screens]]\nid = "a"\n[[screens]]\nid = "b"\nsetup = "one-jump"\n')
    first, second = (screen.start for screen in chapter.screens)
    assert first is not None
    assert second is not None
    assert (first.left_out, first.parameters) == (frozenset({"blind"}), {"rows": (1,)})
    assert (second.left_out, second.parameters) == (frozenset(), {})


@pytest.mark.parametrize(
    ("text", "says"),
    [
        pytest.param("act = ", "is no TOML", id="no TOML"),
        pytest.param('act = 1\nminutes = "9"\n', "minutes must be a whole number, not '9'", id="a text for a number"),
        pytest.param("act = true\nminutes = 1\n", "act must be a whole number", id="true for a number"),
        pytest.param("minutes = 1\n", "'act' is missing", id="something missing"),
        pytest.param("act = 1\nminutes = 1\n", "1 to 40 screens", id="no screens"),
        pytest.param(toml('idd = "x"\n'), "unknown key 'idd'; it may have", id="an unknown key"),
        pytest.param(toml('[[screens]]\nid = "only"\n'), "two screens are called 'only'", id="a name twice"),
        pytest.param(toml('[[screens]]\nid = "Only"\n'), "small letters", id="a name with capitals"),
        pytest.param(toml('[screens.task]\nkind = "guess"\n'), "it may be predict, reach", id="an unknown kind"),
        pytest.param(toml(PREDICT.replace('"both"\n', '"all"\n')), "none of its choices", id="an answer of no choice"),
        pytest.param(
            toml(PREDICT.replace('"choice"', '"number"')), "must be a whole number", id="a number that is none"
        ),
        pytest.param(toml(PREDICT + 'options = ["x"]\n'), "a choice has choices", id="parts of another form"),
        pytest.param(toml(PREDICT + 'answr = "row"\n'), "unknown key 'answr'", id="an unknown key of a task"),
        pytest.param(toml(REACH.replace('until = ["C4@v2"]\n', "")), "at least one clause", id="nothing to reach"),
        pytest.param(toml(REACH + "statements = { n1 = true }\n"), "a number for each node", id="true statements"),
        pytest.param(toml(EXPLAIN.replace('= "delete-only"', '= "L2"')), "missing is one of its rules", id="no rule"),
        pytest.param(
            toml(DESIGN.replace('"plan"', '"poem"')), "it may be plan, states, ladder, handbooks", id="no grammar"
        ),
        pytest.param(toml('steps = ["publish.2", 3]\n'), "a list of texts", id="steps that are none"),
        pytest.param(toml("parameters = { rows = 1.5 }\n"), "parameters.rows must be", id="a parameter that is none"),
        pytest.param(toml('sources = { rule = ["C1"] }\n'), "sources: unknown key 'rule'", id="an unknown source"),
    ],
)
def test_mistakes_are_refused_with_their_place(text: str, says: str) -> None:
    with pytest.raises(BadExercise, match=says):
        read_chapter(FOLDER, text)


@pytest.mark.parametrize("folder", ["one-jump", "1-one-jump", "01-One-Jump", "01-one jump", "01-"])
def test_a_folder_has_a_number_and_words(folder: str) -> None:
    with pytest.raises(BadExercise, match="such as 01-one-jump"):
        read_chapter(folder, toml(PREDICT))


TEXT = """# A test

A lede.

## picture

A picture.

## only: Its title

The question, with

#### a heading of its own

### choice row

The row

### choice both

Both

### answer row

No.

### hint-1

a
### hint-2
b
### hint-3
c
### solution

d

```
## no heading
```
### why
e
"""


def test_texts_are_read_by_key() -> None:
    texts = read_texts("en", TEXT)
    assert (texts.get("title"), texts.get("lede")) == ("A test", "A lede.")
    assert texts.get("only.title") == "Its title"
    assert texts.get("only").endswith("#### a heading of its own")
    assert texts.get("only.solution") == "d\n\n```\n## no heading\n```"
    chapter = read_chapter(FOLDER, toml(PREDICT))
    assert list(faults_of(chapter, texts)) == []
    assert set(wanted(chapter)) == set(texts.by_key)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        pytest.param("### hint-2\n", "", "only.hint-2: this text is missing", id="a hint is missing"),
        pytest.param("No.", "", "only.answer row: this text is missing", id="nothing for a wrong choice"),
        pytest.param("### answer row", "### answer rwo", "only.answer rwo: nothing", id="an unknown key"),
        pytest.param("## picture", "## pictures", "picture: this text is missing", id="an unknown screen"),
        pytest.param("A lede.", "A <b>lede</b>.", "lede: <b> is HTML", id="HTML"),
        pytest.param("A lede.", "A `<b>` lede.", "", id="HTML as code"),
        pytest.param("A lede.", "![x](y.png)", "lede: pictures are no part", id="a picture"),
    ],
)
def test_faults_of_texts(old: str, new: str, says: str) -> None:
    assert old in TEXT
    chapter = read_chapter(FOLDER, toml(PREDICT))
    found = list(faults_of(chapter, read_texts("en", TEXT.replace(old, new))))
    assert [one for one in found if says and says in one] or found == []


@pytest.mark.parametrize(
    ("text", "says"),
    [
        pytest.param("Words\n# Title\n", "line 1: a text before the title", id="words first"),
        pytest.param("# Title\n### hint-1\n", "before the first screen", id="a part of no screen"),
        pytest.param("# T\n## a: b\n## a: c\n", "line 3: 'a' stands twice", id="a screen twice"),
        pytest.param("x" * 100_001, "100001 characters", id="too long"),
    ],
)
def test_files_that_are_no_texts(text: str, says: str) -> None:
    with pytest.raises(BadText, match=says):
        read_texts("en", text)
