"""Searches of the explorer in a worker of their own, so that pages open meanwhile and *Stop* can end it: it ends the
worker. A search needs neither a database nor the site's pages."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable
from typing import Any

from catalog.text.message import Text, to_json

LOOK_EVERY_S = 0.3

log = logging.getLogger(__name__)

FAILED = {"verdict": "unknown", "why": to_json(Text("the search failed: the browser's console says why"))}


class Queue:
    """Stands for Celery's application: a message says only that a question waits."""

    is_waiting = False

    def send_task(self, _: str, **__: Any) -> None:
        self.is_waiting = True


QUEUE = Queue()


def search(asked: str, progressed: Callable[[str], object]) -> str:
    """The answer to a question; question, progress and answer are JSON."""
    from lab.explorer.spaces.search import Progress
    from lab.questions.answering import answer_of

    looked_at = time.monotonic()

    def watch(progress: Progress) -> bool:
        nonlocal looked_at
        if time.monotonic() - looked_at < LOOK_EVERY_S:
            return True
        looked_at = time.monotonic()
        progressed(json.dumps({"states": progress.states, "depth": progress.depth, "seconds": progress.seconds}))
        return True

    try:
        return json.dumps(answer_of(json.loads(asked), watch=watch))
    except Exception:
        log.exception("a question has no answer")
        return json.dumps(FAILED)
