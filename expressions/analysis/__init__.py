"""From PostgreSQL's parse tree to typed expressions: pure.

analyzer    the expression of any parse node, of:
building      casts, operators and connectives
comparisons   of rows, lists, ranges and arrays' elements
composed      format, to_char and pg_typeof
aggregates    aggregates and window functions
tree        what parse nodes say by themselves
scopes      what a name means
"""
