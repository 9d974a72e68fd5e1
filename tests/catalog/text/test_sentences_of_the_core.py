"""Sentences of the core are worded by their templates; what is no sentence stays as it is."""

import json

import pytest

from catalog.story import sentence, shortened
from catalog.text.job_nodes import nodes_in_other_words
from catalog.text.sentence import FOLLOWED, Sentence, first_line, from_json, in_other_words, listed, to_json

CHINESE = {
    "fill {elements}": "填充{elements}",
    "index {name}": "索引 {name}",
    "{n} violations of {element}": "{element} 有 {n} 处违反",
    "column {name}": "列 {name}",
    "{element} {before} -> {after}": "{element}：{before} → {after}",
    "absent": "不存在",
    "delete-only": "仅删除",
    "{first}, {rest}": "{first}，{rest}",
    "{table} v{version} published: {what}.": "{table} v{version} 已发布：{what}。",
    "{n} rows": "{n} 行",
    "{What} finished: {rows} in {seconds} s.": "{What}：已完成 {rows}，用时 {seconds} 秒。",
}
INDEX, COLUMN = Sentence("index {name}", name="by_a"), Sentence("column {name}", name="a")
FILL = Sentence("fill {elements}", elements=INDEX)
MOVED = Sentence("{element} {before} -> {after}", element=INDEX, before="absent", after="delete-only")


def chinese(text: str) -> str:
    return CHINESE.get(text, text)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        pytest.param(FILL, "填充索引 by_a", id="a sentence in a sentence"),
        pytest.param(Sentence("fill {elements}", elements=listed([COLUMN, INDEX])), "填充列 a，索引 by_a", id="a list"),
        pytest.param(Sentence("index {name}", name="absent"), "索引 absent", id="a name that is a word of ours stays"),
        pytest.param(MOVED, "索引 by_a：不存在 → 仅删除", id="states"),
        pytest.param(Sentence("index {name}", name="{name}"), "索引 {name}", id="braces are no template"),
        pytest.param("absent", "不存在", id="a word of ours"),
        pytest.param("fill index by_a", "fill index by_a", id="somebody's own words stay"),
        pytest.param("", "", id="nothing"),
    ],
)
def test_a_line_in_other_words(line: str, said: str) -> None:
    assert in_other_words(line, chinese) == said
    kept = from_json(json.loads(json.dumps(to_json(line))))
    assert (kept, in_other_words(kept, chinese)) == (line, said)


@pytest.mark.parametrize(
    "whom", ["", "n1", "n1, n2", "n1 on trips", "n1, n2 on airports and trips; n3 on trips", "n1 on a and b and c"]
)
def test_nodes_by_what_they_use_stay_in_the_language_of_the_core(whom: str) -> None:
    assert nodes_in_other_words(whom, str) == whom


def told(kind: str, payload: dict[str, object]) -> str:
    return sentence(kind, json.loads(json.dumps(shortened(payload))), chinese)


def test_a_story_in_other_words() -> None:
    """The sentence and the sentences in it, but no statement and no name."""
    published = told("version published", {"table": "absent", "version": 3, "what": MOVED})
    assert published == "absent v3 已发布：索引 by_a：不存在 → 仅删除。"
    filled = told("reorganisation finished", {"what": FILL, "rows": 336_776, "seconds": 3.24})
    assert filled == "填充索引 by_a：已完成 336,776 行，用时 3.2 秒。"
    found = Sentence("{n} violations of {element}", n="1,692", element=INDEX)
    failed = Sentence(FOLLOWED, first=found, rest="index by_a: ('x', 1)")
    assert first_line(failed) == found
    assert told("change failed", {"change": 3, "error": failed}).endswith(": 索引 by_a 有 1,692 处违反")
    submitted = {"who": "ann", "change": 3, "statement": "fill index by_a"}
    assert told("change submitted", submitted) == "ann submitted change 3: fill index by_a"
    assert sentence("version published", {"table": "t", "version": 3, "what": str.__str__(MOVED)}).startswith("t v3")
