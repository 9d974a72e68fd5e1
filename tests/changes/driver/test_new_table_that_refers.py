"""A new table with foreign keys: one change of it and of every table that it refers to (L11)."""

from contextlib import suppress

import pytest

from catalog.elements import FOREIGN_KEY, REFERENCED, State
from catalog.models import Table
from catalog.selectors import newest_descriptor
from changes import services
from changes.ddl.errors import DdlError
from changes.models import Change, Status
from spark_tasks.models import ReorgRun
from tests.changes.driven import Crash, dies_at, drive, let_the_dead_lease_expire, made

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.filterwarnings("ignore::celery.exceptions.AlwaysEagerIgnored"),
]
AIRPORTS = "CREATE TABLE airports (code text PRIMARY KEY, city text UNIQUE)"
TRIPS = (
    "CREATE TABLE trips (id bigint PRIMARY KEY, code text REFERENCES airports, city text REFERENCES airports (city),"
    " boss bigint REFERENCES trips)"
)


def table(name: str) -> int:
    return Table.objects.get(name=name).pk


def sides(name: str, rule: str) -> list[tuple[str, str]]:
    found = newest_descriptor(table(name)).constraints
    return sorted((one.name, one.state.value) for one in found if one.rule == rule)


def check_public() -> None:
    mine = [("trips_boss_fkey", "public"), ("trips_city_fkey", "public"), ("trips_code_fkey", "public")]
    assert sides("trips", FOREIGN_KEY) == mine
    assert sides("trips", REFERENCED) == mine[:1]
    assert sides("airports", REFERENCED) == mine[1:]
    assert newest_descriptor(table("trips")).state is State.PUBLIC


def test_l11_it_is_public_with_its_foreign_keys_in_two_versions(db: None) -> None:
    made(AIRPORTS)
    change = made(TRIPS)
    assert change.table_ids == sorted([table("trips"), table("airports")])
    check_public()
    assert [newest_descriptor(table(name)).version for name in ("trips", "airports")] == [2, 4]
    assert not ReorgRun.objects.filter(change_id=change.pk).exists()


def test_x1_it_waits_for_a_change_of_what_it_refers_to_and_means_that_table(db: None) -> None:
    """L12: it is never called as it was to be called."""
    made(AIRPORTS)
    first = services.submit("ALTER TABLE airports RENAME TO ports", who="ann")
    second = services.submit(TRIPS.replace("airports", "ports"), who="bob")
    assert drive(second, holder="w2") is None
    services.cancel(first.pk, who="ann")
    assert drive(Change.objects.get(pk=second.pk), holder="w2") == Status.DONE
    check_public()


def test_x5_what_it_refers_to_may_be_dropped_meanwhile(db: None) -> None:
    made(AIRPORTS)
    first = services.submit("ALTER TABLE airports DROP COLUMN city", who="ann")
    with pytest.raises(DdlError, match='column "city" referenced in foreign key constraint does not exist'):
        services.submit(TRIPS, who="bob")
    assert drive(first) == Status.DONE
    assert not Table.objects.filter(name="trips").exists()


@pytest.mark.soak
def test_x2_a_worker_may_die_anywhere(db: None) -> None:
    made(AIRPORTS)
    change = services.submit(TRIPS, who="ann")
    for lives in range(40):
        with suppress(Crash):
            drive(change, holder=f"w{lives}", hook=dies_at(lives))
        mine = sides("airports", REFERENCED)
        theirs = newest_descriptor(table("trips"))
        public = {one.name for one in theirs.constraints if one.references != theirs.table_id} if theirs else set()
        assert public == {name for name, _ in mine}
        let_the_dead_lease_expire()
        if Change.objects.get(pk=change.pk).status == Status.DONE:
            break
    check_public()


def test_a_sandbox_refers_to_nothing(db: None) -> None:
    made(AIRPORTS)
    for statement in (TRIPS, "CREATE TABLE t (id bigint PRIMARY KEY REFERENCES t)"):
        with pytest.raises(DdlError, match="is a sandbox: no foreign key leads from or to it"):
            services.submit(statement, who="lea", is_sandbox=True)
    assert not Table.objects.exclude(name="airports").exists()
