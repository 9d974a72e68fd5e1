"""From text to a plan, under one version of each table: pure.

statements    text into statements
planner       the plan of any statement, of:
plans           plans, as values: `SelectPlan`, `InsertPlan` ..
inserts         INSERT
updates         UPDATE and DELETE
assignments     what both assign to the columns of a table
copying       the plan of a COPY
query         a SELECT for the query engine, of:
selects         a SELECT's parse tree as such a query
with_queries    WITH
from_clause     FROM
clauses         GROUP BY, DISTINCT, ORDER BY, LIMIT
set_operations  VALUES, UNION, INTERSECT, EXCEPT
naming          what names in FROM stand for, in a statement and in a view
extent          limits of what one statement may name
grouping        columns that a grouped query may name
grouping_sets   GROUPING SETS, ROLLUP, CUBE
keys            of values that the engine compares in part
column_names    names of result columns
access_paths  which keys a scan must read
predicates    what conditions say of single columns
implication   does a query lie within a partial index?
row_rules     NOT NULL and CHECK
tables_of_queries  CREATE TABLE AS, SELECT INTO
session_calls functions that stand alone
identity      numbers that a statement gives identity columns
show_tables   SHOW TABLES
"""
