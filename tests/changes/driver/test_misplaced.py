"""Rows that an earlier version of the code placed by another text of a boolean are named, and spread anew."""

from typing import Any

import pytest
from django.conf import settings

from catalog.descriptor import Descriptor
from catalog.elements import ColumnId
from catalog.selectors import newest_descriptor
from catalog.values.types import SqlType, Value, to_text
from changes import services
from changes.models import Status
from schemalab.connections.misplaced import misplaced
from spark_tasks.checks.audit import audit_table
from storage import encoding, pairs
from storage.buckets import BUCKETS, FUNCTIONS, ShardingFunction, storage_of
from storage.integrity.clauses import check
from storage.mutations import insert_row
from storage.pairs import StoredRow, row_bucket, rows_of
from tests.changes.cluster import Cluster
from tests.changes.driven import drive, made
from tests.storage.postgres_store import PostgresStore

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.filterwarnings("ignore::celery.exceptions.AlwaysEagerIgnored"),
]
ROWS = 60


def earlier_piece(sql_type: SqlType, value: Value) -> bytes:
    """PostgreSQL's text, also of booleans."""
    return to_text(sql_type, value).encode()


def filled(cluster: Cluster, table: Descriptor, monkeypatch: pytest.MonkeyPatch, *, earlier: bool) -> PostgresStore:
    """The store with rows in it, as either version of the code puts them."""
    store = PostgresStore(cluster.connect, table.table_id, settings.STORAGE_COUNT)
    flag, number = table.column_named("flag"), table.column_named("id")
    pairs._bucket_of_key.cache_clear()
    with monkeypatch.context() as then:
        if earlier:
            then.setitem(FUNCTIONS, "strcrc32", ShardingFunction(earlier_piece))
        transaction = store.begin()
        for n in range(ROWS):
            values: dict[Any, Value] = {flag.id: n % 3 == 0, number.id: n}
            key = b"".join(encoding.encode(c.type, values[c.id]) for c in table.key_columns)
            columns: dict[ColumnId, bytes] = {
                c.id: encoding.encode_value(c.type, values[c.id])
                for c in table.columns
                if c.id not in table.primary_key
            }
            transaction.apply(insert_row(table, StoredRow(key, columns)))
        transaction.commit()
    pairs._bucket_of_key.cache_clear()
    return store


def named(cluster: Cluster) -> list[str]:
    return misplaced(cluster.dsn, storages=settings.STORAGE_COUNT, buckets=BUCKETS)


@pytest.mark.parametrize("columns", [
    pytest.param("flag boolean, id int, PRIMARY KEY (flag, id)", id="a boolean of the primary key"),
    pytest.param("id int PRIMARY KEY, flag boolean) WITH (sharding_key = 'id, flag'", id="one outside of it"),
])  # fmt: skip
def test_a_table_spread_by_a_boolean_is_named_with_what_spreads_it_anew(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, columns: str
) -> None:
    table = newest_descriptor(made(f"CREATE TABLE flags ({columns})").table_id)
    store = filled(cluster, table, monkeypatch, earlier=True)
    [line] = named(cluster)
    assert line.startswith("table flags: rows lie where an earlier version put them, and are missed by their sharding")
    command = line.partition("; ")[2].removesuffix(" spreads them anew")
    assert command == """ALTER TABLE "flags" SET (sharding_func = 'mpcrc32')"""
    assert drive(services.submit(command, who="ann")) == Status.DONE
    assert named(cluster) == []
    assert_placed(cluster, store, table)
    assert drive(services.submit("ALTER TABLE flags SET (sharding_func = 'strcrc32')", who="ann")) == Status.DONE
    assert named(cluster) == []
    assert_placed(cluster, store, table)


def assert_placed(cluster: Cluster, store: PostgresStore, table: Descriptor) -> None:
    """Every row is there once, on the storage that its key says."""
    now, count = newest_descriptor(table.table_id), 0
    assert check(now, store.contents(), buckets=BUCKETS) == []
    report = audit_table(cluster.dsn, table.table_id, storages=settings.STORAGE_COUNT, buckets=BUCKETS)
    assert report.violations == []
    for storage, there in enumerate(store.contents(), 1):
        for row in rows_of(now, now.placement, sorted(there.items())):
            assert storage_of(row_bucket(now, now.placement, row, BUCKETS), settings.STORAGE_COUNT, BUCKETS) == storage
            count += 1
    assert count == ROWS


@pytest.mark.parametrize(("columns", "earlier"), [
    pytest.param("flag boolean, id int, PRIMARY KEY (flag, id)", False, id="rows of this version"),
    pytest.param("flag boolean, id int, PRIMARY KEY (id)", True, id="a boolean that spreads nothing"),
    pytest.param("flag boolean, id int, PRIMARY KEY (flag, id)) WITH (sharding_func = 'mpcrc32'", True, id="mpcrc32"),
])  # fmt: skip
def test_other_tables_are_not_named(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, columns: str, earlier: bool
) -> None:
    table = newest_descriptor(made(f"CREATE TABLE flags ({columns})").table_id)
    filled(cluster, table, monkeypatch, earlier=earlier)
    assert named(cluster) == []
