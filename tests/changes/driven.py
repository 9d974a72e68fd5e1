"""Changes that are driven where the test stands, or in a thread of their own, by workers that may die."""

import threading
import time

from catalog.models import StoryEvent
from changes import services
from changes.driver import driver
from changes.models import Change, SchemaChangeLease, Status

USERS = "CREATE TABLE users (id bigint PRIMARY KEY, age integer)"


class Crash(BaseException):
    """The worker dies here: nothing of its own runs after this."""


def drive(change: Change, holder: str = "w1", **kwargs) -> Status | None:
    return driver.drive(change.pk, holder=holder, **kwargs)


def made(statement: str = USERS) -> Change:
    change = services.submit(statement, who="ann")
    assert drive(change) == Status.DONE
    return change


def kinds(change: Change) -> list[str]:
    return list(StoryEvent.objects.filter(stream=f"change:{change.pk}").values_list("kind", flat=True))


def let_the_dead_lease_expire() -> None:
    """Time passes: the lease of a worker that died runs out."""
    SchemaChangeLease.objects.exclude(holder="").update(expires_at="2000-01-01T00:00:00Z")


def dies_at(number: int):
    seen = []

    def hook(name: str) -> None:
        seen.append(name)
        if len(seen) > number:
            raise Crash(name)

    return hook


class Walk:
    """A driver in a thread of its own, that has come to wait."""

    def __init__(self, change: Change, status: Status = Status.WAITING) -> None:
        self.outcome: list[Status | None] = []
        self.change = change
        self.thread = threading.Thread(target=self._run)
        self.thread.start()
        if status:
            self.until(status)

    def _run(self) -> None:
        from django.db import connection

        self.outcome.append(drive(self.change, holder="walker"))
        connection.close()

    def until(self, status: Status) -> None:
        for _ in range(500):
            if Change.objects.get(pk=self.change.pk).status == status:
                return
            time.sleep(0.01)
        raise AssertionError(f"{Change.objects.get(pk=self.change.pk)} never was {status}")

    def end(self) -> Status | None:
        self.thread.join(timeout=20)
        assert not self.thread.is_alive(), Change.objects.get(pk=self.change.pk)
        return self.outcome[0]
