"""From PostgreSQL's parse tree to typed expressions: pure.

analyzer    the expression of any parse node, of:
casts         casts and arrays
calls         calls of functions, and
documents       those that make a json of any values
aggregates      aggregates and window functions
comparisons   of rows, lists, ranges and arrays' elements
building      typed expressions from typed parts: what casts, operators and functions PostgreSQL means
array_elements  elements and slices of an array, read and assigned
tree        what parse nodes say by themselves
scopes      what a name means
"""
