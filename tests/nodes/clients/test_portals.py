"""A portal ends with its transaction, however that ends: what it has not sent yet, nobody gets any more."""

import itertools

import pytest

from tests.nodes.conftest import Cluster
from tests.nodes.raw_client import SYNC, Raw, ask, bind, execute, fields, kinds, message, parse, query, rows

ROWS = 2000
"""More than the first portions of a portal, which come a thousand at a time at most."""
ADDED = 100
SOAK = pytest.mark.soak


FLUSH = message(b"H")
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
    pytest.param("BEGIN", [query("ROLLBACK")], id="by ROLLBACK", marks=SOAK),
    pytest.param("BEGIN", [query("COMMIT; BEGIN")], id="by COMMIT before another BEGIN"),
    pytest.param("BEGIN", [executed("COMMIT")], id="by COMMIT in the same pipeline", marks=SOAK),
    pytest.param("BEGIN", [executed("COMMIT"), executed("BEGIN"), SYNC], id="by COMMIT, then BEGIN", marks=SOAK),
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
    idle = cluster.read(
        "SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'schemalab node n1 %%'"
        " AND datname = current_database() AND state LIKE 'idle in transaction%%'"
    )
    assert idle == [(0,)]


LARGE_ROWS, LENGTH, FETCHED = 400, 50_000, 50
"""More than a page, and than what is gathered before the first is sent."""
KEYS = ", ".join(map(str, range(1, LARGE_ROWS + 1)))


@pytest.mark.parametrize("where", [
    pytest.param("n + 0 = 0", id="by all rows"),
    pytest.param(f"id IN ({KEYS})", id="by keys"),
])  # fmt: skip
@pytest.mark.parametrize(("begin", "change"), [
    pytest.param("BEGIN", "DELETE FROM {t} WHERE id > 0", id="all of them are deleted"),
    pytest.param("BEGIN", "DELETE FROM {t} WHERE id IN ({ids})", id="each is deleted as it comes", marks=SOAK),
    pytest.param("BEGIN", "UPDATE {t} SET id = id + 1000000 WHERE id IN ({ids})", id="each moves ahead", marks=SOAK),
    pytest.param("BEGIN", "INSERT INTO {t} SELECT id + 9999, 0, v FROM {t} WHERE id = {id}", id="others", marks=SOAK),
    pytest.param("", "DELETE FROM {t} WHERE id > 0", id="before Sync, without BEGIN"),
])  # fmt: skip
def test_a_portal_does_not_see_what_its_transaction_writes_meanwhile(
    cluster: Cluster, raw: Raw, where: str, begin: str, change: str
) -> None:
    """What a driver with a fetch size does in a loop."""
    table = cluster.table("id int PRIMARY KEY, n int, v text")
    with cluster.connect() as connection:
        rows_made = f"SELECT g, 0, repeat('x', {LENGTH}) FROM generate_series(1, {LARGE_ROWS}) g"
        connection.execute(f"INSERT INTO {table} {rows_made}")
    if begin:
        ask(raw, query(begin))
    end = SYNC if begin else FLUSH
    raw.send(parse(f"SELECT id, v FROM {table} WHERE {where}", "rows") + bind(name="rows", portal="p"))
    found: list[bytes | None] = []
    for _ in range(LARGE_ROWS // FETCHED + 2):
        raw.send(execute(FETCHED, "p") + end)
        answers = until(raw, b"Z") if begin else until(raw, b"C", b"s", b"E")
        some = [value for value, _ in rows(answers)]
        found += some
        assert b"E" not in {kind for kind, _ in answers}
        if b"C" in {kind for kind, _ in answers}:
            break
        ids = ", ".join(str(int(value or 0)) for value in some)
        raw.send(executed(change.format(t=table, ids=ids, id=int(some[0] or 0))) + end)
        answers = until(raw, b"Z") if begin else until(raw, b"C", b"E")
        assert b"E" not in {kind for kind, _ in answers}
    assert sorted(int(value or 0) for value in found) == list(range(1, LARGE_ROWS + 1))


def until(raw: Raw, *last: bytes) -> list[tuple[bytes, bytes]]:
    """The messages up to one of these kinds."""
    found = []
    while (message := raw.message()) is not None:
        found.append(message)
        if message[0] in last:
            break
    return found


@pytest.mark.parametrize(("before", "between", "found"), [
    pytest.param("SAVEPOINT a; INSERT", "ROLLBACK TO a", None, id="made after the savepoint and a write, closed"),
    pytest.param("SAVEPOINT a; SAVEPOINT b", "RELEASE b; ROLLBACK TO a", None, id="made in one released, closed"),
    pytest.param("SAVEPOINT a; INSERT; ROLLBACK TO a", "ROLLBACK TO a", None, id="made between two returns, closed"),
    pytest.param("", "SAVEPOINT a; INSERT; ROLLBACK TO a", ROWS, id="made before it, goes on"),
    pytest.param("SAVEPOINT a; RELEASE a", "SAVEPOINT a; DELETE; ROLLBACK TO a", ROWS, id="made after an older one"),
    pytest.param("INSERT", "SAVEPOINT a; DELETE; ROLLBACK TO a; INSERT", ROWS + ADDED, id="has what stays written"),
])  # fmt: skip
@pytest.mark.usefixtures("_rows")
def test_rollback_to_closes_the_portals_of_what_it_undoes(
    raw: Raw, before: str, between: str, found: int | None
) -> None:
    """Else the first rows of one are of before the return, the others of after it."""
    table, next_key = TABLE, itertools.count(-1, -ADDED)

    def do(words: str) -> None:
        for word in filter(None, words.split("; ")):
            sql = {"INSERT": f"INSERT INTO {table} SELECT {next(next_key)} - g FROM generate_series(1, {ADDED}) g",
                   "DELETE": f"DELETE FROM {table} WHERE id > {ROWS // 2}"}.get(word, word)  # fmt: skip
            assert "E" not in kinds(ask(raw, query(sql))), sql

    ask(raw, query("BEGIN"))
    do(before)
    first = ask(raw, parse(f"SELECT id FROM {table}", "all"), bind(name="all", portal="p"), execute(10, "p"), SYNC)
    do(between)
    others = ask(raw, execute(0, "p"), SYNC)
    ask(raw, query("ROLLBACK"))
    errors = [fields(body)["C"] for kind, body in others if kind == b"E"]
    assert errors == ([] if found else ["34000"])
    assert found is None or len({*rows(first), *rows(others)}) == len(rows(first)) + len(rows(others)) == found
