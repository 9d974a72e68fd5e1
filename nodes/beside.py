"""Work that a node does beside its clients, which does not fail unnoticed."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any

log = logging.getLogger(__name__)


def run_beside(
    what: str, work: Coroutine[Any, Any, None], on_failure: Callable[[BaseException], None] | None = None
) -> "asyncio.Task[None]":
    """Does this work in a task. If it fails, the log says so and `on_failure` is called; a cancel is no failure."""
    task = asyncio.get_running_loop().create_task(work, name=what)

    def ended(_: object) -> None:
        error = None if task.cancelled() else task.exception()
        if error is None:
            return
        log.error("%s failed", what, exc_info=error)
        if on_failure is not None:
            on_failure(error)

    task.add_done_callback(ended)
    return task
