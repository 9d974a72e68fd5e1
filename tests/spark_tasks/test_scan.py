"""Rows read at once are the rows that are there, whichever columns have pairs and however wide keys are."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import psycopg
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalog.elements import EXISTS, ColumnId
from catalog.values.types import UNSORTED, SqlType
from spark_tasks.chunks import scan, snapshot_reads
from spark_tasks.reorganise.tombstones import key_space
from spark_tasks.runs.ranges import KeyRange
from storage.arrow.encoding import Pairs
from storage.arrow.rows import StoredRows, stored_rows
from storage.encoding import NULL
from storage.pairs import COLUMN, PREFIX, column_key, prefix, row_key, stored_key
from tests.catalog.test_types import VALUES
from tests.storage import pairs_sql
from tests.storage.stage import AGE, NAME, Stage, user, users


def read(stage: Stage, storage: int, columns: Sequence[ColumnId]) -> list[StoredRows]:
    space = key_space(stage.now)
    with psycopg.connect(stage.dsn, autocommit=True) as opened, snapshot_reads.snapshot(opened):
        return list(scan.rows_in_parts(opened, stage.now, KeyRange(storage, space.low, space.high, 15), columns))


def as_dict(found: list[StoredRows], columns: Sequence[ColumnId]) -> dict[bytes, tuple[bytes | None, ...]]:
    return {
        key: values
        for rows in found
        for key, *values in zip(rows.keys.to_pylist(), *(rows.columns[c].to_pylist() for c in columns), strict=True)
        for values in [tuple(values)]
    }


@pytest.fixture
def people(stage: Stage) -> Stage:
    """Some have no pair of name, as rows have that are older than a column; person 7 has none of age either."""
    rows = [user(stage.now, n, f"name {n % 4}", None if n % 3 else n) for n in range(30)]
    stage.insert(rows)
    start = prefix(stage.now, stage.now.placement.id)
    lost = [column_key(start, rows[n].key, NAME) for n in (3, 7, 8)] + [column_key(start, rows[7].key, AGE)]
    for storage in (1, 2):
        for key in lost:
            stage.sql(*pairs_sql.delete(storage, stage.table_id, key))
    return stage


@pytest.mark.parametrize("sql_type", [one for one in SqlType if one not in UNSORTED])
@given(data=st.data())
def test_keys_of_one_size_have_it_and_every_other_type_says_that_it_has_none(
    sql_type: SqlType, data: st.DataObject
) -> None:
    by = users(1)
    by = replace(by, columns=(replace(by.columns[0], type=sql_type), *by.columns[1:]))
    values = data.draw(st.lists(VALUES[sql_type], min_size=1, max_size=3))
    keys = (column_key(prefix(by, by.placement.id), row_key(by, [value]), NAME) for value in values)
    sizes = {len(stored_key(key)[0]) for key in keys}
    size = scan.key_size(by)
    assert size is None or sizes == {size}


@pytest.mark.parametrize("columns", [(), (NAME,), (AGE,), (NAME, AGE), (AGE, NAME)])
def test_what_is_read_at_once_is_what_pages_say(people: Stage, columns: tuple[ColumnId, ...]) -> None:
    space = key_space(people.now)
    for storage in (1, 2):
        key_range = KeyRange(storage, space.low, space.high, 0)
        with psycopg.connect(people.dsn, autocommit=True) as opened, snapshot_reads.snapshot(opened):
            paged = list(snapshot_reads.rows(opened, people.table_id, key_range, columns))
        assert as_dict(read(people, storage, columns), columns) == as_dict(paged, columns)


def test_a_missing_pair_is_no_null(people: Stage) -> None:
    found = {}
    for storage in (1, 2):
        found |= as_dict(read(people, storage, (NAME, AGE)), (NAME, AGE))
    assert len(found) == 30
    assert found[user(people.now, 7).key] == (None, None)
    assert found[user(people.now, 1).key][1] == NULL


@pytest.mark.parametrize(
    ("at_once", "name", "expected"),
    [
        pytest.param(40, "short", ["short", "fit", "pages"], id="too many"),
        pytest.param(2000, "short", ["short"], id="few and short"),
        pytest.param(2000, "long " * 60, ["short", "fit"], id="few, one of them long"),
    ],
)
def test_rows_too_wide_for_one_answer_come_in_pages(
    people: Stage, monkeypatch: pytest.MonkeyPatch, at_once: int, name: str, expected: list[str]
) -> None:
    """The fifteen rows or so of a storage have some 700 bytes of names, with their keys."""
    people.insert([user(people.now, 100, name)])
    whole = [as_dict(read(people, storage, (NAME,)), (NAME,)) for storage in (1, 2)]
    asked: list[str] = []
    for what, module, function in (
        ("short", scan, "_short_rows"),
        ("fit", scan, "_fit"),
        ("pages", snapshot_reads, "rows"),
    ):
        monkeypatch.setattr(module, function, spied(asked, what, getattr(module, function)))
    monkeypatch.setattr(scan, "AT_ONCE_BYTES", at_once)
    parts = [as_dict(read(people, storage, (NAME,)), (NAME,)) for storage in (1, 2)]
    assert parts == whole
    assert [one for n, one in enumerate(asked) if one not in asked[:n]] == expected


def test_a_range_of_more_rows_than_it_was_thought_to_have_is_not_read_at_once(
    people: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ranges are cut once: rows that came later lie in them, too. Here about one was expected, and 15 are there."""
    whole = as_dict(read(people, 1, (NAME,)), (NAME,))
    fits: list[str] = []
    monkeypatch.setattr(scan, "_fit", spied(fits, "fit", scan._fit))
    monkeypatch.setattr(scan, "PAIRS_MIN", 4)
    space = key_space(people.now)
    with psycopg.connect(people.dsn, autocommit=True) as opened, snapshot_reads.snapshot(opened):
        found = list(scan.rows_in_parts(opened, people.now, KeyRange(1, space.low, space.high, 1), (NAME,)))
    assert (as_dict(found, (NAME,)), fits) == (whole, ["fit"])


def test_a_damaged_key_hides_no_row(people: Stage) -> None:
    """One byte more than all others: where a key ends is not told from where it should."""
    whole = as_dict(read(people, 1, (NAME,)), (NAME,))
    first = column_key(prefix(people.now, people.now.placement.id), min(whole), NAME)
    people.sql(*pairs_sql.insert(1, people.table_id, first[:-2] + b"\x00" + first[-2:], b"x"))
    found = read(people, 1, (NAME,))
    assert as_dict(found, (NAME,)) == whole
    assert sum(len(part.orphans) for part in found) == 1


def spied(asked: list[str], what: str, real: Callable[..., Any]) -> Callable[..., Any]:
    """The function, which says that it was asked."""

    def asking(*args: Any, **named: Any) -> Any:
        asked.append(what)
        return real(*args, **named)

    return asking


KEYS = st.sampled_from([b"\x00\x00\x00\x07" * 3 + bytes([row]) for row in range(4)])


@given(st.dictionaries(st.tuples(KEYS, st.sampled_from([EXISTS, NAME, AGE, ColumnId(AGE + 256)])), st.binary()))
def test_pairs_in_any_order_are_the_rows_that_pages_make_of_them(there: dict[tuple[bytes, ColumnId], bytes]) -> None:
    """A value without its row is no row's, and one of a column that only ends alike is nobody's."""
    pairs = {b"p" * PREFIX.size + key + COLUMN.pack(column): value for (key, column), value in there.items()}
    anyhow = Pairs(pa.array(pairs, pa.binary()), pa.array(pairs.values(), pa.binary()))
    seen, expected = scan.rows_of_pairs(anyhow, (NAME, AGE)), stored_rows(anyhow.sorted(), (NAME, AGE))
    assert as_dict([seen], (NAME, AGE)) == as_dict([expected], (NAME, AGE))
    of_columns = [key for key in expected.orphans.keys.to_pylist() if COLUMN.unpack(key[-COLUMN.size :])[0] <= AGE]
    assert sorted(seen.orphans.keys.to_pylist()) == sorted(of_columns)


def test_pages_of_values_that_are_too_large_come_in_parts(people: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Here a page may have 60 bytes; otherwise 8 MB, of rows that may have gigabytes."""
    space, parts = key_space(people.now), []
    for page_bytes in (2**20, 60):
        monkeypatch.setattr("storage.page_sizes.PAGE_BYTES", page_bytes)
        with psycopg.connect(people.dsn, autocommit=True) as opened, snapshot_reads.snapshot(opened):
            pages = snapshot_reads.pages(opened, people.table_id, KeyRange(1, space.low, space.high, 0))
            parts.append([(len(page), page.keys.to_pylist(), page.values.to_pylist()) for page in pages])
    whole, cut = parts
    assert len(whole) == 1
    assert len(cut) > 1
    assert [key for _, keys, _ in cut for key in keys] == whole[0][1]
    assert [value for _, _, values in cut for value in values] == whole[0][2]


def test_a_table_is_walked_through_in_parts_that_leave_room_for_a_rest(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pairs that were written again lie in other blocks than the rest of their rows; each is seen once."""
    monkeypatch.setattr(scan, "BLOCKS_AT_ONCE", 1)
    for first in range(0, 300, 50):
        stage.insert([user(stage.now, n, f"name {n:0200}", n) for n in range(first, first + 50)])
    kv = f"storage_1.kv_{stage.table_id}"
    stage.sql(f"UPDATE {kv} SET v = v WHERE c = {NAME}", [])
    space, rests = key_space(stage.now), []
    with psycopg.connect(stage.dsn, autocommit=True) as opened, snapshot_reads.snapshot(opened):
        paged = list(snapshot_reads.rows(opened, stage.table_id, KeyRange(1, space.low, space.high, 0), (NAME, AGE)))
        [(blocks,)] = opened.execute(f"SELECT pg_relation_size('{kv}') / 8192").fetchall()
        key_range = KeyRange(1, space.low, space.high, 1000)
        found = list(scan.rows_in_parts(opened, stage.now, key_range, (NAME, AGE), lambda: rests.append(None)))
        plan = opened.execute(f"EXPLAIN SELECT k FROM {kv} WHERE ctid >= '(0,0)' AND ctid < '(1,0)'").fetchall()
    assert as_dict(found, (NAME, AGE)) == as_dict(paged, (NAME, AGE))
    assert len(rests) == blocks - 1 > 5
    assert "Tid Range Scan" in plan[0][0], "a part costs what its blocks cost"
