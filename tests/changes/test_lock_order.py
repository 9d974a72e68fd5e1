"""L14: every transaction of a driver takes its locks in one order, whatever the change."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from changes import driving, services
from changes.models import Status

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.filterwarnings("ignore::celery.exceptions.AlwaysEagerIgnored"),
]
USERS = "CREATE TABLE users (id bigint PRIMARY KEY, age integer)"
ORDER = (
    ("change row", "FROM changes_change WHERE id = %s FOR UPDATE"),
    ("schema-change lease", "FROM changes_schemachangelease WHERE table_id = ANY(%s) ORDER BY table_id FOR UPDATE"),
    ("table row", "FROM catalog_table WHERE id = ANY(%s) ORDER BY id FOR UPDATE"),
    ("table row", "FROM catalog_table WHERE id = %s FOR UPDATE"),
    ("table row", "UPDATE catalog_table"),
    ("advisory lock", "pg_try_advisory_xact_lock"),
    ("story counters", "catalog_tell"),
)
RANK = {"change row": 1, "schema-change lease": 2, "table row": 3, "advisory lock": 4, "story counters": 5}


class Watched:
    """A cursor that notes which lock each statement is the first to take."""

    def __init__(self, cursor: Any, taken: list[str]) -> None:
        self._cursor, self._taken = cursor, taken

    def execute(self, sql: str, *params: Any) -> Any:
        found = next((lock for lock, words in ORDER if words in sql), None)
        if found is not None and found not in self._taken:
            self._taken.append(found)
        return self._cursor.execute(sql, *params)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cursor, name)


@pytest.fixture
def transactions(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The locks of each transaction of the driver, in the order in which they were taken."""
    seen: list[list[str]] = []
    real = driving.control_transaction

    @contextmanager
    def watched(opened: Any) -> Iterator[Any]:
        seen.append([])
        with real(opened) as cursor:
            yield Watched(cursor, seen[-1])

    monkeypatch.setattr(driving, "control_transaction", watched)
    return seen


def drive(statement: str, *, cancelled: bool = False) -> None:
    change = services.submit(statement, who="ann")
    wishes = [services.cancel] if cancelled else []

    def hook(name: str) -> None:
        if name == "after TryPublish" and wishes:
            wishes.pop()(change.pk, who="bob")

    expected = Status.CANCELLED if cancelled else Status.DONE
    assert driving.drive(change.pk, holder="w1", hook=hook) == expected


def test_l14_locks_are_taken_in_one_order_to_the_very_end_of_a_change(transactions: list[list[str]]) -> None:
    drive(USERS, cancelled=True)
    drive(USERS)
    drive("CREATE INDEX by_age ON users (age)")
    drive("DROP TABLE users")
    assert {lock for taken in transactions for lock in taken} == set(RANK)
    for taken in transactions:
        assert taken == sorted(taken, key=RANK.__getitem__)
