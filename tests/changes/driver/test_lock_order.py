"""L14: every transaction of a driver takes its locks in one order, whatever the change."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import connection

from changes import services
from changes.driver import driver, transitions
from changes.models import Status

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.filterwarnings("ignore::celery.exceptions.AlwaysEagerIgnored"),
]
USERS = "CREATE TABLE users (id bigint PRIMARY KEY, age integer)"
CITIES = "CREATE TABLE cities (age integer PRIMARY KEY)"
ORDER = (
    ("change row", "FROM changes_change WHERE id = %s FOR UPDATE"),
    ("schema-change lease", "FROM changes_schemachangelease WHERE table_id = ANY(%s) ORDER BY table_id FOR UPDATE"),
    ("table row", "FROM catalog_table WHERE id = ANY(%s) ORDER BY id FOR UPDATE"),
    ("table row", "FROM catalog_table WHERE id = %s FOR UPDATE"),
    ("table row", "UPDATE catalog_table"),
    ("advisory lock", "pg_try_advisory_xact_lock"),
    ("story counters", "FROM catalog_stream WHERE name = ANY(%s) ORDER BY name FOR UPDATE"),
    ("story counters", "catalog_tell"),
)
RANK = {"change row": 1, "schema-change lease": 2, "table row": 3, "advisory lock": 4, "story counters": 5}


Taken = tuple[str, int]
"""A lock, and of which table; 0 when one statement takes those of all of them, in order."""


class Watched:
    """Notes which lock each statement is the first to take."""

    def __init__(self, taken: list[Taken]) -> None:
        self._taken = taken

    def __call__(self, execute: Callable[..., Any], sql: str, params: Any, *rest: Any) -> Any:
        found = next((lock for lock, words in ORDER if words in sql), None)
        if found is not None:
            lock = found, _table(sql, params) if found in BY_TABLE else 0
            if lock not in self._taken and (found, 0) not in self._taken:
                self._taken.append(lock)
        return execute(sql, params, *rest)


BY_TABLE = ("table row", "advisory lock", "story counters")


def _table(sql: str, params: Any) -> int:
    """The table whose lock a statement takes."""
    if "ANY(" in sql:
        return 0
    if "catalog_tell" in sql:
        return int(params[0][-1].removeprefix("table:"))
    return int(params[-1] if "catalog_table" in sql else params[0])


@pytest.fixture
def transactions(monkeypatch: pytest.MonkeyPatch) -> list[list[Taken]]:
    """The locks of each transaction of the driver, in the order in which they were taken."""
    seen: list[list[Taken]] = []
    real = transitions.control_transaction

    @contextmanager
    def watched() -> Iterator[Any]:
        seen.append([])
        with connection.execute_wrapper(Watched(seen[-1])), real() as cursor:
            yield cursor

    monkeypatch.setattr(transitions, "control_transaction", watched)
    return seen


def drive(statement: str, *, cancelled: bool = False) -> None:
    change = services.submit(statement, who="ann")
    requests = [services.cancel] if cancelled else []

    def hook(name: str) -> None:
        if name == "after TryPublish" and requests:
            requests.pop()(change.pk, who="bob")

    expected = Status.CANCELLED if cancelled else Status.DONE
    assert driver.drive(change.pk, holder="w1", hook=hook) == expected


def in_order(transactions: list[list[Taken]]) -> None:
    """Kind by kind, and of one kind by table (L11)."""
    assert {lock for taken in transactions for lock, _ in taken} == set(RANK)
    for taken in transactions:
        assert taken == sorted(taken, key=lambda one: (RANK[one[0]], one[1]))


def test_l14_locks_are_taken_in_one_order_to_the_very_end_of_a_change(transactions: list[list[Taken]]) -> None:
    drive(USERS, cancelled=True)
    drive(USERS)
    drive("CREATE INDEX by_age ON users (age)")
    drive("DROP TABLE users")
    in_order(transactions)


@pytest.mark.parametrize(
    "made", [pytest.param((USERS, CITIES), id="child"), pytest.param((CITIES, USERS), id="parent")]
)
def test_l14_the_locks_of_several_tables_are_taken_by_id(
    transactions: list[list[Taken]], made: tuple[str, str]
) -> None:
    """Whichever of them was made first."""
    for statement in made:
        drive(statement)
    transactions.clear()
    drive("ALTER TABLE users ADD FOREIGN KEY (age) REFERENCES cities", cancelled=True)
    drive("ALTER TABLE users ADD FOREIGN KEY (age) REFERENCES cities")
    drive("DROP TABLE users")
    in_order(transactions)
    counters = {table for taken in transactions for lock, table in taken if lock == "story counters"}
    assert counters == {0}, "those of all tables at once"
    rows = [[table for lock, table in taken if lock == "table row" and table] for taken in transactions]
    assert max(map(len, rows)) == 2
