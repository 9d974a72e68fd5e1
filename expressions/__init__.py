"""The meaning of SQL expressions over one row: a small evaluator. PostgreSQL computes the others.

grammar     PostgreSQL's parser, with limits
analysis/   from its parse tree to typed expressions
typed       expressions as values: evaluated here
functions/  operators, functions and casts
values/     what is computed, for one row: numbers, texts, arrays
dates/      dates and times as PostgreSQL reads and writes them
sqltypes    PostgreSQL's types, as far as a node has them
rows        predicates and derived columns over stored rows
limits      how long a value may be
literals    those of a definition, as the settings of its session read them
errors      SQLSTATEs and the error a client gets
"""
