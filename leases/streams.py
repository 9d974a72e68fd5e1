"""What the leases show on live pages."""

from typing import Any

from catalog import live
from leases.lanes import lanes
from leases.models import Node
from leases.redis_samples import read_all
from leases.samples import throughput
from leases.selectors import lane_snapshot


def _lanes(_id: int) -> dict[str, Any]:
    return lanes(lane_snapshot())


def _throughput(_id: int) -> dict[str, Any]:
    return throughput(read_all(Node.objects.values_list("name", flat=True)))


live.register("cluster", "lanes", "parts/lanes.html", _lanes)
live.register("cluster", "nodes", "parts/nodes.html", _lanes)
live.register("cluster", "throughput", "parts/throughput.html", _throughput, is_sampled=True)
