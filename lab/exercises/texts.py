"""The texts of a chapter in one language: Markdown whose headings are keys (docs/reference/exercises.md). Deeper
headings (####) belong to the text. HTML is shown as it is written."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from lab.exercises import replies
from lab.exercises.chapter import Chapter

LANGUAGES: Mapping[str, str] = {"en": "en.md", "zh-hans": "zh-hans.md"}
TITLE, LEDE, PICTURE, TAKE_HOME = "title", "lede", "picture", "take-home"
OF_CHAPTER = (TITLE, LEDE, PICTURE)
"""The texts of the chapter itself; `picture` is the paragraph beside its picture, and of its handout."""

CHARACTERS_MAX = 100_000
HEADING = re.compile(r"^(#{1,3}) +(.+?) *$")
FENCE = re.compile(r"^ {0,3}(```|~~~)")
CODE = re.compile(r"```.*?```|~~~.*?~~~|`[^`\n]*`", re.DOTALL)
TAG = re.compile(r"</?[A-Za-z][^<>\n]*>")
IMAGE = re.compile(r"!\[[^\]]*\]\(")


class BadText(ValueError):
    """A file that is not in the format; says where."""


@dataclass(frozen=True, slots=True)
class Texts:
    language: str
    by_key: Mapping[str, str]

    def get(self, key: str) -> str:
        return self.by_key.get(key, "")


def read_texts(language: str, text: str) -> Texts:
    """Raises `BadText`."""
    if len(text) > CHARACTERS_MAX:
        raise BadText(f"{len(text)} characters; {CHARACTERS_MAX} are the limit")
    found: dict[str, list[str]] = {}
    screen, key, is_code = "", "", False
    for number, line in enumerate(text.splitlines(), 1):
        is_code ^= bool(FENCE.match(line))
        heading = None if is_code else HEADING.match(line)
        if heading is None:
            if key:
                found[key].append(line)
            elif line.strip():
                raise BadText(f"line {number}: a text before the title, which is a line such as # One jump")
            continue
        screen, key, of_it = _keys(len(heading[1]), heading[2], screen, number)
        for one, words in of_it.items():
            if one in found:
                raise BadText(f"line {number}: {one!r} stands twice")
            found[one] = [words] if words else []
    return Texts(language, {key: "\n".join(lines).strip() for key, lines in found.items()})


def _keys(level: int, heading: str, screen: str, number: int) -> tuple[str, str, dict[str, str]]:
    if level == 1:
        return "", LEDE, {TITLE: heading, LEDE: ""}
    if level == 2:
        name, colon, title = heading.partition(":")
        name = name.strip()
        titled = {f"{name}.title": title.strip()} if colon else {}
        return name, name, {name: "", **titled}
    if not screen:
        raise BadText(f"line {number}: {heading!r} stands before the first screen, a line such as ## first: The start")
    key = f"{screen}.{heading}"
    return screen, key, {key: ""}


def wanted(chapter: Chapter) -> list[str]:
    keys = [*OF_CHAPTER]
    for screen in chapter.screens:
        keys += [f"{screen.id}.title", screen.id]
        keys += [f"{screen.id}.{key}" for key in (*screen.text_keys(), *replies.needed(screen.task))]
    return keys


def _may_be(chapter: Chapter, key: str) -> bool:
    name, _, rest = key.partition(".")
    screen = chapter.screen(name)
    return key == TAKE_HOME or (screen is not None and replies.may_be(screen.task, rest))


def faults_of(chapter: Chapter, texts: Texts) -> Iterator[str]:
    needed = wanted(chapter)
    yield from (f"{key}: this text is missing" for key in needed if not texts.get(key))
    unknown = [key for key in texts.by_key if key not in needed and not _may_be(chapter, key)]
    yield from (f"{key}: nothing in exercise.toml has this text" for key in unknown)
    for key, text in texts.by_key.items():
        bare = CODE.sub("", text)
        if tag := TAG.search(bare):
            yield f"{key}: {tag[0]} is HTML, which would be shown as it is written"
        if IMAGE.search(bare):
            yield f"{key}: pictures are no part of a text"
