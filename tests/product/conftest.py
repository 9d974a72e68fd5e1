"""The whole product, running, for as long as tests need it: what comes after them has the machine for itself."""

from collections.abc import Iterator

import pytest

from tests.harness.cluster import RunningCluster, running_cluster


@pytest.fixture(scope="package")
def cluster() -> Iterator[RunningCluster]:
    """The whole product: three nodes, leases of two seconds. Tests leave it as they found it."""
    with running_cluster() as running:
        yield running
