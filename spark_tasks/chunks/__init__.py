"""Key ranges and the short transactions over them.

chunk            a transaction that may still write, and leaves its mark
snapshot_reads   a range as Arrow, from one snapshot
scan             a large range in one statement
packed_keys      a column of keys as a parameter
entry_placement  on which storage entries lie
verify_progress  how far a verification has come
"""
