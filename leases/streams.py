"""The leases' part of live pages."""

from typing import Any

from catalog.live import snapshot
from leases.lanes import lanes
from leases.models import Node
from leases.redis.samples import read_all
from leases.samples import throughput
from leases.selectors import lane_snapshot


def _lanes(_id: int) -> dict[str, Any]:
    return lanes(lane_snapshot())


def _throughput(_id: int) -> dict[str, Any]:
    return throughput(read_all(Node.objects.values_list("name", flat=True)))


snapshot.register("cluster", "lanes", "parts/lanes.html", _lanes)
snapshot.register("cluster", "throughput", "parts/throughput.html", _throughput, is_sampled=True)
