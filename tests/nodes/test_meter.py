"""What a node counts in a second."""

import math
import random
import time
from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from redis import Redis

from leases.samples import Sample, from_text
from nodes.metrics import BUCKETS, Meter, bucket_of, middle_of
from tests.nodes.conftest import Cluster


@pytest.mark.parametrize("microseconds", [0, 1, 15, 16, 31, 32, 33, 63, 64, 1000, 123_456, 2**31])
def test_no_latency_is_off_by_more_than_three_percent(microseconds: int) -> None:
    assert middle_of(bucket_of(microseconds)) == pytest.approx(microseconds, rel=0.032)


def test_buckets_grow_with_the_latency_and_end_somewhere() -> None:
    buckets = [bucket_of(microseconds) for microseconds in range(5000)]
    assert buckets == sorted(buckets)
    assert bucket_of(2**60) == BUCKETS - 1


def test_percentiles_are_those_of_the_sorted_latencies() -> None:
    chance = random.Random(7)
    seconds = [chance.lognormvariate(-6, 1) for _ in range(2000)]
    meter = Meter(began=10.0)
    for latency in seconds:
        meter.finished(latency, is_error=False)
    for share in (0.5, 0.9, 0.99, 1.0):
        exact_ms = sorted(seconds)[math.ceil(share * len(seconds)) - 1] * 1000
        assert meter.percentile_ms(share) == pytest.approx(exact_ms, rel=0.04)


def test_a_second_is_reported_and_the_next_begins_at_nothing() -> None:
    meter = Meter(began=10.0)
    for number in range(30):
        meter.finished(0.004, is_error=number == 0)
    meter.retried()
    sample = meter.take(12.0, at=1000.0, open_transactions=2, long_waits=[31.04, 45.678])
    assert (sample.at, sample.statements_per_s, sample.open_transactions) == (1000.0, 15.0, 2)
    assert (sample.long_waits, sample.longest_wait_s) == (2, 45.7)
    assert (sample.errors, sample.retries) == (1, 1)
    assert sample.p50_ms == pytest.approx(4, rel=0.04)
    idle = meter.take(13.0, at=1001.0, open_transactions=0)
    assert (idle.long_waits, idle.longest_wait_s) == (0, 0.0)
    assert (idle.statements_per_s, idle.p50_ms, idle.p99_ms, idle.errors) == (0.0, None, None, 0)


def test_a_second_without_length_has_a_rate_all_the_same() -> None:
    meter = Meter(began=10.0)
    meter.finished(0.001, is_error=False)
    assert meter.take(10.0, at=0.0, open_transactions=0).statements_per_s == 1000


def heard(cluster: Cluster, wanted: Callable[[Sample], bool]) -> Sample:
    """The first sample of n1 that is as wanted."""
    deadline = time.monotonic() + 10
    with Redis.from_url(cluster.redis_url) as client:
        while time.monotonic() < deadline:
            samples = [from_text(text) for text in client.lrange("schemalab:samples:n1", 0, -1)]
            found = [sample for sample in samples if wanted(sample)]
            if found:
                return found[0]
            time.sleep(0.05)
    raise AssertionError(f"n1 told no such sample within 10 s, only {samples}")


def test_a_node_reports_what_it_does_every_second(cluster: Cluster, n1: "psycopg.Connection[Any]") -> None:
    table = cluster.table("id bigint PRIMARY KEY")
    with Redis.from_url(cluster.redis_url) as client:
        client.delete("schemalab:samples:n1")  # another test may have told samples in this name
    with n1.transaction():
        n1.execute(f"INSERT INTO {table} VALUES (1)")
        held = heard(cluster, lambda sample: sample.open_transactions == 1)
    assert held.p99_ms is None or held.p50_ms <= held.p99_ms
    with pytest.raises(psycopg.errors.UniqueViolation):
        n1.execute(f"INSERT INTO {table} VALUES (1)")
    assert heard(cluster, lambda sample: sample.errors == 1).statements_per_s > 0
