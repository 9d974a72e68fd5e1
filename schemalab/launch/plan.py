"""The plan of one `manage.py up`, complete before the first process starts."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from schemalab.embedded.locations import Locations
from spark_tasks.spark.java import Java


def reach(host: str) -> str:
    return "127.0.0.1" if host in ("0.0.0.0", "::") else host  # noqa: S104


@dataclass(frozen=True, slots=True)
class Plan:
    locations: Locations
    database_url: str
    redis_url: str
    is_database_embedded: bool
    is_redis_embedded: bool
    host: str
    port: int
    node_host: str
    node_ports: Mapping[str, int]
    lease_s: float
    java: Java
    with_demo: bool
    is_behind_proxy: bool = False
    memory_mb: Mapping[str, int] = field(default_factory=dict)

    @property
    def address(self) -> str:
        return f"http://{reach(self.host)}:{self.port}"

    @property
    def chosen(self) -> dict[str, str]:
        return {
            "HOST": self.host,
            "PORT": str(self.port),
            "NODES": str(len(self.node_ports)),
            "LEASE_S": f"{self.lease_s:g}",
        }

    @property
    def env(self) -> dict[str, str]:
        home = {"SCHEMALAB_HOME": str(self.locations.home), "JAVA_HOME": str(self.java.home)}
        # uvicorn believes whoever connects from loopback where a request comes from: only a proxy of ours may say so.
        proxies = {} if self.is_behind_proxy else {"FORWARDED_ALLOW_IPS": "nobody"}
        return {**proxies, **os.environ, **self.chosen, **home, "PYTHONUNBUFFERED": "1"}
