"""From text to a plan, under one version of each table: pure.

statements    text into statements
planner       what a statement is to do
query         a SELECT for the query engine, of:
selects         SELECT
from_clause     FROM
grouping        GROUP BY
column_names    names of result columns
access_paths  which keys a scan must read
predicates    what conditions say of single columns
implication   does a query lie within a partial index?
row_rules     NOT NULL and CHECK
show_tables   SHOW TABLES
"""
