"""A queued change is planned again when its turn comes: on the tables as they are then, with the names it was given."""

from contextlib import suppress

import pytest

from catalog.models import StoryEvent
from catalog.selectors import newest_descriptor
from catalog.story import sentence
from changes import selectors, services
from changes.driver import driver
from changes.models import Change, Status
from changes.pages import change_page
from changes.tasks import find_stuck
from tests.changes.driven import Crash, drive, kinds, let_the_dead_lease_expire, made

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.filterwarnings("ignore::celery.exceptions.AlwaysEagerIgnored"),
]
AIRPORTS = "CREATE TABLE airports (code text PRIMARY KEY, city text)"
TRIPS = "CREATE TABLE trips (id bigint PRIMARY KEY, code text, b text)"
ADD = "ALTER TABLE trips ADD FOREIGN KEY (code) REFERENCES airports"
DROP_IF_THERE = "ALTER TABLE trips DROP CONSTRAINT IF EXISTS trips_code_fkey"
NO_SUCH = 'constraint "trips_code_fkey" of relation "trips" does not exist, skipping'


@pytest.fixture
def two(db: None) -> tuple[int, int]:
    """trips and airports."""
    airports, trips = made(AIRPORTS), made(TRIPS)
    return trips.table_id, airports.table_id


# --- a change that has become needless, or cannot be planned, ends


@pytest.mark.parametrize(
    ("foreseen", "statement", "why"),
    [
        pytest.param(ADD, DROP_IF_THERE, NO_SUCH, id="drop if it exists, and it does not"),
        pytest.param(
            "ALTER TABLE trips ALTER code SET NOT NULL",
            "ALTER TABLE trips ALTER code DROP NOT NULL",
            "column code of trips is not NOT NULL, skipping",
            id="take back what never was",
        ),
    ],
)
def test_x1_a_change_with_nothing_left_to_do_is_done_and_holds_up_nobody(
    two: tuple[int, int], monkeypatch: pytest.MonkeyPatch, foreseen: str, statement: str, why: str
) -> None:
    ahead = services.submit(foreseen, who="ann")
    change = services.submit(statement, who="bob")
    behind = services.submit("CREATE INDEX of_code ON trips (code)", who="eve")
    services.cancel(ahead.pk, who="ann")
    sent: list[int] = []
    monkeypatch.setattr(driver, "send_driver", sent.append)
    assert drive(change) == Status.DONE
    change.refresh_from_db()
    assert (change.status, change.error, change.started_at) == (Status.DONE, None, None)
    assert change.ended_at is not None
    assert kinds(change)[-2:] == ["nothing to do", "change done"]
    for table_id in change.table_ids:
        [told] = StoryEvent.objects.filter(stream=f"table:{table_id}", kind="nothing to do")
        assert sentence(told.kind, told.payload) == f"Change {change.pk} has nothing to do: {why}."
    assert (sent, find_stuck()) == ([behind.pk], [behind.pk])
    assert drive(behind) == Status.DONE


def test_x7_a_change_that_was_needless_shows_no_steps_and_offers_no_undo(two: tuple[int, int]) -> None:
    ahead = services.submit(ADD, who="ann")
    change = services.submit(DROP_IF_THERE, who="bob")
    services.cancel(ahead.pk, who="ann")
    drive(change)
    snapshot = selectors.change_snapshot(change.pk)
    shown = change_page.view(snapshot, [])
    assert (snapshot["roads"], snapshot["undo"]) == ({"forward": []}, None)
    assert (shown["forward"], shown["back"], shown["steps"]) == ([], [], [])


def test_x1_a_change_that_cannot_be_planned_for_a_mistake_of_ours_fails_and_holds_up_nobody(
    two: tuple[int, int], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    trips, _ = two
    change = services.submit(ADD, who="ann")
    behind = services.submit("CREATE INDEX by_city ON airports (city)", who="eve")

    def breaks(_: Change) -> None:
        raise KeyError("airports")

    with monkeypatch.context() as broken:
        broken.setattr(driver, "plan_again", breaks)
        assert drive(change) == Status.FAILED
    change.refresh_from_db()
    assert change.error["sqlstate"] == "XX000"
    assert change.error["message"] == "the change could not be planned: airports was not found"
    assert f"change {change.pk} cannot be planned" in caplog.text
    assert "Traceback" in caplog.text
    assert newest_descriptor(trips).constraints == ()
    assert drive(behind) == Status.DONE


def test_x6_a_change_that_is_cancelled_while_it_is_planned_stays_cancelled(
    two: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    change = services.submit(ADD, who="ann")

    def cancelled_meanwhile(_: Change) -> None:
        services.cancel(change.pk, who="bob")
        raise KeyError("airports")

    monkeypatch.setattr(driver, "plan_again", cancelled_meanwhile)
    assert drive(change) == Status.CANCELLED
    assert Change.objects.get(pk=change.pk).error is None


# --- L12: names stand for what they stood for at submission


def stopped_at(change: Change, effect: str) -> None:
    """A driver that dies there, and is replaced by nobody yet: the change goes on moving its tables."""

    def hook(name: str) -> None:
        if name == effect:
            raise Crash(name)

    with suppress(Crash):
        drive(change, holder="dead", hook=hook)


def referred_to(trips: int) -> list[int | None]:
    return [one.references for one in newest_descriptor(trips).foreign_keys]


def test_l12_a_name_means_the_same_table_however_often_the_change_is_planned_again(two: tuple[int, int]) -> None:
    """`ports` was to be airports; by the second time that it is planned, another table is called so."""
    trips, airports = two
    runs = made("CREATE TABLE runs (code text PRIMARY KEY, x text)").table_id
    made("ALTER TABLE trips ADD CONSTRAINT of_run FOREIGN KEY (b) REFERENCES runs")
    rename = services.submit("ALTER TABLE airports RENAME TO ports", who="ann")
    drop = services.submit("ALTER TABLE trips DROP CONSTRAINT of_run", who="ann")
    change = services.submit("ALTER TABLE trips ADD FOREIGN KEY (code) REFERENCES ports, DROP COLUMN b", who="bob")
    assert change.table_ids == sorted([trips, airports])
    services.cancel(rename.pk, who="ann")
    services.cancel(drop.pk, who="ann")

    moving = services.submit("CREATE INDEX by_x ON runs (x)", who="eve")
    stopped_at(moving, "after TryPublish")
    assert drive(change, holder="w2") is None  # planned for the first time, it needs runs, too
    change.refresh_from_db()
    assert change.table_ids == sorted([trips, airports, runs])

    ports = made("CREATE TABLE ports (code text PRIMARY KEY)").table_id
    let_the_dead_lease_expire()
    assert drive(moving) == Status.DONE
    assert drive(change, holder="w2") == Status.DONE  # planned for the second time: runs has moved
    assert referred_to(trips) == [airports]
    assert newest_descriptor(ports).referenced_by == ()


def test_l12_a_table_that_only_the_second_plan_refers_to_is_the_one_meant_at_submission(two: tuple[int, int]) -> None:
    """The column was to be there already, so the first plan refers to nothing."""
    trips, airports = two
    rename = services.submit("ALTER TABLE airports RENAME TO ports", who="ann")
    ahead = services.submit("ALTER TABLE trips ADD COLUMN c text", who="ann")
    change = services.submit(
        "ALTER TABLE trips ADD COLUMN IF NOT EXISTS c text REFERENCES ports, ADD COLUMN d text", who="bob"
    )
    assert change.table_ids == [trips]
    assert change.names == {"tables": {"ports": airports}, "uniques": []}
    services.cancel(rename.pk, who="ann")
    services.cancel(ahead.pk, who="ann")
    made("CREATE TABLE ports (code text PRIMARY KEY)")
    assert drive(change) == Status.DONE
    assert referred_to(trips) == [airports]


def test_l12_a_name_that_stood_for_nothing_at_submission_is_refused_when_it_is_needed(two: tuple[int, int]) -> None:
    ahead = services.submit("ALTER TABLE trips ADD COLUMN c text", who="ann")
    change = services.submit(
        "ALTER TABLE trips ADD COLUMN IF NOT EXISTS c text REFERENCES ports, ADD COLUMN d text", who="bob"
    )
    services.cancel(ahead.pk, who="ann")
    made("CREATE TABLE ports (code text PRIMARY KEY)")
    assert drive(change) == Status.FAILED
    error = Change.objects.get(pk=change.pk).error
    assert (error["sqlstate"], error["message"]) == ("42P01", 'relation "ports" does not exist')


def test_l12_each_unique_constraint_has_the_name_it_was_given_at_submission(two: tuple[int, int]) -> None:
    """Also of a column that was to be there already; and in whichever order the statement says them."""
    trips, _ = two
    ahead = services.submit("ALTER TABLE trips ADD COLUMN c text", who="ann")
    change = services.submit(
        "ALTER TABLE trips ADD UNIQUE (b), ADD COLUMN IF NOT EXISTS c text UNIQUE, ADD COLUMN d text UNIQUE", who="bob"
    )
    services.cancel(ahead.pk, who="ann")
    assert drive(change) == Status.DONE
    table = newest_descriptor(trips)
    found = {index.name: [table.column(one).name for one in index.column_ids] for index in table.indexes}
    assert found == {"trips_b_key": ["b"], "trips_c_key": ["c"], "trips_d_key": ["d"]}
