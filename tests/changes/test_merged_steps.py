"""Changes that were stored when a plan had a step "clear" in front of its "fill" go on, are shown, and can go back."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from catalog.selectors import newest_descriptor
from changes import selectors, services
from changes.driver import driver
from changes.models import Change, Proof, Status, Step
from tests.changes.driven import USERS, made

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.filterwarnings("ignore::celery.exceptions.AlwaysEagerIgnored"),
]
BEFORE = "0011_tries_of_steps"
CLEAR, FILL = 4, 5
"""The places of the two steps in a plan of before."""


@pytest.fixture(autouse=True)
def newest() -> Iterator[None]:
    yield
    forward()


def migrate(name: str) -> None:
    MigrationExecutor(connection).migrate([("changes", name)])


def forward() -> None:
    call_command("migrate", verbosity=0)


def of_before(change: Change) -> Change:
    """The change, by what it had in every version."""
    return Change.objects.only("plan", "step").get(pk=change.pk)


def kinds(change: Change) -> list[str]:
    return [step["kind"] for step in of_before(change).plan["forward"]]


def rows(change: Change) -> list[tuple[int, str]]:
    return list(Step.objects.filter(change=change, road="forward").order_by("number").values_list("number", "kind"))


def stored(change: Change) -> dict[str, Any]:
    """All that a migration writes."""
    fields = "plan", "executor_state", "step", "direction"
    steps = Step.objects.filter(change=change).order_by("-road", "number")
    of_it = Change.objects.filter(pk=change.pk).values(*fields).get()
    return of_it | {"steps": list(steps.values("road", "number", "kind", "started_at", "ended_at", "version"))}


def index_change(stop: str, ask: Any = services.pause) -> Change:
    """CREATE INDEX, paused or cancelled when its driver comes to a place for the first time."""
    made(USERS)
    change = services.submit("CREATE INDEX by_age ON users (age)", who="ann")
    asked: list[str] = []

    def hook(place: str) -> None:
        if place == stop and not asked:
            asked.append(place)
            ask(change.pk, who="ann")

    driver.drive(change.pk, holder="w", hook=hook)
    return Change.objects.get(pk=change.pk)


def test_a_plan_of_before_has_both_steps_and_one_of_today_one() -> None:
    made(USERS)
    change = made("CREATE INDEX by_age ON users (age)")
    today = stored(change)
    migrate(BEFORE)
    old = of_before(change)
    assert kinds(change)[3:7] == ["drain", "clear", "fill", "verify"]
    assert old.plan["forward"][CLEAR]["elements"] == old.plan["forward"][FILL]["elements"]
    assert (old.plan["turn"], old.step) == (today["plan"]["turn"] + 1, today["step"] + 1)
    assert rows(change)[3:7] == [(3, "drain"), (CLEAR, "clear"), (FILL, "fill"), (6, "verify")]
    forward()
    assert stored(change) == today
    assert len(selectors.change_snapshot(change.pk)["roads"]["forward"]) == 10


def test_a_change_that_was_clearing_goes_on_with_its_fill() -> None:
    change = index_change("before StartRun")
    assert change.status == Status.PAUSED
    today = stored(change)
    migrate(BEFORE)
    assert (of_before(change).step, rows(change)[-1]) == (CLEAR, (CLEAR, "clear"))
    forward()
    assert stored(change) == today
    goes_on(change)


@pytest.mark.soak
def test_a_change_that_was_filling_is_at_its_fill() -> None:
    change = index_change("before StartRun")
    migrate(BEFORE)
    with connection.cursor() as cursor:
        cursor.execute("UPDATE changes_step SET ended_at = clock_timestamp() WHERE kind = 'clear'")
        cursor.execute(
            "INSERT INTO changes_step (change_id, road, number, kind, version, started_at, waited_for, waited_s)"
            " SELECT change_id, road, 5, 'fill', version, clock_timestamp(), '[]', 0 FROM changes_step"
            " WHERE kind = 'clear'"
        )
        cursor.execute(
            "UPDATE changes_change SET step = 5, executor_state = jsonb_set(executor_state, '{position}', '5')"
            " WHERE id = %s",
            [change.pk],
        )
    began = Step.objects.get(change=change, kind="clear").started_at
    forward()
    assert rows(change)[-2:] == [(3, "drain"), (4, "fill")]
    fill = Step.objects.get(change=change, kind="fill")
    assert (fill.started_at, fill.ended_at) == (began, None), "it began when its clearing did"
    goes_on(change)


def goes_on(change: Change) -> None:
    services.resume(change.pk, who="ann")
    assert driver.drive(change.pk, holder="w") == Status.DONE
    assert newest_descriptor(change.table_id).index_named("by_age").state.value == "public"


@pytest.mark.soak
def test_a_change_that_rolls_back_keeps_its_place_in_the_rollback() -> None:
    change = index_change("before CloseRun", services.cancel)
    assert change.status == Status.CANCELLED
    today = stored(change)
    migrate(BEFORE)
    assert stored(change)["executor_state"] == today["executor_state"]
    assert (CLEAR, "clear") in rows(change)
    forward()
    assert stored(change) == today


def test_proofs_of_such_plans_are_forgotten_and_other_changes_are_left_alone() -> None:
    table = made(USERS)
    today = stored(table)
    old = {"forward": [{"kind": "clear"}, {"kind": "fill"}]}
    for key, plan in (("old", old), ("other", {"forward": [{"kind": "fill"}]})):
        Proof.objects.create(key=key, plan=plan, asked_at="2026-01-01T00:00:00Z")
    migrate(BEFORE)
    forward()
    assert stored(table) == today
    assert list(Proof.objects.values_list("key", flat=True)) == ["other"]
