"""One user's sessions at the store, whatever they are for, leave the others of a node their own."""

import asyncio
import time
from contextlib import ExitStack
from select import select

import pytest

from expressions.errors import SqlError
from nodes.server import LOCK_SESSIONS, STAGING_SESSIONS
from nodes.store.pipeline import POOL_MAX, StorePool
from tests.nodes.conftest import Cluster
from tests.nodes.raw_client import Raw, kinds, message, query

ANSWER_S_MAX = 1.0
WAITS_S = 0.5
"""Who has no answer after it waits for another's session."""


@pytest.fixture(autouse=True)
def short_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nodes.store.pipeline.POOL_WAIT_S", 0.3)


def take(cluster: Cluster, size: int, *asked: tuple[str, bool]) -> list[str]:
    """What each of these users gets, in order: "yes", or why not."""

    async def ask() -> list[str]:
        pool, answers, sessions = StorePool(cluster.dsn, "shares", "", size_max=size), list[str](), []
        for user, is_block in asked:
            try:
                sessions.append(await pool.take(user, is_block=is_block))
                answers.append("yes")
            except SqlError as error:
                answers.append(f"{error.sqlstate} {error.message}")
        for session in sessions:
            pool.put_back(session)
        assert pool.free == size
        await pool.close()
        return answers

    return asyncio.run(ask())


def test_a_user_has_a_third_at_most(cluster: Cluster) -> None:
    refused = '53300 user "ann" has 2 of this node\'s 6 sessions at the store, its share'
    answers = take(cluster, 6, ("ann", True), ("ann", False), ("ann", False), ("ben", True))
    assert answers == ["yes", "yes", refused, "yes"]


def test_blocks_leave_places_to_statements(cluster: Cluster) -> None:
    blocks = [(f"u{i}", True) for i in range(6)]
    refused = "53300 all 5 sessions of this node at the store for open transactions have been busy for 0.3 s"
    assert take(cluster, 6, *blocks, ("ann", False)) == ["yes"] * 5 + [refused, "yes"]


def test_a_waiter_whose_share_is_used_up_delays_nobody_and_is_served_when_it_is_free(cluster: Cluster) -> None:
    async def ask() -> bool:
        pool = StorePool(cluster.dsn, "shares", "", size_max=3)
        first = await pool.take("ann", is_block=True)
        second = asyncio.create_task(pool.take("ann"))
        cancelled = asyncio.create_task(pool.take("ann"))
        await asyncio.sleep(0)
        pool.put_back(await pool.take("ben"))
        cancelled.cancel()
        pool.put_back(first)
        pool.put_back(await second)
        is_free = pool.free == 3
        await pool.close()
        return is_free

    assert asyncio.run(ask())


def test_sessions_that_clients_keep_are_part_of_their_users_share(cluster: Cluster) -> None:
    """Nothing ends a cursor WITH HOLD: two thirds of a node could be one user's, for as long as that liked."""

    async def ask() -> list[str]:
        pool, told, taken = StorePool(cluster.dsn, "shares", "", size_max=12), list[str](), []
        try:
            for _ in range(3):
                taken.append(await pool.take("ann", is_block=True))
                pool.pin(taken[-1])
                told.append("kept")
        except SqlError as error:
            told.append(f"{error.sqlstate} {error.message}")
        try:
            while len(taken) < 12:
                taken.append(await pool.take("ann"))
        except SqlError as error:
            told.append(f"{error.sqlstate} {error.message}")
        taken.append(await pool.take("ben", is_block=True))
        for session in taken:
            pool.put_back(session)
        assert pool.free == 12
        await pool.close()
        return told

    assert asyncio.run(ask()) == [
        "kept",
        "kept",
        '53300 2 sessions at the store keep what is of user "ann", half of its share',
        '53300 user "ann" has 4 of this node\'s 12 sessions at the store, its share',
    ]


def greedy_sessions(cluster: Cluster, stack: ExitStack, statements: str, *, share: int) -> None:
    """As many as one user may have at the store, and one more, which waits."""
    for number in range(share + 1):
        greedy = stack.enter_context(Raw(cluster.ports["n1"]))
        greedy.startup(user="greedy")
        greedy.send(query(statements.format(number)))
        if number < share:
            assert b"E" not in {kind for kind, _ in greedy.until_ready()}
    while select([greedy.sock], [], [], WAITS_S)[0]:
        assert greedy.message() == (b"C", b"BEGIN\0"), "one user has more than its share"


def test_open_transactions_of_one_user_close_the_node_for_nobody(cluster: Cluster) -> None:
    table = cluster.table("id int PRIMARY KEY")
    with ExitStack() as stack:
        greedy_sessions(cluster, stack, f"BEGIN; TABLE {table}", share=POOL_MAX // 3)
        other = stack.enter_context(cluster.connect(user="other"))
        began = time.monotonic()
        other.execute(f"INSERT INTO {table} VALUES (1)")
        with other.transaction():
            other.execute(f"INSERT INTO {table} VALUES (2)")
        assert time.monotonic() - began < ANSWER_S_MAX


def test_advisory_locks_of_one_user_keep_nobody_from_theirs(cluster: Cluster) -> None:
    with ExitStack() as stack:
        greedy_sessions(cluster, stack, "SELECT pg_advisory_lock(7000 + {})", share=LOCK_SESSIONS // 3)
        other = stack.enter_context(cluster.connect(user="other"))
        began = time.monotonic()
        other.execute("SELECT pg_advisory_lock(7100)")
        assert time.monotonic() - began < ANSWER_S_MAX


def test_a_third_copy_of_a_user_waits_for_its_turn(cluster: Cluster) -> None:
    table = cluster.table("id int PRIMARY KEY")
    with ExitStack() as stack:
        first, second, third = (stack.enter_context(Raw(cluster.ports["n1"])) for _ in range(3))
        for one in (first, second, third):
            one.startup(user="eager")
            one.send(query(f"COPY {table} FROM STDIN"))
        assert kinds([first.message(), second.message()]) == "GG"
        assert not select([third.sock], [], [], WAITS_S)[0]
        first.send(message(b"d", b"1\n") + message(b"c"))
        assert kinds(first.until_ready()) == "CZ"
        assert kinds([third.message()]) == "G"


def test_copies_of_one_user_that_go_quiet_keep_nobody_from_theirs(cluster: Cluster) -> None:
    table = cluster.table("id int PRIMARY KEY")
    with ExitStack() as stack:
        for _ in range(STAGING_SESSIONS):
            greedy = stack.enter_context(Raw(cluster.ports["n1"]))
            greedy.startup(user="greedy")
            greedy.send(query(f"COPY {table} FROM STDIN"))
        other = stack.enter_context(cluster.connect(user="other"))
        began = time.monotonic()
        with other.cursor().copy(f"COPY {table} FROM STDIN") as copy:
            copy.write(b"1\n")
        assert time.monotonic() - began < ANSWER_S_MAX
