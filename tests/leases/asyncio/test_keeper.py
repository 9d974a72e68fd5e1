"""A node's keeper on real PostgreSQL and Redis: one acquisition for all, fresh when asked, never behind for long."""

import asyncio
from collections.abc import Callable, Sequence

import pytest

from catalog.elements import State, TableId
from leases.asyncio import keeper as asyncio_keeper
from leases.asyncio.keeper import LeaseKeeper, NodeDraining, NodeStopped
from leases.asyncio.queries import Pulse
from leases.gossip import News
from leases.node import machine
from leases.redis.gossip import call_node, publish_news
from leases.rules import NotLeasable
from tests.leases.rows import USERS, Connection, leased, make_table, only, publish, register, users
from tests.leases.stage import Stage, expiration_of, subscribers, until
from tests.leases.stalled_proxy import Proxy

NO_REDIS = "unix:///nowhere/redis.sock"


@pytest.fixture(autouse=True)
def quick_heartbeat(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asyncio_keeper, "HEARTBEAT_S", 0.2)


@pytest.fixture
def no_heartbeat(monkeypatch: pytest.MonkeyPatch) -> None:
    """After the first one: whatever a node hears then is news."""
    monkeypatch.setattr(asyncio_keeper, "HEARTBEAT_S", 60.0)


@pytest.fixture
def acquisitions(database: Connection) -> Callable[[], int]:
    """How many rows were ever inserted: each acquisition of a lease that is not held takes a number."""
    return lambda: only(database, "SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM leases_lease_id_seq")


def test_a_pin_carries_the_version_and_until_when(stage: Stage, database: Connection) -> None:
    async def scene(keeper: LeaseKeeper) -> None:
        before = asyncio.get_running_loop().time()
        pin = await keeper.pin(USERS)
        assert pin.descriptor == users()
        assert pin.expires_at == only(database, "SELECT expires_at FROM leases_lease")
        assert 1.8 < pin.deadline - before <= 2.1
        assert expiration_of(keeper, USERS, 1) == pin.expires_at
        assert expiration_of(keeper, USERS, 2) is None
        keeper.unpin(pin)
        assert leased(database) == [(USERS, 1, "n1", 1)]  # L4: the newest stays cached

    stage.play(scene)
    assert stage.fatal == []


def test_a_hundred_callers_cost_one_acquisition(stage: Stage, acquisitions: Callable[[], int]) -> None:
    async def scene(keeper: LeaseKeeper) -> None:
        before = acquisitions()
        pins = await asyncio.gather(*(keeper.pin(USERS) for _ in range(100)))
        assert {pin.version for pin in pins} == {1}
        assert len(set(pins)) == 100
        assert acquisitions() - before == 1

    stage.play(scene)


def test_pinning_what_is_held_waits_for_nothing(stage: Stage) -> None:
    async def scene(keeper: LeaseKeeper) -> None:
        keeper.unpin(await keeper.pin(USERS))
        call = keeper.pin(USERS)
        with pytest.raises(StopIteration) as returned:  # a coroutine that ends without ever yielding
            call.send(None)
        keeper.unpin(returned.value.value)

    stage.play(scene)


def test_a_thousand_statements_cost_no_step_of_the_machine(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(keeper: LeaseKeeper) -> None:
        keeper.unpin(await keeper.pin(USERS))
        with monkeypatch.context() as patched:
            patched.setattr(machine, "step", None)  # nothing is awaited below: no heartbeat comes between
            for _ in range(1000):
                pin = keeper.pin_held(USERS)
                assert pin is not None
                keeper.unpin(pin)

    stage.play(scene)


def test_a_heartbeat_without_news_costs_no_step_of_the_machine(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each step goes over all tables: one for each of a thousand tables would hold the node up for seconds."""
    monkeypatch.setattr(asyncio_keeper, "HEARTBEAT_S", 0.01)
    steps, told = [], []

    async def scene(keeper: LeaseKeeper) -> None:
        heartbeat, step = keeper._queries.heartbeat, machine.step

        async def counted(tables: Sequence[TableId]) -> Pulse:
            told.append((await heartbeat(tables)).news)
            return Pulse(is_drain_asked=False, news=told[-1], leased=frozenset({(USERS, 1)}))

        keeper.unpin(await keeper.pin(USERS))
        monkeypatch.setattr(keeper._queries, "heartbeat", counted)
        monkeypatch.setattr(machine, "step", lambda *known: (steps.append(known[1]), step(*known))[1])
        await until(lambda: len(told) > 3, "heartbeats")

    stage.play(scene, lease_s=60.0)
    assert set(told[1:]) == {(News(USERS, 1),)}
    assert steps == []


def test_a_keeper_that_makes_a_mistake_ends_its_node(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Effects that come after it would be lost, and the node go on without them."""

    async def scene(keeper: LeaseKeeper) -> None:
        def mistaken(_grant: object) -> None:
            raise AssertionError("granted and not held")

        monkeypatch.setattr(keeper, "_grant", mistaken)
        with pytest.raises((AssertionError, NodeStopped)):
            await keeper.pin(USERS)

    stage.play(scene)
    assert stage.fatal == ["its lease keeper made a mistake: granted and not held"]


def test_stopping_a_keeper_ends_who_still_runs(stage: Stage) -> None:
    async def scene(keeper: LeaseKeeper) -> None:
        await keeper.pin(USERS)

    stage.play(scene)
    (pin,) = stage.ended
    assert pin.ended_because == "node n1 has stopped"
    assert stage.fatal == []


def test_a_caller_that_needs_the_freshest_gets_what_was_published_before_its_call(
    stage: Stage, publisher: Connection
) -> None:
    stage.redis_url = NO_REDIS

    async def scene(keeper: LeaseKeeper) -> None:
        older = await keeper.pin(USERS)
        publish(publisher, users(2))
        cached, fresh = await asyncio.gather(keeper.pin(USERS), keeper.pin(USERS, fresh=True))
        assert (older.version, cached.version, fresh.version) == (1, 1, 2)

    stage.play(scene)


def test_a_fresh_caller_is_not_satisfied_by_an_acquisition_that_began_before_its_call(
    stage: Stage, database: Connection, publisher: Connection
) -> None:
    """The answer of the first acquisition is held back on its way, until version 2 is out and another caller asks."""
    stage.redis_url = NO_REDIS

    async def scene() -> None:
        async with Proxy(stage.dsn) as proxy:
            stage.dsn = proxy.dsn
            async with stage.keeper(lease_s=10) as keeper:
                await until(lambda: proxy.connections == 1, "the heartbeat's session")
                keeper.unpin(await keeper.pin(USERS))
                database.execute("SELECT lease_release(%s, 1, 'n1', 1)", [USERS])
                proxy.stall(answers=True)
                early = asyncio.create_task(keeper.pin(USERS, fresh=True))
                await until(lambda: leased(database) == [(USERS, 1, "n1", 1)], "acquired on the server")
                publish(publisher, users(2))
                late = asyncio.create_task(keeper.pin(USERS, fresh=True))
                await asyncio.sleep(0)
                proxy.resume()
                assert ((await early).version, (await late).version) == (1, 2)

    asyncio.run(scene())


def test_news_moves_a_node_on_at_once_and_the_older_version_goes_with_its_last_user(
    stage: Stage, database: Connection, publisher: Connection, no_heartbeat: None
) -> None:
    async def scene(keeper: LeaseKeeper) -> None:
        older = await keeper.pin(USERS)
        await until(lambda: subscribers(stage.redis_url) == 1, "listens")
        publish(publisher, users(2))
        assert publish_news(USERS, 2)
        await until(lambda: expiration_of(keeper, USERS, 2) is not None, "version 2 leased")
        assert leased(database) == [(USERS, 1, "n1", 1), (USERS, 2, "n1", 1)]
        keeper.unpin(older)
        await until(lambda: leased(database) == [(USERS, 2, "n1", 1)], "version 1 given back")

    stage.play(scene, lease_s=60)


def test_news_that_is_lost_costs_a_heartbeat_and_nothing_else(
    stage: Stage, database: Connection, publisher: Connection
) -> None:
    stage.redis_url = NO_REDIS

    async def scene(keeper: LeaseKeeper) -> None:
        keeper.unpin(await keeper.pin(USERS))
        publish(publisher, users(2))
        await until(lambda: leased(database) == [(USERS, 2, "n1", 1)], "moved on")

    stage.play(scene, lease_s=60)  # the renewal, 28 s away, has no part in it


def test_news_of_versions_that_do_not_exist_does_no_harm(stage: Stage, database: Connection) -> None:
    async def scene(keeper: LeaseKeeper) -> None:
        pin = await keeper.pin(USERS)
        await until(lambda: subscribers(stage.redis_url) == 1, "listens")
        for news in ((USERS, 99), (USERS, 0), (4711, 3)):
            publish_news(*news)
        await asyncio.sleep(0.3)
        assert (await keeper.pin(USERS)).version == pin.version
        assert leased(database) == [(USERS, 1, "n1", 1)]

    stage.play(scene)
    assert stage.fatal == []


def test_a_lease_that_is_used_for_longer_than_it_lasts_is_renewed(stage: Stage, database: Connection) -> None:
    async def scene(keeper: LeaseKeeper) -> None:
        pin = await keeper.pin(USERS)
        await asyncio.sleep(2.1)
        renewed = expiration_of(keeper, USERS, 1)
        assert renewed is not None
        assert renewed > pin.expires_at
        assert pin.expires_at_now == renewed
        assert only(database, "SELECT expires_at FROM leases_lease") == renewed
        keeper.unpin(pin)

    stage.play(scene, lease_s=2.0)
    assert (stage.fatal, stage.ended) == ([], [])


def test_an_older_version_in_use_runs_to_its_end_and_its_users_are_ended(stage: Stage, publisher: Connection) -> None:
    async def scene(keeper: LeaseKeeper) -> None:
        older = await keeper.pin(USERS)
        publish(publisher, users(2))
        newer = await keeper.pin(USERS, fresh=True)
        await until(lambda: bool(stage.ended), "the older one ended")
        assert stage.ended == [older]
        assert older.ended_because == "its lease on version 1 ran out"
        assert newer.ended_because is None

    stage.play(scene, lease_s=1.0)
    assert stage.fatal == []


def test_a_table_that_may_not_be_leased_is_named(stage: Stage, database: Connection) -> None:
    make_table(database, users(state=State.ABSENT, table_id=8, name="orders"))

    async def scene(keeper: LeaseKeeper) -> None:
        with pytest.raises(NotLeasable, match="table orders is absent"):
            await keeper.pin(8)
        with pytest.raises(NotLeasable, match="there is no table with id 9"):
            await keeper.pin(9)
        assert (await keeper.pin(USERS)).version == 1

    stage.play(scene)


def test_a_caller_that_leaves_while_it_waits_strands_nobody(
    stage: Stage, database: Connection, publisher: Connection
) -> None:
    async def scene(keeper: LeaseKeeper) -> None:
        publisher.execute("BEGIN")
        publisher.execute("SELECT FROM catalog_table FOR UPDATE")
        leaving = asyncio.create_task(keeper.pin(USERS))
        staying = asyncio.create_task(keeper.pin(USERS))
        await asyncio.sleep(0.05)
        leaving.cancel()
        publisher.execute("ROLLBACK")
        assert (await staying).version == 1
        with pytest.raises(asyncio.CancelledError):
            await leaving

    stage.play(scene)


def test_revoking_ends_the_transactions_and_the_node_serves_on(stage: Stage, database: Connection) -> None:
    async def scene(keeper: LeaseKeeper) -> None:
        pin = await keeper.pin(USERS)
        await asyncio.to_thread(database.execute, "SELECT lease_revoke(%s, 'n1')", [USERS])
        await until(lambda: bool(stage.ended), "ended")
        assert pin.ended_because == "its lease was taken away"
        assert (await keeper.pin(USERS)).ended_because is None
        assert leased(database) == [(USERS, 1, "n1", 1)]

    stage.play(scene, lease_s=60)
    assert stage.fatal == []


def test_a_node_that_is_called_looks_at_once(stage: Stage, database: Connection, no_heartbeat: None) -> None:
    async def scene(keeper: LeaseKeeper) -> None:
        pin = await keeper.pin(USERS)
        await until(lambda: subscribers(stage.redis_url) == 1, "listening")
        await asyncio.to_thread(database.execute, "SELECT lease_revoke(%s, 'n1')", [USERS])
        assert await asyncio.to_thread(call_node, "n1")
        await until(lambda: bool(stage.ended), "ended")
        assert pin.ended_because == "its lease was taken away"

    stage.play(scene, lease_s=60)


def test_a_call_that_is_lost_costs_a_heartbeat(stage: Stage, database: Connection) -> None:
    stage.redis_url = NO_REDIS

    async def scene(keeper: LeaseKeeper) -> None:
        pin = await keeper.pin(USERS)
        await asyncio.to_thread(database.execute, "SELECT lease_revoke(%s, 'n1')", [USERS])
        await until(lambda: bool(stage.ended), "ended")
        assert pin.ended_because == "its lease was taken away"
        assert (await keeper.pin(USERS)).version == 1

    stage.play(scene, lease_s=60)
    assert stage.fatal == []


def test_an_operator_drains_and_undrains_a_node(stage: Stage, database: Connection) -> None:
    async def scene(keeper: LeaseKeeper) -> None:
        pin = await keeper.pin(USERS)
        database.execute("SELECT node_drain('n1', true)")
        await until(lambda: keeper.is_draining, "draining")
        with pytest.raises(NodeDraining, match="node n1 is draining"):
            await keeper.pin(USERS)
        assert leased(database) == [(USERS, 1, "n1", 1)]  # in use: given back on last release
        keeper.unpin(pin)
        await until(lambda: leased(database) == [], "given back")
        database.execute("SELECT node_drain('n1', false)")
        await until(lambda: not keeper.is_draining, "serving")
        assert (await keeper.pin(USERS)).version == 1

    stage.play(scene)


def test_draining_to_the_end_returns_when_nothing_is_leased(stage: Stage, database: Connection) -> None:
    async def scene(keeper: LeaseKeeper) -> None:
        pin = await keeper.pin(USERS)
        draining = asyncio.create_task(keeper.drain())
        await asyncio.sleep(0.05)
        assert not draining.done()
        keeper.unpin(pin)
        await draining
        assert leased(database) == []

    stage.play(scene)


def test_a_former_incarnation_stops_as_soon_as_it_hears_of_its_successor(stage: Stage, database: Connection) -> None:
    async def scene(keeper: LeaseKeeper) -> None:
        pin = await keeper.pin(USERS)
        await asyncio.to_thread(register, database)
        await until(lambda: bool(stage.fatal), "fatal")
        assert stage.fatal == ["node n1 runs as a newer incarnation than 1"]
        assert stage.ended == [pin]
        with pytest.raises(NodeStopped, match="runs as a newer incarnation"):
            await keeper.pin(USERS)

    stage.play(scene)
