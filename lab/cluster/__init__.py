"""A whole cluster as one deterministic value: the product's machines around a store in memory.

world            nodes, store, the messages between them, a clock
lines              sentences that several of them print
parts              nodes, transactions and messages, as values
database           the database's answers to a node's lease machine
consistency        the clauses that its pairs break
control_plane    catalog, lease rows, fences, locks
node_statements  a statement on a node (T1 to T3)
foreign_keys     what a statement asks of other tables (L11)
requests         a router's requests: planned with an old version, refused, reloaded, tried once more
acknowledged     rows that requests have acknowledged, and whether they are read back as they were meant
rolling          a publish that reaches one storage after the other
driver           the executor's machine, with the cluster in the place of its shell
reorganisation   fill, verify, delete, purge, in small steps
"""
