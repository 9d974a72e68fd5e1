"""X2, R7: a driver that slept through its own replacement starts, pauses and closes no reorganisation."""

import threading
from collections.abc import Callable

import pytest

from changes import selectors, services
from changes.driver import driver
from changes.executor.interventions import Intervention, why_not
from changes.models import Change, SchemaChangeLease, Status
from spark_tasks.jobs.reorganisations import RUNS
from spark_tasks.models import ReorgPulse, ReorgRun, RunRequest

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.filterwarnings("ignore::celery.exceptions.AlwaysEagerIgnored"),
]
LIMIT_S = 20.0


@pytest.fixture
def change() -> Change:
    made = services.submit("CREATE TABLE users (id bigint PRIMARY KEY, age integer)", who="ann")
    assert driver.drive(made.pk, holder="maker") == Status.DONE
    return services.submit("CREATE INDEX by_age ON users (age)", who="ann")


class Driver(threading.Thread):
    """Drives the change, and stands still the n-th time it comes to a place, until it is let go."""

    def __init__(self, change: Change, holder: str, place: str, time: int = 1) -> None:
        super().__init__(daemon=True, name=holder)
        self.change, self.place, self.times_left = change, place, time
        self.stands, self.go = threading.Event(), threading.Event()
        self.outcome: list[Status | None] = []
        self.start()

    def run(self) -> None:
        from django.db import connection

        self.outcome.append(driver.drive(self.change.pk, holder=self.name, hook=self._hook))
        connection.close()

    def _hook(self, place: str) -> None:
        self.times_left -= place == self.place
        if place == self.place and self.times_left == 0:
            self.stands.set()
            assert self.go.wait(LIMIT_S)

    def until_it_stands(self) -> "Driver":
        assert self.stands.wait(LIMIT_S), f"{self.name} never came to {self.place}"
        return self

    def end(self) -> Status | None:
        self.go.set()
        self.join(LIMIT_S)
        assert not self.is_alive()
        return self.outcome[0]


def replaceable() -> None:
    """The sleeper's lease runs out."""
    SchemaChangeLease.objects.exclude(holder="").update(expires_at="2000-01-01T00:00:00Z")


def open_runs(change: Change) -> list[str]:
    return list(ReorgRun.objects.filter(change_id=change.pk, is_closed=False).values_list("kind", flat=True))


@pytest.mark.parametrize("time", [pytest.param(1, id="the fill"), pytest.param(2, id="the verification")])
def test_a_replaced_driver_starts_no_run_of_a_change_that_was_cancelled(change: Change, time: int) -> None:
    sleeper = Driver(change, "d1", "before StartRun", time).until_it_stands()
    replaceable()
    services.cancel(change.pk, who="bob")
    assert driver.drive(change.pk, holder="d2") == Status.CANCELLED
    before = ReorgRun.objects.filter(change_id=change.pk).count(), open_runs(change)
    assert sleeper.end() is None
    assert (ReorgRun.objects.filter(change_id=change.pk).count(), open_runs(change)) == before


def test_a_replaced_driver_does_not_set_going_what_its_successor_has_paused(
    change: Change, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("spark_tasks.services.send_run", lambda _run_id: None)
    sleeper = Driver(change, "d1", "before StartRun").until_it_stands()
    replaceable()
    services.pause(change.pk, who="bob")
    assert driver.drive(change.pk, holder="d2") == Status.PAUSED
    assert sleeper.end() is None
    [pulse] = ReorgPulse.objects.filter(run__change_id=change.pk)
    assert pulse.wanted == RunRequest.PAUSE


def test_a_replaced_driver_closes_no_run_of_its_successor(change: Change) -> None:
    sleeper = Driver(change, "d1", "before CloseRun").until_it_stands()
    replaceable()
    successor = Driver(change, "d2", "after StartRun").until_it_stands()  # the fill is closed, the purge is under way
    assert open_runs(change) == ["purge"]
    assert sleeper.end() is None
    assert open_runs(change) == ["purge"]
    assert successor.end() == Status.DONE


def test_a_replaced_driver_pauses_no_run_of_its_successor(change: Change, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as unsent:
        unsent.setattr("spark_tasks.services.send_run", lambda _run_id: None)
        sleeper = Driver(change, "d1", "before PauseRun")
        until(lambda: open_runs(change) == ["fill"])
        services.pause(change.pk, who="bob")
        sleeper.until_it_stands()
        replaceable()
        services.resume(change.pk, who="bob")
        successor = Driver(change, "d2", "after StartRun").until_it_stands()
        assert sleeper.end() is None
        [pulse] = ReorgPulse.objects.filter(run__change_id=change.pk)
        assert pulse.wanted == RunRequest.RUN
    RUNS.run(pulse.run_id)
    assert successor.end() == Status.DONE


def test_a_change_is_shown_as_paused_only_once_no_chunk_of_its_run_can_commit(
    change: Change, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The token has moved before: a chunk that commits now would be one of a paused change (R11)."""
    monkeypatch.setattr("spark_tasks.services.send_run", lambda _run_id: None)
    asked = Driver(change, "d1", "before PauseRun")
    until(lambda: open_runs(change) == ["fill"])
    run = ReorgRun.objects.filter(change_id=change.pk)
    run.update(state="running")
    token = run.get().token
    services.pause(change.pk, who="bob")
    asked.until_it_stands()
    change.refresh_from_db()
    assert (change.status, run.get().token) == (Status.RUNNING, token)
    assert "is about to pause" in (why_not(Intervention.PAUSE, selectors.standing_of(change)) or "")
    assert asked.end() == Status.PAUSED
    assert run.get().token == token + 1


def until(holds: Callable[[], bool]) -> None:
    from time import monotonic, sleep

    end = monotonic() + LIMIT_S
    while not holds():
        assert monotonic() < end
        sleep(0.01)
