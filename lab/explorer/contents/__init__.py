"""The store of a model: its contents, the effects of events on them, and all that is wrong with them.

numbered         contents under small numbers, slots as bits
statements       the statements of clients
judgement        clauses, lost writes, rows read twice, writes refused for good
reorganisation   fills, deletions and verification on pairs, by calling `storage.mutations`
effects          statements on pairs, by the same
foreign_keys     the same where rows of one table refer to rows of another
self_references  a table that refers to itself
refusals         why a version refuses a statement, in words
"""
