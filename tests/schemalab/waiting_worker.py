"""A worker for tests: the product's Celery application with a task that lasts as long as a file is missing."""

import time
from pathlib import Path

from celery import shared_task

from schemalab.celery import app

__all__ = ["app"]


@shared_task(name="tests.hold")
def hold(until: str) -> None:
    print("the task holds", flush=True)
    while not Path(until).exists():
        time.sleep(0.05)
    print("the task has ended", flush=True)


@shared_task(name="tests.greet")
def greet() -> None:
    print("the task greets", flush=True)
