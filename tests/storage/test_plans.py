"""PostgreSQL reads pairs by key, in key order, whatever it believes of a table: no plan can flip (T6)."""

import re
from collections.abc import Iterable, Iterator
from itertools import count
from typing import Any

import psycopg
import pytest
from django.db import connection, transaction

from catalog.elements import PRIMARY
from changes.submission.tables_ahead import estimate_rows
from spark_tasks.reorganise.delete import DELETE_ALL, DELETE_PAGE, DELETE_VALUES, LAST_OF_PAGE, SCANNED_MAX
from spark_tasks.reorganise.tombstones import Tombstones, clear_tombstones
from storage.mutations import Act
from storage.pairs import after, prefix, stored_key
from storage.postgres import PLAN_LOCALLY, drop_table, kv, session_options, take_spare_table
from storage.selectors import pairs_page
from storage.statements import (
    PAGE_PAIRS,
    WITHIN,
    WITHIN_INDEX,
    act_sql,
    backward_scan_sql,
    bounded_get_sql,
    bounded_scan_sql,
    get_sql,
    held_ranges_sql,
    key_sql,
    of_columns_sql,
    packed_scan_sql,
    packed_short_sql,
    remove_if_there_sql,
    scan_sql,
    value_scan_sql,
)
from tests.storage.stage import Stage

LOW, HIGH = b"\x00\x01\x00\x00", b"\x00\x01\x00\x01"
COLUMNS = [0, 3]
KS = [LOW + number.to_bytes(4) for number in range(0, 3000, 3)]
ENDS = {"low": LOW.hex(), "low_c": 0, "high": HIGH.hex(), "high_c": 0}

Params = tuple[Any, ...] | dict[str, Any]


def statements(table_id: int) -> dict[str, tuple[str, Params]]:
    """Every statement that reads or removes pairs, each with parameters as large as they come."""
    pairs, within = kv(1, table_id), (LOW, 0, HIGH, 0)
    page, named = (*within, PAGE_PAIRS), (*within, COLUMNS, PAGE_PAIRS)
    names = {"kv": pairs, "key": key_sql(table_id)}
    chunk = dict(zip(("low_k", "low_c", "high_k", "high_c"), within, strict=True))
    chunk |= {"size": 50_000, "scanned": SCANNED_MAX}
    first, order = f"SELECT {key_sql(table_id)} FROM {pairs} WHERE {WITHIN} AND", "ORDER BY k, c LIMIT %b"
    table = table_id.to_bytes(4)
    return {
        "a page of pairs": (scan_sql(1, table_id), page),
        "a page of some columns": (scan_sql(1, table_id, columns=True), named),
        "a page backwards": (backward_scan_sql(1, table_id, columns=True), named),
        "a packed page": (packed_scan_sql(1, table_id), page),
        "a packed page of some columns": (packed_scan_sql(1, table_id, of_columns=(0, 3)), page),
        "a bounded page": (bounded_scan_sql(1, table_id), (*page, 1000)),
        "a bounded page of some columns": (bounded_scan_sql(1, table_id, columns=True), (*named, 1000)),
        "a packed and bounded page": (packed_scan_sql(1, table_id, of_columns=(0, 300), bounded=True), (*page, 1000)),
        "a packed page of short values": (packed_short_sql(1, table_id, of_columns=(0, 3)), (1000, *page)),
        "pairs by key, bounded": (bounded_get_sql(1, table_id), (1000, KS, COLUMNS)),
        "a page of pairs and tombstones": (scan_sql(1, table_id, tombstones=True), (*within, 51)),
        "pairs with given values": (value_scan_sql(1, table_id), (*named, [b"x"] * 100, PAGE_PAIRS)),
        "pairs by key": (get_sql(1, table_id), (KS, COLUMNS)),
        "ranges that hold a pair": (
            held_ranges_sql(1, table_id),
            ([table + k for k in KS], [table + after(k) for k in KS]),
        ),
        "removal by key": (act_sql(Act.REMOVE, 1, table_id), (KS, COLUMNS)),
        "removal of one's own": (act_sql(Act.REMOVE_UNIQUE, 1, table_id), (KS, [0], KS, KS)),
        "removal if there is a row": (remove_if_there_sql(1, table_id), (KS[0], KS[:1], COLUMNS)),
        "purge of values": (DELETE_PAGE.format(only=f"is_tombstone AND {of_columns_sql(COLUMNS)}", **names), chunk),
        "purge": (DELETE_PAGE.format(only="is_tombstone", **names), chunk),
        "deletion of entries": (DELETE_ALL.format(within=WITHIN_INDEX, **names), (LOW, HIGH)),
        "the last entry of a page": (LAST_OF_PAGE.format(within=WITHIN_INDEX, **names), (LOW, HIGH, 2000)),
        "deletion of a copy's rows": (DELETE_ALL.format(within=WITHIN, **names), within),
        "strangers": (f"{first} NOT {of_columns_sql(COLUMNS)} {order}", (*within, 10)),
        "tombstones": (f"{first} v IS NULL {order}", (*within, 10)),
        "entries counted": (f"SELECT count(*) FROM {pairs} WHERE {WITHIN} AND v IS NOT NULL", within),
    }


FILL = """INSERT INTO {kv} SELECT '\\x00010000'::bytea || int4send(n), c, '\\x01'
FROM generate_series(0, {rows}) AS n, unnest(ARRAY[0, 1, 2, 3]) AS c"""
SIZES = {
    "empty": [],
    "small, never analysed": [FILL.format(kv="{kv}", rows=200)],
    "large, never analysed": [FILL.format(kv="{kv}", rows=20_000)],
    "large, analysed": [FILL.format(kv="{kv}", rows=20_000), "VACUUM ANALYZE {kv}"],
    "churned": [FILL.format(kv="{kv}", rows=20_000), "ANALYZE {kv}", "DELETE FROM {kv} WHERE k > '\\x0001000000000100'",
        "UPDATE {kv} SET v = NULL WHERE k < '\\x0001000000000080'"],
}  # fmt: skip


@pytest.fixture(params=SIZES)
def table_id(request: pytest.FixtureRequest, dsn: str) -> Iterator[int]:
    with psycopg.connect(dsn, autocommit=True) as opened:
        made = take_spare_table(opened.cursor())
        opened.execute(f"ALTER TABLE {kv(1, made)} SET (autovacuum_enabled = off)")
        for sql in SIZES[request.param]:
            opened.execute(sql.format(kv=kv(1, made)))
        yield made
        drop_table(opened.cursor(), 2, made)


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for below in plan.get("Plans", ()):
        yield from nodes(below)


def faults(plan: dict[str, Any], table_id: int) -> list[str]:
    """What a plan does that grows with the table: pairs read otherwise than by key, or sorted before a page is cut."""
    found = []
    for node in nodes(plan):
        kind = node["Node Type"]
        if node.get("Relation Name") == f"kv_{table_id}" and kind != "ModifyTable" and "Index Cond" not in node:
            found.append(f"{kind} of all pairs")
        reads_pairs = any("Relation Name" in below for below in nodes(node))
        if kind.startswith("Gather") or (kind in ("Sort", "Incremental Sort", "Hash") and reads_pairs):
            found.append(kind)
    return found


def explained(cursor: psycopg.Cursor[Any], sql: str, params: Params) -> dict[str, Any]:
    """The plan that a prepared statement gets in this session."""
    if isinstance(params, dict):
        names = list(params)
        sql = re.sub(r"%\((\w+)\)b", lambda match: f"${names.index(match[1]) + 1}", sql)
        params = tuple(params.values())
    numbers = count(1)
    cursor.execute("PREPARE asked AS " + re.sub("%b", lambda _: f"${next(numbers)}", sql))
    given = psycopg.ClientCursor(cursor.connection)
    row = given.execute(f"EXPLAIN (FORMAT JSON) EXECUTE asked ({', '.join(['%s'] * len(params))})", params).fetchone()
    cursor.execute("DEALLOCATE asked", prepare=False)
    assert row is not None
    plan: dict[str, Any] = row[0][0]["Plan"]
    return plan


def test_no_statement_reads_pairs_but_by_key(dsn: str, table_id: int) -> None:
    """In a data session, planned for its parameters or for any; in Django's session when it asks for such plans."""
    found: dict[str, list[str]] = {}

    def look(where: str, cursor: psycopg.Cursor[Any], names: Iterable[str]) -> None:
        asked = statements(table_id)
        for name in names:
            if wrong := faults(explained(cursor, *asked[name]), table_id):
                found[f"{name}, {where}"] = wrong

    for mode in ("force_custom_plan", "force_generic_plan"):
        with psycopg.connect(dsn, autocommit=True, **session_options("test plans", plan_cache_mode=mode)) as opened:
            look(mode, opened.cursor(), statements(table_id))
    with psycopg.connect(dsn) as opened:
        opened.execute(PLAN_LOCALLY)
        look("locally", opened.cursor(), ("a page of pairs and tombstones", "removal by key"))
    assert found == {}


def test_values_are_removed_by_blocks(dsn: str, table_id: int) -> None:
    """A chunk walks to a few blocks of a large table, whatever PostgreSQL believes: all of it would take seconds."""
    sql = DELETE_VALUES.partition(";")[0].format(
        kv=kv(1, table_id), first=2, last=12, columns=of_columns_sql([3]), **ENDS
    )
    with psycopg.connect(dsn, autocommit=True, **session_options("test plans")) as opened:
        row = opened.execute(f"EXPLAIN (FORMAT JSON) {sql}").fetchone()
        assert row is not None
        [_, kind] = [node["Node Type"] for node in nodes(row[0][0]["Plan"])]
        is_large = opened.execute(f"SELECT pg_relation_size('{kv(1, table_id)}') > 1000000").fetchone() == (True,)
    assert kind == "Tid Range Scan" if is_large else kind in ("Tid Range Scan", "Index Scan")


def test_pages_and_the_clear_ask_for_such_plans(stage: Stage) -> None:
    """Django's session has PostgreSQL's own settings."""
    said: list[str] = []

    def hear(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        said.append(sql)
        return execute(sql, params, many, context)

    with connection.execute_wrapper(hear), transaction.atomic():
        pairs_page(stage.now, storage=1, index=PRIMARY)
        estimate_rows(stage.now)
        clear_tombstones(connection.cursor(), stage.table_id, [Tombstones(1, [b"x"])])
    before = ""
    for sql in said:
        assert "kv_" not in sql or PLAN_LOCALLY in before, sql
        before = sql if "kv_" not in sql else ""


def test_rows_are_estimated_by_the_live_pairs_they_have(stage: Stage) -> None:
    """PostgreSQL looked last in the middle of a load, and each pair was written again since; most rows have fewer pairs
    than the table has columns."""
    pairs, (low, _) = kv(1, stage.table_id), stored_key(prefix(stage.now, stage.now.placement.id))
    fill = f"""INSERT INTO {pairs} SELECT %s::bytea || int8send(n), c, 'x'
    FROM generate_series(%s::bigint, %s) AS n, unnest(ARRAY[0, 1]) AS c"""
    with connection.cursor() as cursor:
        cursor.execute(f"ALTER TABLE {pairs} SET (autovacuum_enabled = off)")
        cursor.execute(fill, [low, 1, 12_000])
        cursor.execute("SELECT pg_stat_force_next_flush()")
        cursor.execute(f"ANALYZE {pairs}")
        cursor.execute(fill, [low, 12_001, 30_000])
        cursor.execute(f"UPDATE {pairs} SET v = 'y'")
        cursor.execute("SELECT pg_stat_force_next_flush()")
    found = estimate_rows(stage.now)
    assert not found.is_exact
    assert found.rows == pytest.approx(30_000, rel=0.05)
