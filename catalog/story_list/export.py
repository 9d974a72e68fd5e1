"""A part of the story as a file, streamed in batches and bounded."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

from asgiref.sync import sync_to_async

from catalog.story_list import reading
from catalog.story_list.wanted import StoryFilter
from catalog.text.sheets import BOM, cell

EVENTS_MAX = 50_000
BATCH = 500
HEAD = ("number", "at", "kind", "subject", "who", "sentence", "details")
Batch = list[dict[str, Any]]


async def batches(wanted: StoryFilter, most: int) -> AsyncIterator[tuple[Batch, bool]]:
    """At most `most` events, newest first, in batches, each with whether older ones follow. A slow search ends with an
    empty batch."""
    left, follows = most, True
    while follows and left:
        try:
            found, follows = await sync_to_async(reading.page)(wanted, min(BATCH, left), seconds=reading.FILE_S_MAX)
        except reading.SearchTooLong:
            yield [], True
            return
        left -= len(found)
        yield found, follows
        if found:
            wanted = replace(wanted, before=found[-1]["seq"])


async def as_json(wanted: StoryFilter, most: int = EVENTS_MAX) -> AsyncIterator[str]:
    """One object: `stream`, `events`, newest first, and `more`."""
    yield f'{{"stream": {json.dumps(wanted.stream)}, "events": ['
    separator, more = "", False
    async for found, more in batches(wanted, most):  # noqa: B007  the last one counts
        if found:
            yield separator + ",\n".join(json.dumps(event, ensure_ascii=False) for event in found)
            separator = ",\n"
    yield f'], "more": {json.dumps(more)}}}\n'


async def as_csv(wanted: StoryFilter, most: int = EVENTS_MAX) -> AsyncIterator[str]:
    """A line for each event, newest first; the last line says when older ones were left out."""
    yield BOM + _lines([HEAD])
    more = False
    async for found, more in batches(wanted, most):  # noqa: B007  the last one counts
        yield _lines(_row(event) for event in found)
    if more:
        yield _lines(
            [
                (
                    "",
                    "",
                    "",
                    "",
                    "",
                    f"older events were left out: at most {most} are written, and none is looked for longer than 30 s",
                    "",
                )
            ]
        )


def _row(event: dict[str, Any]) -> tuple[str, ...]:
    payload = event["payload"]
    details = json.dumps(payload, ensure_ascii=False)
    texts = (event["kind"], event["subject"], payload.get("who", ""), event["sentence"], details)
    return str(event["seq"]), event["at"], *map(cell, texts)


def _lines(rows: Any) -> str:
    written = io.StringIO()
    csv.writer(written).writerows(rows)
    return written.getvalue()
