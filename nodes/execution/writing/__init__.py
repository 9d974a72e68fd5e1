"""Statements that write rows.

dml             INSERT, UPDATE, DELETE, MERGE, of:
inserted_rows     the rows of an INSERT, complete
target_rows       the rows that an UPDATE or DELETE is about
merged_rows       those of a MERGE, and what is done with each
several         a statement with others in its WITH that write
upsert            ON CONFLICT
unread            an UPDATE or DELETE by key that needs nothing of its row
point_write     UPDATE or DELETE of one row by its key, or INSERT of some rows, compiled
point_change    UPDATE or DELETE of one row by its key that reads it first, compiled
copy_from       COPY FROM STDIN
truncate        TRUNCATE, in bounded transactions (R9)
rewrite         the rows of a table that its transaction has made, under the next version (T9)
computing       values that PostgreSQL computes for a statement
answering       values of expressions of the schema that it computes, for all rows of a statement
returned        RETURNING
write_context   one statement's table, transaction, and pairs
writer          its operations, sent to the store
"""
