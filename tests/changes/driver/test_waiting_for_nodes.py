"""A change beside three nodes that hold leases and use them: it waits for nobody longer than they need."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager

import pytest

from catalog.models import StoryEvent
from catalog.selectors import newest_descriptor
from changes import services
from changes.driver import driver, versions
from changes.models import Change, Status
from leases.asyncio.keeper import LeaseKeeper

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.filterwarnings("ignore::celery.exceptions.AlwaysEagerIgnored"),
]
NODES = ("n1", "n2", "n3")


def made(statement: str) -> Change:
    change = services.submit(statement, who="ann")
    assert driver.drive(change.pk, holder="w") == Status.DONE
    return change


class Keepers:
    """Three nodes' keepers in a thread of their own, each running short transactions on one table."""

    def __init__(self, cluster, redis_url: str, table_id: int, transaction_s: float) -> None:
        self.cluster, self.redis_url, self.table_id, self.transaction_s = cluster, redis_url, table_id, transaction_s
        self.incarnations = {name: cluster.node(name) for name in NODES}
        self.is_over = threading.Event()
        self.are_ready = threading.Event()
        self.thread = threading.Thread(target=lambda: asyncio.run(self.work()))

    async def work(self) -> None:
        async with AsyncExitStack() as stack:
            keepers = [await stack.enter_async_context(self.keeper(name)) for name in NODES]
            for keeper in keepers:
                keeper.unpin(await keeper.pin(self.table_id))
            self.are_ready.set()
            await asyncio.gather(*(self.use(keeper) for keeper in keepers))

    def keeper(self, name: str) -> LeaseKeeper:
        return LeaseKeeper(
            node=name,
            incarnation=self.incarnations[name],
            dsn=self.cluster.dsn,
            redis_url=self.redis_url,
            lease_s=30.0,
            on_fatal=lambda _: None,
            on_end=lambda _: None,
        )

    async def use(self, keeper: LeaseKeeper) -> None:
        while not self.is_over.is_set():
            pin = await keeper.pin(self.table_id)
            await asyncio.sleep(self.transaction_s)
            keeper.unpin(pin)


@contextmanager
def keepers(cluster, redis_url: str, table_id: int, transaction_s: float = 0.002) -> Iterator[None]:
    using = Keepers(cluster, redis_url, table_id, transaction_s)
    using.thread.start()
    assert using.are_ready.wait(10)
    yield
    using.is_over.set()
    using.thread.join(timeout=10)


def drain_s(change: Change) -> list[float]:
    """From each version's publication to its drain."""
    told = {
        (event.kind, event.payload["version"]): event.at
        for event in StoryEvent.objects.filter(stream=f"change:{change.pk}", kind__startswith="version ")
    }
    published = [version for kind, version in told if kind == "version published"]
    return [(told["version drained", v] - told["version published", v]).total_seconds() for v in published]


def test_l6_three_nodes_in_use_are_left_in_far_less_than_their_leases(cluster, redis_url):
    table = made("CREATE TABLE users (id bigint PRIMARY KEY, age integer)")
    with keepers(cluster, redis_url, table.table_id):
        began = time.monotonic()
        waits = [wait for number in range(3) for wait in drain_s(made(f"CREATE INDEX i{number} ON users (age)"))]
    print(f"{time.monotonic() - began:.2f} s, drains in ms: {sorted(round(1000 * wait) for wait in waits)}")
    assert max(waits) < 5
    assert len(newest_descriptor(table.table_id).public_indexes) == 3


def test_l6_without_news_a_change_waits_for_renewal_and_nothing_worse(cluster, redis_url, monkeypatch):
    """Gossip lost: nodes learn of the version when they renew, or when their leases run out."""
    monkeypatch.setattr(versions, "publish_news", lambda *_: False)
    table = made("CREATE TABLE users (id bigint PRIMARY KEY, age integer)")
    n1 = cluster.node("n1")
    cluster.admin.execute("SELECT lease_acquire(%s, 'n1', %s, 1.0)", (table.table_id, n1))
    change = made("CREATE INDEX a ON users (age)")
    assert max(drain_s(change)) < 3
