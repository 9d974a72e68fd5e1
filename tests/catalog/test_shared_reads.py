"""A crowd reads twice at most, and nobody is answered by a read that began before the question."""

import asyncio

import pytest

from catalog.live.single_flight import SharedReads


class Slow:
    """A read that waits to be let go; its answer is how many began before it ended."""

    def __init__(self) -> None:
        self.begun = 0
        self.go = asyncio.Event()

    async def __call__(self) -> int:
        self.begun += 1
        mine = self.begun
        await self.go.wait()
        return mine


def test_who_comes_during_a_read_shares_the_next_one() -> None:
    async def crowd() -> tuple[int, list[int]]:
        reads, slow = SharedReads(), Slow()
        first = asyncio.create_task(reads.ask("state", slow))
        await asyncio.sleep(0.01)
        later = [asyncio.create_task(reads.ask("state", slow)) for _ in range(50)]
        await asyncio.sleep(0.01)
        assert slow.begun == 1
        slow.go.set()
        return await first, list(await asyncio.gather(*later))

    assert asyncio.run(crowd()) == (1, [2] * 50)


def test_other_keys_do_not_wait_and_nothing_is_kept() -> None:
    async def two() -> int:
        reads, slow = SharedReads(), Slow()
        waits = asyncio.create_task(reads.ask("slow", slow))
        await asyncio.sleep(0.01)
        for _ in range(3):
            assert await reads.ask("quick", lambda: asyncio.sleep(0, "now")) == "now"
        slow.go.set()
        assert await waits == 1
        assert await reads.ask("slow", slow) == 2
        return len(reads._next) + len(reads._running)

    assert asyncio.run(two()) == 0


def test_a_caller_that_leaves_takes_nothing_from_the_others() -> None:
    async def leaving() -> int:
        reads, slow = SharedReads(), Slow()
        leaves, stays = (asyncio.create_task(reads.ask("state", slow)) for _ in range(2))
        await asyncio.sleep(0.01)
        leaves.cancel()
        await asyncio.sleep(0.01)
        slow.go.set()
        return await stays

    assert asyncio.run(leaving()) == 1


def test_a_read_that_fails_fails_for_all_who_share_it_and_the_next_is_made() -> None:
    async def failing() -> str:
        reads = SharedReads()

        async def broken() -> str:
            raise OSError("away")

        for answer in await asyncio.gather(*(reads.ask("state", broken) for _ in range(2)), return_exceptions=True):
            assert isinstance(answer, OSError)
        with pytest.raises(OSError, match="away"):
            await reads.ask("state", broken)
        return str(await reads.ask("state", lambda: asyncio.sleep(0, "back")))

    assert asyncio.run(failing()) == "back"
