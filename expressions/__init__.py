"""The meaning of SQL expressions: one engine for defaults, predicates, constraints and queries, everywhere.

grammar     PostgreSQL's parser, with limits
analysis/   from its parse tree to typed expressions
typed       expressions as values: evaluated here, or left to PostgreSQL
functions/  every function, operator and cast there is: an allow-list
values/     what they compute, for one row: numbers, texts, bytes, times, intervals, arrays, names of the catalog
dates/      dates and times as PostgreSQL reads and writes them
documents/  json and jsonb
number_patterns/  to_char and to_number of numbers, pg_size_pretty
regexes/    regular expressions as PostgreSQL has them, in linear time
sqltypes    PostgreSQL's types, as far as a node has them
rows        predicates and derived columns over stored rows
limits      how long a value may be
literals    those of a definition, as the settings of its session read them
errors      SQLSTATEs and the error a client gets
"""
