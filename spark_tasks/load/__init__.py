"""Files into tables, in marked chunks.

spark_load       Spark reads, workers write
chunk            some thousand rows in one SERIALIZABLE transaction
file_rows        rows of a file, typed and complete
file_pairs       the pairs they become
leased_versions  the versions a chunk uses (T1)
loader_node      a loader is a node like any other
"""

from storage import arrow

assert arrow
