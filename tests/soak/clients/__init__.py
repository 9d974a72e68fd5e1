"""Clients of the storm: they write, read and check, and keep what they were answered.

actors     common to all clients: a thread, a generator of chance, an end
sessions   a client's connection to the nodes, as a correct client uses it
outcomes   an error's meaning for a transaction: refused or unknown
ledger     the answers of one client about its rows: certain, or one of two
owners     common to clients that own rows: a range of keys, and what an outcome makes of its ledger
items      insert, update, move and delete rows of their own
measures   insert, update, compute, move and delete rows of numerics, bytes, times, documents and arrays
batches    COPY, UPDATE FROM, writes inside WITH and temporary tables, of rows of measures and an archive
transfers  move amounts between accounts that all share
made       make tables in transactions that commit or roll back
readers    ask the same question by key, by index and by scan
schema     submit schema changes; pause, resume and cancel them
storages   add and remove storages, spread tables over them
"""
