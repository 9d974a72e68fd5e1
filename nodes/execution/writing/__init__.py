"""Statements that write rows.

dml             INSERT, UPDATE, DELETE, MERGE, RETURNING, several of them in a WITH, of:
inserted_rows     the rows of an INSERT, complete
target_rows       the rows that an UPDATE or DELETE is about
merged_rows       those of a MERGE, and what is done with each
upsert            ON CONFLICT
point_write     UPDATE or DELETE of one row by its key, or INSERT of some rows, compiled: nothing is read
point_change    UPDATE or DELETE of one row by its key that reads it first, compiled
copy_from       COPY FROM STDIN
truncate        TRUNCATE, in bounded transactions (R9)
rewrite         the rows of a table that its transaction has made, under the next version (T9)
computing       values that PostgreSQL computes for a statement
answering       values of expressions of the schema that it computes, for all rows of a statement
write_context   one statement's table, transaction, and pairs
writer          its operations, sent to the store
"""
