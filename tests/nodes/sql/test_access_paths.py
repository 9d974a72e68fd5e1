"""Which keys a statement reads: never too few, and no more than its conditions allow."""

import datetime as dt
from typing import Any

import postgast
import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalog.descriptor import Descriptor
from catalog.elements import Column, ColumnId, Index, IndexColumn, IndexId, TableId
from catalog.values.types import SqlType
from expressions.typed import Context, evaluate
from nodes.execution.row_codec import stored
from nodes.sql.conditions.access_paths import access, point
from nodes.sql.uses import followed
from storage import pairs
from storage.buckets import storage_of
from storage.pairs import column_key, index_entry, row_bucket

TABLE = Descriptor(
    TableId(7), "flights", 3,
    (
        Column(ColumnId(1), "day", SqlType.DATE), Column(ColumnId(2), "number", SqlType.INTEGER),
        Column(ColumnId(3), "origin", SqlType.TEXT), Column(ColumnId(4), "delay", SqlType.INTEGER),
        Column(ColumnId(5), "big", SqlType.BIGINT), Column(ColumnId(6), "score", SqlType.DOUBLE),
    ),
    (ColumnId(1), ColumnId(2)),
    indexes=(
        Index(IndexId(1), "by_origin", (IndexColumn(ColumnId(3)), IndexColumn(ColumnId(4), descending=True))),
        Index(IndexId(2), "by_delay", (IndexColumn(ColumnId(4)),)),
        Index(IndexId(3), "by_score", (IndexColumn(ColumnId(6)),)),
    ),
    next_column_id=ColumnId(7), next_index_id=IndexId(4),
)  # fmt: skip


def ways(where: str) -> tuple[Any, Any, Any]:
    select = postgast.parse(f"SELECT 1 FROM flights WHERE {where}").stmts[0].stmt.select_stmt
    found = followed(select, {"flights": TABLE}, {})
    (scan,) = found.scans.values()
    return access(TABLE, scan.conditions, Context(), storages=2, buckets=3000), found, scan


@pytest.mark.parametrize(("where", "index", "points", "ranges", "storages"), [
    pytest.param("true", None, None, 1, (1, 2), id="no condition reads the table"),
    pytest.param("day = '2013-01-01' AND number = 7", None, 1, 1, (2,), id="a whole key is one point on one storage"),
    pytest.param("day = '2013-01-01' AND number IN (7, 8, 9)", None, 3, 3, None, id="a list is as many points"),
    pytest.param("day = '2013-01-01'", None, None, 1, (1, 2), id="a prefix of the key is a range"),
    pytest.param("day BETWEEN '2013-01-01' AND '2013-01-31'", None, None, 1, (1, 2), id="so are bounds"),
    pytest.param("number = 7", None, None, 1, (1, 2), id="a later column of the key helps nothing"),
    pytest.param("origin = 'JFK'", "by_origin", None, 1, (1, 2), id="an index is used for its first column"),
    pytest.param("origin = 'JFK' AND delay > 10", "by_origin", None, 1, (1, 2), id="and for the next one"),
    pytest.param("origin IN ('JFK', 'LGA') AND delay < 0", "by_origin", None, 2, (1, 2), id="a range for each value"),
    pytest.param("day = '2013-01-01' AND number = ANY('{7,NULL,8,8}')", None, 2, 2, None, id="an array is a list"),
    pytest.param("day = '2013-01-01' AND number = ANY('{7,8}'::bigint[])", None, 2, 2, None, id="also a wider one"),
    pytest.param("delay = ANY(NULL::int[])", "by_delay", None, 0, (1, 2), id="so is no array"),
    pytest.param("delay <> ALL('{5}'::int[])", None, None, 1, (1, 2), id="what is not in an array is anywhere"),
    pytest.param("delay IS NULL", "by_delay", None, 1, (1, 2), id="NULL is a value of an index"),
    pytest.param("delay = 5 OR delay = 6", "by_delay", None, 2, (1, 2), id="alternatives are a list"),
    pytest.param("delay = 5 OR number = 6", None, None, 1, (1, 2), id="alternatives of two columns are not"),
    pytest.param("delay = 3000000000", "by_delay", None, 0, (1, 2), id="a value the column cannot hold is nowhere"),
    pytest.param("delay = NULL", "by_delay", None, 0, (1, 2), id="nothing equals NULL"),
    pytest.param("delay + 1 = 5", None, None, 1, (1, 2), id="an expression over the column bounds nothing"),
    pytest.param("score = 'NaN' AND score IN ('NaN', 1)", "by_score", None, 1, (1, 2), id="NaN is NaN wherever named"),
    pytest.param("day = '2013-01-01' AND origin = 'JFK'", None, None, 1, (1, 2), id="the primary key wins when equal"),
    pytest.param(
        "day = '2013-01-01' AND number >= 100 AND number < 200 AND origin = 'JFK' AND delay = 5", None, None, 1, (1, 2),
        id="and when it leaves but a few rows",
    ),
    pytest.param(
        "day = '2013-01-01' AND number >= 100 AND number < 2000 AND origin = 'JFK' AND delay = 5", "by_origin", None, 1,
        (1, 2), id="of many rows an index may have fewer",
    ),
    pytest.param(
        "day = '2013-01-01' AND number > 100 AND origin = 'JFK' AND delay = 5", "by_origin", None, 1, (1, 2),
        id="and of a range without an end",
    ),
])  # fmt: skip
def test_the_way_to_the_rows(where: str, index: str | None, points: int | None, ranges: int, storages: Any) -> None:
    way, _, _ = ways(where)
    assert (way.index.name if way.index else None) == index
    assert (len(way.points) if way.points is not None else None) == points
    assert len(way.ranges) == ranges
    assert storages is None or way.storages == storages


VALUES = {
    "day": st.dates(dt.date(2013, 1, 1), dt.date(2013, 12, 31)) | st.none(),
    "number": st.integers(-3, 3), "origin": st.sampled_from(["JFK", "LGA", "", "É"]) | st.none(),
    "delay": st.integers(-3, 3) | st.none(), "big": st.integers(-3, 3) | st.none(),
    "score": st.sampled_from([float("nan"), -1.0, 0.5]) | st.none(),
}  # fmt: skip
CONDITIONS = st.sampled_from([
    "number = 1", "number IN (1, 2)", "number = ANY('{1,2,NULL}'::int[])", "big = ANY('{1,2}'::int[])",
    "day = ANY('{2013-01-01}'::date[])", "origin = ANY('{JFK,NULL,\"\"}')", "origin <> ALL('{JFK}')",
    "number = ANY('{}'::int[])", "delay = ANY(NULL::int[])", "number > 0",
    "number <= 1", "number >= -1 AND number < 2", "number = 1.0",
    "day = '2013-01-01'", "day >= '2013-03-01'", "day < '2013-06-01'", "day IN ('2013-01-01', '2013-01-02')",
    "origin = 'JFK'", "origin > 'K'", "origin IN ('', 'É')", "origin IS NULL", "origin <= 'JFK'",
    "delay = 0", "delay < 0", "delay > -1", "delay IS NULL", "delay BETWEEN -1 AND 1", "delay = 1 OR delay = 2",
    "1 = delay", "0 < delay", "big = 1", "big > number", "delay > 2147483648", "delay < 2147483648", "NOT delay = 1",
    "score = 'NaN'", "score IN ('NaN', 0.5)", "score = ANY('{NaN,-1}')", "score > 0.5",
    "score = 'NaN' OR score = -1",
])  # fmt: skip


@given(st.lists(CONDITIONS, min_size=1, max_size=4), st.fixed_dictionaries(VALUES))
def test_a_row_that_meets_the_conditions_is_within_the_bounds(conditions: list[str], values: dict[str, Any]) -> None:
    values["day"] = values["day"] or __import__("datetime").date(2013, 1, 1)
    row = {column.id: values[column.name] for column in TABLE.columns}
    way, _, scan = ways(" AND ".join(f"({c})" for c in conditions))
    if not all(evaluate(condition, row, Context()) is True for condition in scan.conditions):
        return
    kept = stored(TABLE, row)
    home = storage_of(row_bucket(TABLE, TABLE.placement, kept, 3000), 2, 3000)
    assert home in way.storages
    if way.points is not None:
        assert kept.key in way.points
    if scan.pinned_key is not None:
        assert point(TABLE, scan.pinned_key, Context()).points == (kept.key,)
    key = column_key(pairs.prefix(TABLE, TABLE.placement.id), kept.key)
    if way.index is not None:
        key, _ = index_entry(TABLE, TABLE.placement, way.index, kept)
    assert any(low <= key < high for low, high in way.ranges), (conditions, values)


MOMENTS = Descriptor(
    TableId(8), "moments", 1,
    (Column(ColumnId(1), "id", SqlType.INTEGER), Column(ColumnId(2), "at", SqlType.TIMESTAMP, length=3)),
    (ColumnId(1),),
    indexes=(Index(IndexId(1), "by_at", (IndexColumn(ColumnId(2)),)),),
    next_column_id=ColumnId(3), next_index_id=IndexId(2),
)  # fmt: skip


@pytest.mark.parametrize(("where", "index"), [
    ("at = '2024-01-01 00:00:00.1235'", "by_at"),
    ("at = '2024-01-01 00:00:00.1235'::timestamp(3)", "by_at"),
    ("at >= localtimestamp(0)", "by_at"),
    ("at = ANY (ARRAY['2024-01-01 00:00:00.1235']::timestamp(2)[])", "by_at"),
    ("at BETWEEN '2024-01-01'::timestamp(0) AND '2024-01-02'::timestamp(6)", "by_at"),
    ("at::timestamp(0) = '2024-01-01'", None),
])  # fmt: skip
def test_a_cast_to_a_precision_bounds_an_index_where_it_is_of_a_constant(where: str, index: str | None) -> None:
    select = postgast.parse(f"SELECT 1 FROM moments WHERE {where}").stmts[0].stmt.select_stmt
    [scan] = followed(select, {"moments": MOMENTS}, {}).scans.values()
    context = Context(now=dt.datetime(2024, 1, 1, tzinfo=dt.UTC))
    way = access(MOMENTS, scan.conditions, context, storages=2, buckets=3000)
    assert (way.index.name if way.index else None) == index
