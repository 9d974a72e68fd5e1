"""The next step of a request: sent with a version this node knows, refused as stale, loaded anew, tried once more. The
operations that go this way are `nodes.crud`.

attempts   what becomes of an attempt that failed
reloads    one reload for all who met the same stale version: a machine for each table's name
batches    what became of each row of a batch
counters   what the node did for each table
compiled   what requests of one kind have in common under one version
router     the asyncio shell of them
"""
