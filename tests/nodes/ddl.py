"""Schema changes sent to a node: a table to change, what its client is told, and why one failed."""

from typing import Any

import psycopg

from changes.pages.failure import failure
from changes.plan.model import plan_from_json
from tests.nodes.conftest import Cluster


def table_of_two_rows(cluster: Cluster) -> str:
    made = cluster.table("id int primary key, a int, b text")
    with cluster.connect() as connection:
        connection.execute(f"INSERT INTO {made} VALUES (1, 10, 'one'), (2, 20, 'two')")
    return made


def tag(connection: "psycopg.Connection[Any]", sql: str) -> str | None:
    return connection.execute(sql).statusmessage


def told(connection: "psycopg.Connection[Any]", sql: str) -> list[tuple[str, str, str]]:
    """The notices of a statement: severity, code, text."""
    found: list[tuple[str, str, str]] = []
    connection.add_notice_handler(
        lambda said: found.append((said.severity or "", said.sqlstate or "", said.message_primary or ""))
    )
    connection.execute(sql)
    return found


def cause_of_last_failure(cluster: Cluster) -> dict[str, Any]:
    """The first cause that the page shows of the change that failed last."""
    [(change_id, plan, error)] = cluster.read(
        "SELECT id, plan, error FROM changes_change WHERE status = 'failed' ORDER BY id DESC LIMIT 1"
    )
    runs = cluster.read("SELECT violations FROM spark_tasks_reorgrun WHERE change_id = %s ORDER BY id", [change_id])
    found = failure(plan_from_json(plan), [one for (violations,) in runs for one in violations], error)
    assert found is not None
    return dict(found["causes"][0])
