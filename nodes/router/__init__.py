"""The path of a request: planned with a version this node knows, checked by the storages, loaded anew, tried once more.

attempts   what becomes of an attempt that failed
reloads    one reload for all who met the same stale version: a machine for each table's name
batches    what became of each row of a batch
counters   what the node did for each table
router     the asyncio shell of them
"""
