"""Key ranges and the short transactions over them.

chunk            a transaction that may still write, and leaves its mark
scan             the rows of a range as a fill reads them: in one statement, in parts where they are many
snapshot_reads   one snapshot for many reads: pairs in pages, in key order; a key space cut into ranges
packed_keys      a column of keys as a parameter
entry_placement  on which storage entries lie
verify_progress  how far a verification has come
"""

from storage import arrow

assert arrow
