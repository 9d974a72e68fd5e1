"""Schema changes sent to a node: a table to change, and what its client is told."""

from typing import Any

import psycopg

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
