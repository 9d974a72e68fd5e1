"""The operations of `crud`: `SELECT crud.insert_object('customers', '{"id": 1, ..}', '{"timeout": 2}')` on any node.

catalogue   the operations there are: their arguments and options
shapes      what an argument must be like, in messages
calls       a call in SQL, and the values of its arguments
values      values of JSON as values of columns; what a row, a key or a condition is
places      the bucket of a row, as the request gives it
orders      rows in the order of an index, and those after or before one
texts       an operation as a statement, under one version of its table
answers     results and errors as JSON
errors      the mistakes that a request can make, and those it can meet
requests    one request carried out: plan, send, reload, try again, as `nodes.router` decides
rows        reading rows in the order of an index, or of the primary key
keyed_gets  `get` by the primary key, compiled: the read that SQL has, too
batches     operations on many rows, storage by storage
operations  what each operation does
about       what a node says of itself: schema, storage_info, stats
"""
