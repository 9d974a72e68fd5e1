"""A query beside statements that write, analysed: the types and names of its columns, and what it names. Pure.

query           such a query, as a value
selects         a SELECT's parse tree as one, of:
with_queries      WITH
from_clause       FROM
clauses           GROUP BY, DISTINCT, ORDER BY, LIMIT
set_operations    VALUES, UNION, INTERSECT, EXCEPT
grouping        columns that a grouped query may name
grouping_sets   GROUPING SETS, ROLLUP, CUBE
"""
