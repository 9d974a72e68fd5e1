"""Phrases of the core are read back by their templates; what is not of the core stays as it is."""

import time

import pytest

from catalog.story import sentence
from catalog.text.phrases import in_other_words, nodes_in_other_words

CHINESE = {
    "fill {elements}": "填充{elements}",
    "index {name}": "索引 {name}",
    "{n} violations of {element}": "{element} 有 {n} 处违反",
    "column {name}": "列 {name}",
    "add {element}": "添加{element}",
    "{element} {before} -> {after}": "{element}：{before} → {after}",
    "absent": "不存在",
    "delete-only": "仅删除",
    "{first}, {rest}": "{first}，{rest}",
    "{table} v{version} published: {what}.": "{table} v{version} 已发布：{what}。",
    "{n} rows": "{n} 行",
    "{What} finished: {rows} in {seconds} s.": "{What}：已完成 {rows}，用时 {seconds} 秒。",
}


def chinese(text: str) -> str:
    return CHINESE.get(text, text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param("fill index by_dest", "填充索引 by_dest", id="a phrase in a phrase"),
        pytest.param("Fill index by_dest", "填充索引 by_dest", id="a capital letter"),
        pytest.param("fill column a, index by_a", "填充列 a，索引 by_a", id="a list in a phrase"),
        pytest.param("add index absent", "添加索引 absent", id="a name that is a word of ours stays"),
        pytest.param(
            "index a absent -> delete-only, column b absent -> delete-only",
            "索引 a：不存在 → 仅删除，列 b：不存在 → 仅删除",
            id="a list of phrases",
        ),
        pytest.param("add index {name}", "添加索引 {name}", id="braces are no template"),
        pytest.param("we talked about it", "we talked about it", id="somebody's own words stay"),
        pytest.param("", "", id="nothing"),
    ],
)
def test_a_phrase_in_other_words(text: str, said: str) -> None:
    assert in_other_words(text, chinese) == said


@pytest.mark.parametrize(
    "whom", ["", "n1", "n1, n2", "n1 on trips", "n1, n2 on airports and trips; n3 on trips", "n1 on a and b and c"]
)
def test_nodes_by_what_they_use_stay_in_the_language_of_the_core(whom: str) -> None:
    assert nodes_in_other_words(whom, str) == whom


def test_a_story_in_other_words() -> None:
    """The sentence and the phrases in it, but no statement and no name."""
    published = {"table": "absent", "version": 3, "what": "index by_dest absent -> delete-only"}
    assert sentence("version published", published, chinese) == "absent v3 已发布：索引 by_dest：不存在 → 仅删除。"
    filled = {"what": "fill index by_dest", "rows": 336_776, "seconds": 3.24}
    assert sentence("reorganisation finished", filled, chinese) == "填充索引 by_dest：已完成 336,776 行，用时 3.2 秒。"
    submitted = {"who": "ann", "change": 3, "statement": "fill index by_dest"}
    failed = {"change": 3, "error": "1,692 violations of index by_dest\nindex by_dest: ('x', 1)"}
    assert sentence("change failed", failed, chinese).endswith(": 索引 by_dest 有 1,692 处违反")
    assert sentence("change submitted", submitted, chinese) == "ann submitted change 3: fill index by_dest"


@pytest.mark.parametrize(
    "text",
    [
        "publish " + " and ".join(["a@1"] * 60) + "x",
        "wait until no version before " + " or ".join(["a@1"] * 60),
        " is public" * 50,
        "index a" + " is public" * 390,
        "index a, index b and column c" + " is public, index d keeps the primary key" * 12,
    ],
)
def test_a_strangers_reason_is_read_in_no_time(text: str) -> None:
    """Of 500 characters, as of an approval: the first ones took hours, on every page and for everybody's events."""
    began = time.process_time()
    in_other_words(text, str)
    assert time.process_time() - began < 2
