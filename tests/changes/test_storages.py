"""`manage.py storages`: what it prints, with which code it ends, and what a crash in the middle leaves."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.core.management.base import CommandError
from django.db import connection

from changes import storages
from changes.driver import driver
from changes.models import Change, Status
from storage.postgres import storages_kept, storages_there
from tests.changes.test_commands import made, refused, run

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.filterwarnings("ignore::celery.exceptions.AlwaysEagerIgnored"),
]
PETS = "CREATE TABLE pets (id bigint PRIMARY KEY, owner bigint)"


def existing() -> int:
    with connection.cursor() as cursor:
        return storages_there(cursor)


@pytest.fixture(autouse=True)
def two_storages() -> Iterator[None]:
    yield
    with connection.cursor() as cursor:
        cursor.execute("UPDATE storage_layout SET existing = 2")
    storages._drop(3)


def drive_all() -> None:
    for change in Change.objects.filter(status=Status.QUEUED).order_by("id"):
        assert driver.drive(change.pk, holder="w") == Status.DONE


def test_a_storage_is_added_tables_are_spread_over_it_and_back_and_it_is_removed() -> None:
    made()
    assert run("storages", "add").splitlines() == [
        "storage_3 was added; new tables use it",
        "1 table does not yet: manage.py storages spread",
    ]
    made(PETS)
    shown = json.loads(run("storages", "list", "--json"))
    assert [one["tables"] for one in shown] == [["users", "pets"], ["users", "pets"], ["pets"]]
    assert [one["buckets"] for one in shown] == [[1, 1000], [1001, 2000], [2001, 3000]]
    code, why = refused("storages", "remove")
    assert (code, why) == (1, "storage 3 is in use: table pets is spread over 3 storages")
    assert run("storages", "spread").startswith("change ")
    code, why = refused("storages", "remove")
    assert (code, "change" in why, "of users uses it" in why) == (1, True, True)
    drive_all()
    assert "storage_3" in run("storages", "list")
    assert run("storages", "spread") == "every table is spread over 3 storages already\n"
    assert len(run("storages", "spread", "2").splitlines()) == 2
    drive_all()
    assert run("storages", "remove") == "storage_3 was removed\n"
    assert existing() == 2
    with connection.cursor() as cursor:
        cursor.execute("SELECT to_regnamespace('storage_3')")
        assert cursor.fetchone() == (None,)


def test_what_a_crash_leaves_is_used_or_removed_by_the_next_attempt(monkeypatch: pytest.MonkeyPatch) -> None:
    made()

    def crash(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as broken:
        broken.setattr(storages, "_hold_layout", crash)
        with pytest.raises(KeyboardInterrupt):
            storages.add_storage(who="ann")
    assert existing() == 2
    assert storages.add_storage(who="ann") == 3
    with monkeypatch.context() as broken:
        broken.setattr(storages, "_drop", crash)
        with pytest.raises(KeyboardInterrupt):
            storages.remove_storage(who="ann")
    assert existing() == 2
    made(PETS)  # on two, while tables of a third are left
    assert storages.remove_storage(who="ann") == 3, "what was left of it"
    assert existing() == 2
    assert storages.add_storage(who="ann") == 3


def test_a_publish_waits_while_a_storage_is_added() -> None:
    from tests.changes.cluster import open_connection

    with open_connection("adding") as other, other.transaction():
        other.execute("SELECT existing FROM storage_layout FOR UPDATE")
        with connection.cursor() as cursor:
            assert storages_kept(cursor) is None
    with connection.cursor() as cursor:
        assert storages_kept(cursor) == 2


def test_what_cannot_be_is_refused() -> None:
    made()
    with pytest.raises(CommandError, match="17"):
        run("storages", "spread", "17")
    assert refused("storages", "spread", "--table", "nobody") == (2, "there is no table nobody; there are: users")
    code, why = refused("storages", "spread", "4")
    assert (code, "there are 2 storages: rows cannot be spread over 4" in why) == (2, True)
    assert not Change.objects.filter(status=Status.QUEUED).exists()
