"""A worker for tests: the product's Celery application with a task that lasts as long as a file is missing."""

import os
import time
from pathlib import Path

from celery import shared_task

from catalog.uninterrupted import uninterrupted
from schemalab.celery import app
from schemalab.supervisor import end_with

__all__ = ["app"]
end_with.FINISH_S_MAX = float(os.environ.get("FINISH_S_MAX", end_with.FINISH_S_MAX))


@shared_task(name="tests.hold")
def hold(until: str) -> None:
    print("the task holds", flush=True)
    while not Path(until).exists():
        time.sleep(0.05)
    print("the task has ended", flush=True)


@shared_task(name="tests.greet")
def greet() -> None:
    print("the task greets", flush=True)


@shared_task(name="tests.finish")
def finish(begun: str, until: str, done: str) -> None:
    """A block that must not be interrupted, as long as a file is missing."""
    with uninterrupted():
        Path(begun).touch()
        while not Path(until).exists():
            time.sleep(0.05)
        Path(done).touch()
    time.sleep(600)
