"""Plans of statements that write rows: pure.

inserts      INSERT
updates      UPDATE and DELETE
joins        the rows that these find with other tables
merges       MERGE
several      statements in the WITH of another one
assignments  what both assign to the columns of a table
identity     numbers that a statement gives identity columns
row_rules    NOT NULL and CHECK
"""
