"""Changes of tables with columns of arrays: what fills beside them and of them leave is what was published."""

import psycopg
import pytest
from django.conf import settings

from catalog.selectors import newest_descriptor
from catalog.values.types import parse_text
from spark_tasks.checks.audit import audit_table
from storage import encoding
from storage.buckets import BUCKETS
from storage.integrity.clauses import check
from storage.mutations import insert_row
from storage.pairs import StoredRow, encoded_value, rows_of
from tests.changes.driver.test_reorganisations import made
from tests.storage.postgres_answers import answers_for
from tests.storage.postgres_store import PostgresStore

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.filterwarnings("ignore::celery.exceptions.AlwaysEagerIgnored"),
]
ARRAYS = {"n": "{1.10,NULL}", "t": '{"a b","",NULL}', "i": '{"1 mon","30 days"}', "j": '{"[1, 2]"}', "b": "{}"}


def test_a_table_with_arrays_is_filled_indexed_and_audited(cluster):
    made("CREATE TABLE bags (id bigint PRIMARY KEY, k int, n numeric[], t text[], i interval[], j jsonb[], b bytea[])")
    table = newest_descriptor(made("CREATE INDEX by_k ON bags (k)").table_id)
    store = PostgresStore(cluster.connect, table.table_id, settings.STORAGE_COUNT)
    transaction = store.begin()
    for number in range(50):
        columns = {table.column_named("k"): encoding.encode_value(table.column_named("k").type, number % 7)}
        for name, text in ARRAYS.items():
            column = table.column_named(name)
            value = parse_text(column.type, text) if (number + len(name)) % 3 else None
            columns[column] = encoding.encode_value(column.type, value)
        key = encoding.encode(table.column_named("id").type, number)
        transaction.apply(insert_row(table, StoredRow(key, {c.id: value for c, value in columns.items()})))
    transaction.commit()
    made("CREATE INDEX many ON bags (k) WHERE cardinality(t) > 2")
    made("ALTER TABLE bags ADD tags varchar(3)[] NOT NULL DEFAULT '{a,NULL,\"b c\"}'")
    made("ALTER TABLE bags ADD CONSTRAINT few CHECK (cardinality(n) < 3 AND '' <> ALL (tags))")
    made("ALTER TABLE bags DROP COLUMN j")
    made("ALTER TABLE bags SET (sharding_key = k)")
    after = newest_descriptor(table.table_id)
    with psycopg.connect(cluster.dsn, autocommit=True) as connection:
        answers = answers_for(after, store.contents(), connection)
    assert check(after, store.contents(), buckets=BUCKETS, answers=answers) == []
    report = audit_table(cluster.dsn, table.table_id, storages=settings.STORAGE_COUNT, buckets=BUCKETS)
    assert report.violations == []
    pairs = [pair for storage in store.contents() for pair in storage.items()]
    rows = rows_of(after, after.placement, sorted(pairs))
    assert len(rows) == 50
    tags = after.column_named("tags")
    filled = encoding.encode_value(tags.type, ("a", None, "b c"))
    assert {encoded_value(after, row, tags.id) for row in rows} == {filled}
