"""Plans of statements that write rows: pure.

inserts      INSERT
updates      UPDATE and DELETE
merges       MERGE
several      statements in the WITH of another one
assignments  the columns of the table that is written, what they are given, and RETURNING
row_rules    NOT NULL and CHECK
pieces       the clauses of a statement, by its words
source_text  the text of a statement, of whose words queries are made
joins        conditions that say which keys are read
others       the tables beside the one that is written
questions    a statement as the store judges it, over empty tables
typed        SQL around values, and rows of a node as a table
array_parts  arrays with elements and slices assigned
row_texts    the queries by which PostgreSQL computes rows
"""
