"""Plans of statements that write rows: pure.

inserts      INSERT
updates      UPDATE and DELETE
assignments  what both assign to the columns of a table
identity     numbers that a statement gives identity columns
row_rules    NOT NULL and CHECK
"""
