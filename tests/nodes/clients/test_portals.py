"""A portal ends with its transaction, however that ends: what it has not sent yet, nobody gets any more."""

import pytest

from tests.nodes.conftest import Cluster
from tests.nodes.raw_client import SYNC, Raw, ask, bind, execute, fields, parse, query, rows

ROWS = 6000
"""More than are gathered before the first is sent, and they come a thousand at a time."""


TABLE = "read_by_portals"


@pytest.fixture(scope="module")
def _rows(cluster: Cluster) -> None:
    cluster.table("id int PRIMARY KEY", name=TABLE)
    with cluster.connect() as connection:
        connection.execute(f"INSERT INTO {TABLE} SELECT g FROM generate_series(1, {ROWS}) g")


def opened() -> bytes:
    """A portal that has sent ten rows and reads the others from the store when it is asked again."""
    keys = ", ".join(map(str, range(1, ROWS + 1)))
    return (
        parse(f"SELECT id FROM {TABLE} WHERE id IN ({keys})", "rows") + bind(name="rows", portal="p") + execute(10, "p")
    )


def executed(sql: str) -> bytes:
    return parse(sql) + bind() + execute()


@pytest.mark.parametrize(("begin", "end"), [
    pytest.param("BEGIN", [query("COMMIT")], id="by COMMIT"),
    pytest.param("BEGIN", [query("ROLLBACK")], id="by ROLLBACK"),
    pytest.param("BEGIN", [query("COMMIT; BEGIN")], id="by COMMIT before another BEGIN"),
    pytest.param("BEGIN", [executed("COMMIT")], id="by COMMIT in the same pipeline"),
    pytest.param("BEGIN", [executed("COMMIT"), executed("BEGIN"), SYNC], id="by COMMIT, then BEGIN"),
    pytest.param("", [query("SELECT 1")], id="by a simple query behind it"),
    pytest.param("", [executed(f"CREATE TABLE IF NOT EXISTS {TABLE} (id int PRIMARY KEY)")], id="by a schema change"),
])  # fmt: skip
@pytest.mark.usefixtures("_rows")
def test_a_portal_ends_with_its_transaction(cluster: Cluster, raw: Raw, begin: str, end: list[bytes]) -> None:
    ask(raw, query(begin))
    raw.send(b"".join([opened(), *end, execute(0, "p"), SYNC, query("ROLLBACK"), query("SHOW server_encoding")]))
    answers: list[tuple[bytes, bytes]] = []
    while rows(answers)[-1:] != [(b"UTF8",)]:
        answers += raw.until_ready()
    assert [fields(body)["C"] for kind, body in answers if kind == b"E"] == ["34000"]
    assert transactions_at_the_store(cluster) == 0


def transactions_at_the_store(cluster: Cluster) -> int:
    with cluster.store() as store:
        row = store.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'schemalab node n1 %'"
            " AND datname = current_database() AND state LIKE 'idle in transaction%'"
        ).fetchone()
    assert row is not None
    return int(row[0])
