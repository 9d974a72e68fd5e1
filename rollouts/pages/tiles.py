"""The deploys of a file as tiles, so that an order of tiles is a file again: head, a block for each deploy (from its
`[[deploy]]`, or the comment above it), tail. Comments and layout stay."""

import re
from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _

from lab.pages.ladder_words import ladder_words
from lab.pages.words import say
from lab.sessions.shown import Text
from rollouts.file import DEPLOYS_MAX, FileMistake, toml_of
from rollouts.lessons.designs import tile_text

Json = dict[str, Any]
DEPLOY = re.compile(r"\s*\[\[\s*deploy\s*\]\]")
OF_DEPLOY = re.compile(r"\s*\[\[?\s*deploy\b")
SECTION = re.compile(r"\s*\[")


class NoTiles(ValueError):
    """The file cannot be read."""


def split(text: str) -> tuple[str, list[str], str]:
    """Head, blocks and tail. Raises `NoTiles`."""
    lines = text.splitlines(keepends=True)
    starts = [number for number, line in enumerate(lines) if DEPLOY.match(line)]
    if not starts:
        return _read(text, [], ""), [], ""
    ends = next(
        (n for n in range(starts[0], len(lines)) if SECTION.match(lines[n]) and not OF_DEPLOY.match(lines[n])),
        len(lines),
    )
    begins = [_with_comment(lines, one, starts[at - 1] + 1 if at else 0) for at, one in enumerate(starts)]
    blocks = ["".join(lines[one:other]) for one, other in zip(begins, [*begins[1:], ends], strict=True)]
    head, tail = "".join(lines[: begins[0]]), "".join(lines[ends:])
    return _read(head, blocks, tail), [one if one.endswith("\n") else f"{one}\n" for one in blocks], tail


def _with_comment(lines: list[str], at: int, least: int) -> int:
    while at > least and lines[at - 1].lstrip().startswith("#"):
        at -= 1
    return at


def _read(head: str, blocks: list[str], tail: str) -> str:
    """The head, once each block is known to be one deploy. Raises `NoTiles`."""
    try:
        count = len(toml_of("".join([head, *blocks, tail])).get("deploy", []))
        each = [len(toml_of(one).get("deploy", [])) for one in blocks]
    except (FileMistake, TypeError, AttributeError) as error:
        raise NoTiles(str(error)) from error
    if each != [1] * count or count > DEPLOYS_MAX:
        raise NoTiles("each deploy is a block of lines that begins with [[deploy]]")
    return head


def tiles_of(text: str) -> Json:
    """The builder's data for a file; `problem` in place of tiles if it cannot be read."""
    words = ladder_words("rollout")
    try:
        head, blocks, tail = split(text)
        bodies = [toml_of(one)["deploy"][0] for one in blocks]
        tiles = [_tile(number, one) for number, one in enumerate(bodies, 1)]
        before = toml_of(f"{head}{tail}").get("before", {}).get("release", "")
    except (NoTiles, FileMistake, KeyError, TypeError, AttributeError):
        return {"problem": _("The deploys become tiles once the file can be read."), "words": words}
    ground = {"value": "", "text": say(Text("release {name}", {"name": str(before)})), "about": "", "states": []}
    return {
        "head": head,
        "blocks": blocks,
        "tail": tail,
        "ground": ground | {"isWork": False, "version": ""},
        "tiles": tiles,
        "pairs": {},
        "words": words,
        "order": [one["value"] for one in tiles],
    }


def _tile(number: int, body: Mapping[str, Any]) -> Json:
    known = {"release", "gone", "backfill", "trigger", "schema"} & body.keys()
    text = say(tile_text(body)) if known else ""
    return {
        "value": str(number),
        "text": str(body.get("title") or text or number),
        "about": "; ".join(map(str, body.get("does", {}).values()))
        or str(body.get("backfill", body.get("schema", ""))),
        "states": [],
        "isWork": "release" not in body,
        "version": str(number),
    }
