"""What `manage.py up` tells the processes that it starts."""

from dataclasses import replace
from pathlib import Path

import pytest
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from schemalab.embedded.locations import locations_of
from schemalab.environment import SETTINGS
from schemalab.launch.plan import Plan
from schemalab.launch.procfile import read_procfile
from schemalab.management.commands.up import MEMORY_OF
from schemalab.supervisor.tree import Cluster
from spark_tasks.spark.java import Java
from tests.harness.cluster import ROOT


def plan(*, is_behind_proxy: bool) -> Plan:
    return Plan(
        locations=locations_of(Path("/nowhere")),
        database_url="",
        redis_url="",
        is_database_embedded=True,
        is_redis_embedded=True,
        host="127.0.0.1",
        port=8000,
        node_host="127.0.0.1",
        node_ports={},
        lease_s=30,
        java=Java(Path("/nowhere"), "17.0.15", "JAVA_HOME"),
        with_demo=False,
        is_behind_proxy=is_behind_proxy,
    )


@pytest.mark.parametrize("is_behind_proxy", [False, True])
def test_only_a_proxy_says_where_a_request_comes_from(is_behind_proxy: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wrong passwords are counted for addresses: whoever could choose theirs would have as many tries as they like."""
    monkeypatch.delenv("FORWARDED_ALLOW_IPS", raising=False)
    trusted = plan(is_behind_proxy=is_behind_proxy).env.get("FORWARDED_ALLOW_IPS", "127.0.0.1,::1")
    middleware = ProxyHeadersMiddleware(None, trusted_hosts=trusted)  # type: ignore[arg-type]
    assert ("127.0.0.1" in middleware.trusted_hosts) is is_behind_proxy


KINDS = ("postgres", "redis", *read_procfile((ROOT / "Procfile").read_text()))


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_process_is_asked_whether_it_lives_and_has_a_limit_of_memory(kind: str) -> None:
    async def announce(_seconds: float) -> None: ...

    planned = replace(plan(is_behind_proxy=False), node_ports={"n1": 1}, redis_url="redis://127.0.0.1:1")
    cluster = Cluster(planned, None, announce=announce)  # type: ignore[arg-type]
    assert cluster._question("n1" if kind == "node" else kind, kind) is not None
    assert f"{MEMORY_OF[kind]}_MEMORY_MB" in {setting.name for setting in SETTINGS}
