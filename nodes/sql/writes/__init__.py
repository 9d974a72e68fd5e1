"""Plans of statements that write rows: pure.

inserts      INSERT
updates      UPDATE and DELETE
joins        conditions that say which keys are read
merges       MERGE
several      statements in the WITH of another one
assignments  what both assign to the columns of a table
identity     numbers that a statement gives identity columns
row_rules    NOT NULL and CHECK
pieces       the clauses of a statement, by its words
typed        SQL around values, and rows of a node as a table
row_texts    the queries by which PostgreSQL computes rows
"""
