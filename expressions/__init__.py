"""The meaning of SQL expressions: one engine for defaults, predicates, constraints and queries, everywhere.

grammar     PostgreSQL's parser, with limits
analysis    from its parse tree to typed expressions, with
building      casts, operators and connectives
comparisons   of rows, lists, ranges and arrays' elements
composed      format, to_char and pg_typeof
date_formats  patterns of to_char
aggregates    aggregates and window functions
tree          what parse nodes say by themselves
scopes        what a name means
typed       expressions as values: evaluated here, or rendered for the query engine
functions   every function, operator and cast there is, with
more_functions  those that are one line of the engine's language
session_functions  those that act beyond a query
arithmetic  what they compute, of numerics in
numerics      numbers of any number of digits
powers        their roots, logarithms and powers
deviations    their stddev and variance
patterns    LIKE, in linear time
texts       functions of text
bytestrings functions of bytea
clock_times functions of time
intervals   functions of interval, and what it is to the query engine
own         functions that the query engine calls here
arrays      arrays as values
array_literals  arrays as texts
array_constants  constant arrays for the query engine
system_values  oids and other values that only the catalog has
object_names  names of catalog objects, and functions that describe them
sqltypes    PostgreSQL's types, as far as a node has them
documents/  json and jsonb
dates/      dates and times as PostgreSQL reads and writes them
rows        predicates and derived columns over stored rows
limits      how long a value may be
errors      SQLSTATEs and the error a client gets
"""
