"""The leases' parts of live pages."""

from typing import Any

from catalog.live import snapshot
from leases.lanes import lanes
from leases.models import Node
from leases.redis.samples import read_all
from leases.samples import Sample, throughput
from leases.selectors import lane_snapshot


@snapshot.once
def lane_facts() -> dict[str, Any]:
    return lane_snapshot()


@snapshot.once
def samples() -> dict[str, list[Sample]]:
    return read_all(Node.objects.values_list("name", flat=True))


def _lanes(_id: int) -> dict[str, Any]:
    return lanes(lane_facts())


def _throughput(_id: int) -> dict[str, Any]:
    return throughput(samples())


snapshot.register("cluster", "lanes", "parts/lanes.html", _lanes)
snapshot.register("cluster", "throughput", "parts/throughput.html", _throughput, is_sampled=True)
