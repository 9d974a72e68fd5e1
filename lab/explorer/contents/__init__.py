"""What is in the store of a model, what events do to it, and what is wrong with it.

numbered         contents under small numbers, slots as bits
statements       the statements of clients
judgement        clauses, lost writes, rows read twice, writes refused for good
effects          statements and reorganisations on pairs, by calling `storage.mutations`
foreign_keys     the same where rows of one table refer to rows of another
self_references  a table that refers to itself
"""
