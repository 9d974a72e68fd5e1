"""Files into tables, in marked chunks.

spark_load       workers of Spark share out a file's chunks
file_batches     which are always the same
file_identity    as long as the file is the one whose load began
chunk            some thousand rows in one SERIALIZABLE transaction
file_rows        rows of a file, typed and complete
file_pairs       the pairs they become
leased_versions  the versions a chunk uses (T1)
loader_node      a loader is a node like any other
"""

from storage import arrow

assert arrow
