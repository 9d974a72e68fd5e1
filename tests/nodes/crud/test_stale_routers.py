"""Requests of nodes whose version is not the storages' any more: the rows of the last table of requests.md. With
coordination 'both' a publish refuses its predecessor at once. No news is sent: a node gets a version by being refused,
or by its heartbeat, each second."""

import asyncio
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack, contextmanager
from dataclasses import replace

import psycopg
import pytest

from catalog.descriptor import Descriptor
from catalog.elements import Index, IndexColumn, IndexId, PlacementId, State
from changes.driver import publish as publishing
from nodes.client import AsyncCrud, Crud, CrudError
from storage.buckets import bucket_of, storage_of
from tests.nodes.conftest import START_S_MAX, STORAGES, Cluster
from tests.nodes.crud import rolling_publish as rolling

BOTH = ") WITH (coordination = 'both'"


@contextmanager
def locked(cluster: Cluster, statement: str) -> Iterator[None]:
    """Hold what a statement locks at the store."""
    with cluster.store() as store, store.transaction():
        store.execute(statement)
        yield


def until_done(attempt: Callable[[], object | None]) -> None:
    """Again and again, until nothing is in the way."""
    deadline = time.monotonic() + START_S_MAX
    while (hindrance := attempt()) is not None:
        assert time.monotonic() < deadline, hindrance
        time.sleep(0.02)


def publish(cluster: Cluster, new: Descriptor) -> None:
    """Publish without a word to anybody, and accept only that version from then on."""

    def attempt() -> object | None:
        with cluster.store() as store, store.transaction():
            hindrance = publishing.publish(store.cursor(), [new], storages=STORAGES)
            if hindrance is None:
                publishing.close_last_but_one(store.cursor(), [new], storages=STORAGES)
            return hindrance

    until_done(attempt)
    with cluster.store() as store:
        publishing.accept_only_newest(store.cursor(), [new], storages=STORAGES)


def swapped(table: Descriptor, one: str, other: str) -> Descriptor:
    """The next version, in which two columns have exchanged their names."""
    names = {one: other, other: one}
    columns = tuple(replace(c, name=names.get(c.name, c.name)) for c in table.columns)
    return table.next_version(columns=columns)


def respread(table: Descriptor) -> Descriptor:
    """The next version, with the first step of another sharding, or back: rows stay, the sharding's hash changes."""
    if len(table.placements) > 1:
        return table.next_version(placements=(table.placement,))
    added = replace(table.placement, id=PlacementId(2), function="mpcrc32", state=State.DELETE_ONLY)
    return table.next_version(placements=(table.placement, added))


@pytest.fixture
def crud(cluster: Cluster) -> Iterator[Crud]:
    with Crud(cluster.address("n1"), timeout=60) as found:
        yield found


ROUNDS_MAX = 30
"""A heartbeat may bring the news before any request is refused; not so often."""


def test_values_are_right_after_two_columns_of_one_type_were_swapped(cluster: Cluster, crud: Crud):
    table = cluster.table(f"id int PRIMARY KEY, a text, b text{BOTH}")
    crud.insert_object(table, {"id": 0, "a": "A", "b": "B"})
    for number in range(1, ROUNDS_MAX):
        publish(cluster, swapped(cluster.descriptor(table), "a", "b"))
        answer = crud.insert_object(table, {"id": number, "a": "A", "b": "B"})
        assert answer.objects() == [{"id": number, "a": "A", "b": "B"}]
        stats = crud.stats(table)
        assert stats["mismatches"] == stats["retries"]
        if stats["mismatches"]:
            break
    else:
        raise AssertionError("no request was ever refused")
    assert crud.select(table, [(">", "id", 0)]).objects()[-1] == {"id": number, "a": "A", "b": "B"}
    assert cluster.violations(table) == []


def test_an_index_or_a_column_that_is_new_is_asked_for_by_name(cluster: Cluster, crud: Crud):
    """A node that does not know it yet loads the schema again before it says that there is none."""
    table = cluster.table(f"id int PRIMARY KEY, a text{BOTH}")
    crud.insert_object(table, {"id": 1, "a": "A"})
    for number in range(1, 6):
        now = cluster.descriptor(table)
        publish(cluster, now.with_index(Index(IndexId(number), f"new_{number}", (IndexColumn(now.columns[1].id),))))
        assert crud.max(table, f"new_{number}").metadata
        renamed = replace(now.columns[1], name=f"a{number}")
        publish(cluster, cluster.descriptor(table).next_version(columns=(now.columns[0], renamed)))
        assert [one["name"] for one in crud.get(table, 1, fields=[f"a{number}"]).metadata] == [f"a{number}"]
    assert crud.stats(table)["reloads"] > 0
    for ask in (lambda: crud.max(table, "new_6"), lambda: crud.get(table, 1, fields=["a6"])):
        with pytest.raises(CrudError) as refused:
            ask()
        assert refused.value.kind in ("UnknownIndexError", "UnknownFieldError")


def test_a_traced_request_shows_version_hashes_refusal_reload_and_retry(cluster: Cluster):
    table = cluster.table(f"id int PRIMARY KEY, a text, b text{BOTH}")
    heard: list[str] = []
    with cluster.connect(options="-c schemalab.trace=on") as connection:
        connection.add_notice_handler(lambda notice: heard.append(notice.message_detail or ""))
        for number in range(ROUNDS_MAX):
            connection.execute(
                f"""SELECT crud.insert_object('{table}', '{{"id": {number}, "a": "A"}}', '{{"timeout": 60}}')"""
            )
            steps = json.loads(heard.pop())["steps"]
            if any(step["do"] == "refused" for step in steps):
                break
            publish(cluster, swapped(cluster.descriptor(table), "a", "b"))
    attempt = ["lease", "request", "plan"]
    assert [step["do"] for step in steps] == [*attempt, "refused", "reload", *attempt, "write", "accepted"]
    sent = [step for step in steps if step["do"] == "request"]
    assert sent[1]["version"] == sent[0]["version"] + 1
    assert [step["hashes"] for step in sent] == [["schema", "sharding"]] * 2


REQUESTS = 100


def test_a_hundred_requests_refused_by_another_sharding_at_once_cost_at_most_two_reloads(cluster: Cluster):
    """And no other node any."""
    table = cluster.table(f"id int PRIMARY KEY, a text, b text{BOTH}")
    rows = [{"id": number, "a": "A", "b": "B"} for number in range(REQUESTS)]

    async def refused_at_once(clients: list[AsyncCrud], watcher: AsyncCrud) -> int:
        """Send a request by each client, while the reload is held up for a moment; how many were refused."""
        before = await watcher.stats(table)
        new = respread(cluster.descriptor(table))
        publish(cluster, new)
        async with await psycopg.AsyncConnection.connect(cluster.dsn) as holder:
            await holder.execute("SELECT 1 FROM catalog_table WHERE id = %s FOR UPDATE", [new.table_id])
            pairs = zip(clients, rows, strict=True)
            asked = [asyncio.create_task(one.replace_object(table, row, timeout=60)) for one, row in pairs]
            held_until = time.monotonic() + 0.5
            while time.monotonic() < held_until:
                await asyncio.sleep(0.02)
        assert [(await task).objects() for task in asked] == [[row] for row in rows]
        after = await watcher.stats(table)
        found = int(after["mismatches"] - before["mismatches"])
        assert after["retries"] - before["retries"] == found
        assert after["reloads"] - before["reloads"] <= 2
        return found

    async def work() -> None:
        async with AsyncExitStack() as stack:

            async def connected(node: str, user: str = "tester") -> AsyncCrud:
                address = cluster.address(node, user=user)
                return await stack.enter_async_context(await AsyncCrud.connect(address, timeout=60))

            users = ("tester", "tester2")  # each has a hundred sessions at most
            clients = [await connected("n1", users[number % 2]) for number in range(REQUESTS)]
            watcher, other = await connected("n1"), await connected("n2")
            assert (await clients[0].insert_object_many(table, rows)).is_complete
            for _ in range(ROUNDS_MAX):
                if await refused_at_once(clients, watcher) > 2:
                    break
            else:
                raise AssertionError("no three requests were ever refused at once")
            assert await other.stats(table) == {}

    asyncio.run(work())


def on_storage(number: int) -> int:
    """An id whose row lies on this storage."""
    from catalog.values.types import SqlType

    places = ((i, storage_of(bucket_of("strcrc32", [(SqlType.INTEGER, i)]), STORAGES)) for i in range(1, 100))
    return next(i for i, storage in places if storage == number)


def test_a_frozen_storage_costs_only_its_own_requests_and_them_only_their_own_time(cluster: Cluster, crud: Crud):
    table = cluster.table(f"id int PRIMARY KEY, a text, b text{BOTH}")
    table_id, (healthy, frozen) = cluster.descriptor(table).table_id, (on_storage(1), on_storage(2))
    assert crud.insert_many(table, [[healthy, "A", "B"], [frozen, "A", "B"]]).is_complete
    publish(cluster, swapped(cluster.descriptor(table), "a", "b"))
    with locked(cluster, f"LOCK TABLE storage_2.kv_{table_id} IN ACCESS EXCLUSIVE MODE"):
        began = time.monotonic()
        with pytest.raises(
            CrudError, match=r"0\.5 s were over while it waited for the storages, at version"
        ) as refused:
            crud.get(table, frozen, timeout=0.5)
        assert refused.value.kind == "TimeoutError"
        assert time.monotonic() - began > 0.4
        assert crud.get(table, healthy).objects() == [{"id": healthy, "b": "A", "a": "B"}]
    assert crud.get(table, frozen).objects() == [{"id": frozen, "b": "A", "a": "B"}]


def test_a_request_that_waits_for_a_reload_ends_by_its_own_deadline_with_the_cause(cluster: Cluster, crud: Crud):
    table = cluster.table(f"id int PRIMARY KEY, a text, b text{BOTH}")
    crud.insert(table, [1, "A", "B"])
    publish(cluster, swapped(cluster.descriptor(table), "a", "b"))
    with locked(cluster, f"SELECT 1 FROM catalog_table WHERE name = '{table}' FOR UPDATE"):
        with pytest.raises(CrudError, match="waited for a version newer than") as refused:
            crud.get(table, 1, timeout=0.4)
        assert "is below the fence" in refused.value.message
    assert crud.get(table, 1).objects() == [{"id": 1, "b": "A", "a": "B"}]


def test_a_rolling_publish_fails_nobody(cluster: Cluster):
    """Storages that disagree for 0.3 s, under inserts and batches on both nodes."""
    table = cluster.table(f"id int PRIMARY KEY, a text, b text{BOTH}")
    stop, failures, done = threading.Event(), list[str](), [0, 0]

    def load(node: str, place: int) -> None:
        with Crud(cluster.address(node), timeout=60) as crud:
            number = place
            while not stop.is_set():
                try:
                    crud.insert_object(table, {"id": number, "a": "A", "b": "B"})
                    rows = [{"id": number + 2 * n, "a": "A", "b": "B"} for n in range(1, 6)]
                    answer = crud.insert_object_many(table, rows)
                    failures.extend(str(one.error) for one in answer.failed)
                    done[place] += 6
                except CrudError as error:
                    failures.append(str(error))
                number += 12

    threads = [threading.Thread(target=load, args=(node, place)) for place, node in enumerate(("n1", "n2"))]
    for thread in threads:
        thread.start()
    try:
        until_done(lambda: None if min(done) else "nothing was written yet")
        for _ in range(2):
            new = swapped(cluster.descriptor(table), "a", "b")
            roll_out(cluster, new, pause_s=0.3)
            before = list(done)
            until_done(lambda before=before: None if done[0] > before[0] and done[1] > before[1] else "no progress")
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert failures == []
    with Crud(cluster.address("n1"), timeout=60) as crud:
        found = crud.select(table).objects()
    assert len(found) == sum(done)
    assert {(row["a"], row["b"]) for row in found} <= {("A", "B"), ("B", "A")}
    assert cluster.violations(table) == []


def roll_out(cluster: Cluster, new: Descriptor, *, pause_s: float) -> None:
    """A rolling publish: the storages disagree for `pause_s`."""

    def begin() -> object | None:
        with cluster.store() as store, store.transaction():
            return rolling.begin(store.cursor(), new, storages=STORAGES)

    def finish() -> object | None:
        with cluster.store() as store, store.transaction():
            return rolling.finish(store.cursor(), new, storages=STORAGES)

    until_done(begin)
    with cluster.store() as store:
        rolling.add_copy(store.cursor(), 1, new)
        time.sleep(pause_s)
        rolling.add_copy(store.cursor(), 2, new)
    until_done(finish)
    with cluster.store() as store:
        publishing.accept_only_newest(store.cursor(), [new], storages=STORAGES)
