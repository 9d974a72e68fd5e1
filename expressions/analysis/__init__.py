"""From PostgreSQL's parse tree to typed expressions: pure.

analyzer    the expression of any parse node, of:
casts         casts and arrays
calls         calls of functions, and
composed        format, to_char and pg_typeof
units           units of time and time zones, as far as they are constants
aggregates      aggregates and window functions
comparisons   of rows, lists, ranges and arrays' elements
building      typed expressions from typed parts: what casts, operators and functions PostgreSQL means
constant_patterns  regular expressions, translated once
array_elements  elements and slices of an array, read and assigned
from_zero   arrays of the catalog that begin at 0
tree        what parse nodes say by themselves
scopes      what a name means
"""
