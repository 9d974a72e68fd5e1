"""What `manage.py up` tells the processes that it starts."""

from pathlib import Path

import pytest
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from schemalab.embedded.locations import locations_of
from schemalab.launch.plan import Plan


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
        java_home=Path("/nowhere"),
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
