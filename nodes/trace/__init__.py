"""The trace of one statement, for a client that asked for it: `SET schemalab.trace = on`.

record  the trace of a statement, and the notice that it is sent in
reads   the way each scan reached its rows, and what it may not use
writes  the pairs that a statement changed, from what was there before and after
"""
