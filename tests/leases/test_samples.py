"""A node's last minute: as samples, as a line, and through Redis."""

import asyncio
from typing import Any

import pytest
from redis import Redis

from leases.redis import samples as redis_samples
from leases.samples import HEIGHT, SECONDS, MalformedSample, Sample, from_text, lines, minute, throughput


def sample(at: float, rate: float = 10.0, p99_ms: float | None = 4.0) -> Sample:
    return Sample(at, rate, None if p99_ms is None else p99_ms / 2, p99_ms)


def test_a_sample_survives_being_written() -> None:
    told = Sample(12.5, 3.0, 0.5, None, errors=1, retries=2, open_transactions=3)
    assert from_text(told.to_text()) == told


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"at": 1, "colour": "red"}'])
def test_what_is_no_sample_is_refused(text: str) -> None:
    with pytest.raises(MalformedSample, match="no sample: "):
        from_text(text)


def test_a_second_that_was_not_told_is_a_gap() -> None:
    seconds = minute([sample(100), sample(99), sample(96)])
    assert [s is not None for s in seconds[-6:]] == [False, True, False, False, True, True]
    assert len(seconds) == SECONDS


def test_a_node_that_reports_a_little_late_leaves_no_gap() -> None:
    seconds = minute([sample(at * 1.004) for at in range(30, 60)])
    assert sum(s is not None for s in seconds) == 30


def test_what_is_older_than_a_minute_is_not_shown() -> None:
    assert sum(s is not None for s in minute([sample(100), sample(41), sample(40), sample(0)])) == 2


def test_a_line_ends_at_a_gap_and_the_busiest_second_is_on_top() -> None:
    drawn = lines([sample(0, 0), sample(1, 50), None, sample(3, 100)], 100)
    assert drawn == [f"0,{HEIGHT - 0.5} 1,8.0", "3,0.5 3,0.5"]


def test_nodes_are_drawn_to_one_scale() -> None:
    shown = throughput({"n2": [sample(9, 50)], "n1": [sample(7, 200)]})
    assert [node["name"] for node in shown["nodes"]] == ["n1", "n2"]
    assert (shown["peak"], shown["is_idle"]) == (200, False)
    assert shown["nodes"][1]["lines"] == ["59,11.8 59,11.8"]


def test_ten_seconds_are_reported_by_their_average_and_their_worst() -> None:
    (node,) = throughput({"n1": [sample(60, 10, 1), sample(59, 20, 9), sample(58, 30, None)]})["nodes"]
    assert node["tenths"][-1] == {"rate": 20, "p99_ms": 9}
    assert node["tenths"][0] == {"rate": None, "p99_ms": None}
    assert (node["mean"], node["peak"]) == (20, 30)


def test_idle_nodes_show_the_same_every_second() -> None:
    """A page that shows the same is not sent again."""
    first, second = (throughput({"n1": [sample(at + n, 0, None) for n in range(60)]}) for at in (100, 101))
    assert first == second


def told(url: str, node: str, *samples: Sample) -> bool:
    async def tell() -> bool:
        async with redis_samples.open_client(url) as client:
            return all([await redis_samples.publish(client, node, one) for one in samples])

    return asyncio.run(tell())


def test_redis_keeps_a_minute_and_lets_go_of_a_silent_node(redis_url: str) -> None:
    assert told(redis_url, "n1", *(sample(at) for at in range(70)))
    read = redis_samples.read_all(["n1", "n2"])
    assert list(read) == ["n1"]
    assert [s.at for s in read["n1"]] == list(range(69, 9, -1))
    with Redis.from_url(redis_url) as client:
        assert 0 < client.ttl("schemalab:samples:n1") <= redis_samples.GONE_AFTER_S


def test_nodes_of_another_release_are_not_shown(redis_url: str) -> None:
    with Redis.from_url(redis_url) as client:
        client.lpush("schemalab:samples:n1", "v2 10 20")
    assert redis_samples.read_all(["n1"]) == {}


def test_without_redis_nothing_is_reported_and_nothing_fails(settings: Any) -> None:
    settings.REDIS_URL = "unix:///nowhere/redis.sock"
    assert redis_samples.read_all([]) == {}
    assert redis_samples.read_all(["n1"]) == {}
    assert told(settings.REDIS_URL, "n1", sample(1)) is False
