"""From PostgreSQL's parse tree to typed expressions: pure.

analyzer     the expression of any parse node; calls and casts
comparisons  lists, ranges, arrays' elements, and keys of several columns
building     typed expressions from typed parts: what casts, operators and functions PostgreSQL means
tree         what parse nodes say by themselves
scopes       what a name means
"""
