"""PostgreSQL's wire protocol 3: pure.

messages    messages as bytes and back
parameters  parameters as values
numerics    numerics in binary
columns     the columns of a result, and their values in text and binary
oids        object ids of tables
results     what a statement gives back
scram       SCRAM-SHA-256
"""
