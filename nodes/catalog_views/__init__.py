"""The catalog as clients read it: relations of our own, made from descriptors for the query engine: pure.

relations  the relations there are: names and types of their columns
rows       their rows, for the tables of a moment
tables     rows about tables: columns, indexes, constraints
measured   the tables where PostgreSQL counts what happens to them; nothing is counted here
system     rows about the catalog's own relations
described  what PostgreSQL says of its own objects
fixed      rows that are the same whatever tables there are: schemas, types, the role and the database
functions  pg_proc: the functions that a node has
operators  pg_operator and pg_cast: the operators and casts that a node has
stored     rows about views
standard   rows of information_schema
own        views of our own: elements in any state, versions, leases, changes, nodes
of_session relations about the session that asks
names      names of objects, and how they are written out: what functions read
texts      indexes, constraints and defaults as SQL
values     values of rows, and numbers of PostgreSQL's own
"""
