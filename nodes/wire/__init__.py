"""PostgreSQL's wire protocol 3: pure.

messages    messages as bytes and back
parameters  parameters as values
results     what a statement gives back
scram       SCRAM-SHA-256
"""
