"""Object ids of tables and what belongs to them: the same on every node and in every version.

PostgreSQL gives ids as things are made; here they follow from the ids that descriptors hold, which are never used
twice. Each table has a range of its own, above those that PostgreSQL keeps for itself.
"""

FIRST = 16384
SPAN = 8192
TABLES_MAX = (2**32 - FIRST) // SPAN


def table_oid(table_id: int) -> int:
    """The oid of a table in pg_class."""
    return FIRST + table_id % TABLES_MAX * SPAN


def index_oid(table_id: int, index_id: int) -> int:
    """The oid of an index of a table; the primary key's is that of index 0."""
    return table_oid(table_id) + 1 + index_id % (SPAN // 2)
