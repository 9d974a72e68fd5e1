"""Functions of values, for one row in Python: PostgreSQL's results. The query engine calls many of the same.

arithmetic      operators over one row, of numbers in
numerics          numbers of any number of digits: results, and how many digits they have
powers            their roots, logarithms and powers
special_functions   factorials, erf, gamma, and angles in degrees
texts           functions of text
patterns          LIKE, in linear time
bytestrings     functions of bytea
clock_times     functions of time
intervals       functions of interval, and what it is to the query engine
arrays          arrays as values
array_values      functions of arrays, for one row
array_parts       elements and slices, read and assigned
array_makers      arrays made of others, for the query engine
array_literals    arrays as texts
system_values   oids and other values that only the catalog has
object_names    names of catalog objects, and functions that describe them
privileges      has_table_privilege and its like
own             functions that the query engine calls here
"""
