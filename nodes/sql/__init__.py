"""From text to a plan, under one version of each table: pure.

statements    text into statements
planner       the plan of any statement, of:
plans           plans, as values: `SelectPlan`, `InsertPlan` ..
one_table       SELECT of columns of one table: a row by its key
writes/         INSERT, UPDATE, DELETE: what each assigns, and what a row must satisfy
conditions/     which keys and rows a condition leaves
copying         the plan of a COPY FROM
naming        what names in FROM stand for, in a statement and in a view
extent        limits of what one statement may name
column_names  names of result columns that a query does not name
views         the definition that CREATE VIEW asks for
tables_of_queries  CREATE TABLE AS, SELECT INTO
standing_alone  functions that act beyond a query
session_calls functions that stand alone
show_tables   SHOW TABLES
admission     which statements PostgreSQL may run as the reader role
edits         texts with parts replaced, their words, and names that WITH hides
tables_in_place  a SELECT whose tables are replaced in place by queries
readable      SELECTs that PostgreSQL answers in place
uses          uses of tables, which conditions and relations bound each, and which columns a result shows
pair_queries  a use of a table as a query over pair views
moments       now() as a parameter
"""
