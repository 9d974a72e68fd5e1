"""Appends crashes and operators' acts to the cluster's story, in order; after the database's own crash, later."""

import asyncio
from collections.abc import Callable
from contextlib import suppress

from django.db import Error, connection, transaction

from catalog.services import append_event
from catalog.story import CLUSTER, PROCESSES, sentence

TRIES_MAX = 60
PAUSE_S = 1.0
WAITING_MAX = 1000


class CrashEvents:
    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._facts: asyncio.Queue[tuple[str, str, dict[str, str]]] = asyncio.Queue(WAITING_MAX)
        self._task: asyncio.Task[None] | None = None

    def report(self, kind: str, process: str, /, **facts: str) -> None:
        try:
            self._facts.put_nowait((kind, process, facts))
        except asyncio.QueueFull:
            self._say(f"too much for the story: left out: {in_words(kind, process, facts)}")

    async def __aenter__(self) -> "CrashEvents":
        self._task = asyncio.create_task(self._append_all())
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._task is not None
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task

    async def _append_all(self) -> None:
        while True:
            kind, process, facts = await self._facts.get()
            for _attempt in range(TRIES_MAX):
                if await asyncio.to_thread(append, kind, process, facts):
                    break
                await asyncio.sleep(PAUSE_S)
            else:
                self._say(f"the database does not answer: left out of the story: {in_words(kind, process, facts)}")


def in_words(kind: str, process: str, facts: dict[str, str]) -> str:
    return sentence(kind, {"process": process, **facts})


def append(kind: str, process: str, facts: dict[str, str]) -> bool:
    """Appends one fact; False when the database does not answer."""
    try:
        with transaction.atomic():
            append_event(kind, process, {"process": process, **facts}, [CLUSTER, PROCESSES])
    except Error:
        return False
    finally:
        connection.close()
    return True
