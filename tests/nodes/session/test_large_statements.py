"""What grows with a statement's text is worked out beside the event loop, which renews the leases meanwhile."""

import threading
from typing import Any

import pytest

import changes.ddl.statements
import nodes.session.explain
from nodes.session import planned
from tests.nodes.conftest import Cluster
from tests.nodes.within import Within, within

VALUES = "SELECT count(*) FROM (VALUES " + ", ".join(f"({i}, 'x')" for i in range(4000)) + ") v"
COLUMNS = ", ".join(f"c{i} int" for i in range(2000))


@pytest.mark.parametrize(("sql", "where", "what"), [
    pytest.param(VALUES, planned, "in_place", id="a query"),
    pytest.param(f"EXPLAIN {VALUES}", nodes.session.explain, "in_place", id="EXPLAIN"),
    pytest.param(f"CREATE TABLE wide ({COLUMNS})", changes.ddl.statements, "parse", id="a table in a transaction"),
])  # fmt: skip
def test_a_large_statement_is_worked_out_beside_the_event_loop(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, sql: str, where: Any, what: str
) -> None:
    threads: list[str] = []
    done = getattr(where, what)

    def noted(*args: Any, **more: Any) -> Any:
        threads.append(threading.current_thread().name)
        return done(*args, **more)

    async def work(node: Within) -> None:
        await node.run("BEGIN", alone=False)
        await node.run(sql, alone=False)

    monkeypatch.setattr(where, what, noted)
    within(cluster, work)
    assert threads
    assert all(name.startswith("planning") for name in threads), threads
