"""`manage.py storages`: what it prints, with which code it ends, and what a crash in the middle leaves."""

import json
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.core.management.base import CommandError
from django.db import connection

from catalog.descriptor import Descriptor
from catalog.selectors import table_named
from changes import services
from changes.ddl.errors import DdlError
from changes.ddl.statements import parse
from changes.driver import driver
from changes.models import Change, Status
from changes.planning.table_in_transaction import statements_at_commit
from changes.selectors import change_snapshot
from changes.submission import approval, new_tables, storages, tables_ahead
from nodes.selectors import storages_now
from spark_tasks.models import AuditJob
from spark_tasks.reorganise.drop_storage import drop_storage_of_dropped_tables
from storage.postgres import storages_kept, storages_there
from tests.changes.cluster import open_connection
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


def test_a_table_that_cannot_be_spread_is_named_and_stops_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    made(PETS)
    made()
    run("storages", "add")
    submit = services.submit

    def refuse_pets(statement: str, **options: Any) -> Change:
        if "pets" in statement:
            raise DdlError("55000", "pets cannot move")
        return submit(statement, **options)

    monkeypatch.setattr(services, "submit", refuse_pets)
    code, why = refused("storages", "spread")
    assert (code, why) == (1, "tables that are not spread: pets: pets cannot move")
    drive_all()
    assert "users" in run("storages", "list").splitlines()[2]


def test_a_table_with_a_float_key_is_spread_like_any_other() -> None:
    made("CREATE TABLE readings (at double precision PRIMARY KEY, n int)")
    run("storages", "add")
    assert run("storages", "spread").startswith("change ")
    drive_all()
    readings = tables_ahead.catalog_view().table("readings")
    assert readings is not None
    assert readings.placement.storages == 3


def test_what_a_crash_leaves_is_removed_by_the_next_attempt(monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_a_table_whose_pairs_go_while_a_storage_is_added_leaves_nothing_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever drops them knows of two storages, and the third has tables for it already."""
    made(PETS)
    pets = table_named("pets")
    assert pets is not None
    made("DROP TABLE pets")
    make = storages._make_some

    def and_then_drop(number: int) -> int:
        some = make(number)
        dropped.extend(drop_storage_of_dropped_tables())
        return some

    dropped: list[int] = []
    monkeypatch.setattr(storages, "_make_some", and_then_drop)
    assert storages.add_storage(who="ann") == 3
    assert pets.pk in dropped
    with connection.cursor() as cursor:
        for name in ("kv", "fence"):
            cursor.execute("SELECT to_regclass(%s)", [f"storage_3.{name}_{pets.pk}"])
            assert cursor.fetchone() == (None,), name


def beside(act: Callable[..., int]) -> str:
    """What somebody else is told who adds or removes a storage at the same time."""

    def other() -> None:
        try:
            told.append(f"storage_{act(who='bob')}")
        except storages.CannotChange as refusal:
            told.append(str(refusal))
        finally:
            connection.close()

    told: list[str] = []
    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    return told[0]


@pytest.mark.parametrize("act", [storages.add_storage, storages.remove_storage])
@pytest.mark.parametrize("place", ["_make_some", "_drop"])
def test_one_storage_is_added_or_removed_at_a_time(
    monkeypatch: pytest.MonkeyPatch, act: Callable[..., int], place: str
) -> None:
    made()
    told: list[str] = []
    real = getattr(storages, place)

    def meanwhile(number: int) -> Any:
        told.append(beside(act))
        return real(number)

    with monkeypatch.context() as slow:
        slow.setattr(storages, place, meanwhile)
        assert storages.add_storage(who="ann") == 3
        if place == "_drop":
            assert storages.remove_storage(who="ann") == 3
    assert set(told) == {"somebody else is adding or removing a storage: wait until that has ended"}
    assert existing() == (2 if place == "_drop" else 3)
    with connection.cursor() as cursor:
        cursor.execute("SELECT to_regnamespace('storage_3') IS NOT NULL")
        assert cursor.fetchone() == (place != "_drop",)
    made(PETS)


def test_nothing_is_dropped_of_a_storage_that_counts() -> None:
    made()
    assert storages.add_storage(who="ann") == 3
    with pytest.raises(storages.CannotChange, match="counts again"):
        storages._drop(3)
    made(PETS)


def relations(number: int) -> set[str]:
    with connection.cursor() as cursor:
        sql = "SELECT relname FROM pg_class WHERE relnamespace = to_regnamespace(%s) AND relkind IN ('r', 'S')"
        cursor.execute(sql, [f"storage_{number}"])
        return {name for (name,) in cursor.fetchall()}


@pytest.mark.parametrize("drops", [1, 2, 3])
def test_a_storage_is_added_after_a_removal_that_was_interrupted(monkeypatch: pytest.MonkeyPatch, drops: int) -> None:
    made()
    assert storages.add_storage(who="ann") == 3
    some = storages._drop_some
    left = [drops]

    def interrupted(number: int) -> bool:
        if not left[0]:
            raise KeyboardInterrupt
        left[0] -= 1
        return some(number)

    with monkeypatch.context() as broken:
        broken.setattr(storages, "TABLES_AT_ONCE", 1)
        broken.setattr(storages, "_drop_some", interrupted)
        with pytest.raises(KeyboardInterrupt):
            storages.remove_storage(who="ann")
    assert relations(3) < relations(1)
    assert storages.add_storage(who="ann") == 3
    assert relations(3) == relations(1)


def test_a_storage_is_removed_though_somebody_reads_a_table_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    change = made()
    assert storages.add_storage(who="ann") == 3
    monkeypatch.setattr(storages, "LOCK_TIMEOUT", "20ms")
    with open_connection("reader") as other, other.transaction():
        other.execute(f"SELECT count(*) FROM storage_3.kv_{change.table_id}")
        assert run("storages", "remove").splitlines() == [
            "storage_3 was removed",
            "tables of it that are still read go with the next: manage.py storages remove",
        ]
        assert existing() == 2
        assert refused("storages", "remove")[0] == refused("storages", "add")[0] == 1
    assert run("storages", "remove") == "storage_3 was removed\n"
    assert not relations(3)
    assert existing() == 2


def test_a_storage_that_an_audit_reads_is_kept() -> None:
    change = made()
    assert storages.add_storage(who="ann") == 3
    audit = AuditJob.objects.create(table_id=change.table_id)
    assert refused("storages", "remove") == (1, f"storage 3 is in use: audit {audit.pk} reads it")
    AuditJob.objects.update(ended_at=audit.created_at)
    assert storages.remove_storage(who="ann") == 3


def test_the_undo_names_the_storages_that_the_cluster_began_with(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    made()
    change = made("ALTER TABLE users SET (storages = 1)")
    settings.STORAGE_COUNT = 4
    monkeypatch.setattr(tables_ahead, "storages_there", lambda _cursor: 4)
    assert "storages = '4'" in change_snapshot(change.pk)["undo"]["statement"]


def test_a_table_that_a_transaction_made_on_fewer_storages_is_shown_as_one_on_which_they_agree() -> None:
    made()
    assert storages.add_storage(who="ann") == 3
    [table] = new_tables.reserve_table(parse(f"{PETS} WITH (storages = 2)"), node="n1", incarnation=1).made.tables
    commit(table)
    new_tables.announce_table(table.table_id, who="n1")
    [pets, users] = storages_now()["tables"]
    assert (pets["agree"], [one["fence"] for one in pets["storages"]]) == (True, [2, 2])
    assert (users["agree"], len(users["storages"])) == (True, 2)


def test_a_publish_waits_while_a_storage_is_added() -> None:
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


def commit(table: Descriptor) -> None:
    """What the node of a transaction that has made a table does at its COMMIT (T9)."""
    with open_connection("n1") as node, node.transaction():
        for sql, params in statements_at_commit(table, storages=2, who="n1"):
            node.execute(sql, params or None)


def test_a_storage_is_kept_for_the_table_of_a_transaction_that_commits_meanwhile(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """T9: at its COMMIT it holds neither the layout's row nor the lock of submissions."""
    made()
    assert storages.add_storage(who="ann") == 3
    [table] = new_tables.reserve_table(parse(PETS), node="n1", incarnation=1).made.tables
    assert table.placement.storages == 3
    found_before = tables_ahead.tables_now

    def announce() -> None:
        new_tables.announce_table(table.table_id, who="n1")
        connection.close()

    def commits_once_the_tables_were_read() -> Any:
        found = found_before()
        if not any(one.table_id == table.table_id for one in found.tables):
            commit(table)
            announcing = threading.Thread(target=announce)
            announcing.start()
            announcing.join()
        return found

    monkeypatch.setattr(tables_ahead, "tables_now", commits_once_the_tables_were_read)
    with pytest.raises(storages.CannotChange, match="pets"):
        storages.remove_storage(who="ann")
    assert existing() == 3


@pytest.mark.parametrize("option", ["sharding_func = 'mpcrc32'", "storages = 1"])
def test_a_change_of_sharding_is_planned_again_behind_one_that_was_cancelled(option: str) -> None:
    made()
    first = services.submit("ALTER TABLE users ADD COLUMN more text", who="ann")
    second = services.submit(f"ALTER TABLE users SET ({option})", who="ann")
    services.cancel(first.pk, who="ann")
    drive_all()
    assert Change.objects.get(pk=second.pk).status == Status.DONE


@pytest.mark.parametrize("count", [1, 3])
def test_a_new_table_that_is_planned_again_is_on_the_storages_it_was_told(count: int) -> None:
    made()
    if count == 3:
        storages.add_storage(who="ann")
    else:
        made("ALTER TABLE users SET (storages = 1)")
        assert storages.remove_storage(who="ann") == 2
    try:
        first = services.submit("ALTER TABLE users ADD COLUMN more text", who="ann")
        services.submit("CREATE TABLE pets (id bigint PRIMARY KEY, owner bigint REFERENCES users (id))", who="ann")
        services.cancel(first.pk, who="ann")
        drive_all()
        [pets] = [table for table in tables_ahead.tables_now().tables if table.name == "pets"]
        assert pets.placement.storages == count
    finally:
        if count == 1:
            assert storages.add_storage(who="ann") == 2


def test_a_change_of_sharding_is_approved(settings: Any) -> None:
    made()
    settings.CHANGES_NEED_APPROVAL = True
    change = services.submit("ALTER TABLE users SET (sharding_func = 'mpcrc32')", who="ann")
    approval.approve(change.pk, who="bob")
    drive_all()
    assert Change.objects.get(pk=change.pk).status == Status.DONE
