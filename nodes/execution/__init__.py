"""Plans, executed over the store.

perform         a plan of whatever kind, of:
select          SELECT
dml             INSERT, UPDATE, DELETE, of:
inserted_rows     the rows of an INSERT, complete
target_rows       the rows that an UPDATE or DELETE is about
joined_rows       those of UPDATE .. FROM and DELETE .. USING
upsert            ON CONFLICT
unread            an UPDATE by key that needs nothing of its row
copy_from         COPY FROM STDIN
write_context     one statement's table, transaction, and pairs
writer            its operations, sent to the store
rewrite         the rows of a table that its transaction has made, under the next version (T9)
truncate        TRUNCATE, in bounded transactions (R9)
scans           reading rows by key, by index, or page by page
catalog_feeds   relations of the catalog, as a transaction sees them
catalog_batches   made beside the event loop, and kept
pages           pages of pairs, bounded by their bytes
row_codec       rows between bytes and values
expressions     computed here, or by
duckdb_engine   the query engine, with:
engine_functions   what it calls here, of
numeric_functions  numerics
document_functions  json and jsonb
held_rows       how many bytes a statement, a connection and a node may hold
fairness        long work beside the event loop's duties
"""

from storage import arrow

assert arrow
