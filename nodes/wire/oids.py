"""Object ids of tables and what belongs to them: the same on every node and in every version.

PostgreSQL gives ids as things are made; here they follow from the ids that descriptors hold, which are never used
twice. Each table has a range of its own, above those that PostgreSQL keeps for itself: table 1 has 24576 to 32767,
table 2 what follows. In it, of pg_class and of pg_constraint apart: the table, 4,096 indexes (of which 2,048 are
constraints), as many CHECKs and foreign keys, 4,095 columns. An id names one thing in its relation: a sequence and a
default of the same column share one.

Views have ranges of their own, counted from the other end.

The ranges begin anew after 524,286 tables, and so do those of parts; two objects that exist at the same time and would
share an oid are refused by name where rows are made (`nodes.catalog_views.rows`).
"""

from collections.abc import Iterable, Mapping

FIRST = 16384
SPAN = 8192
HALF = SPAN // 2
TABLES_MAX = (2**32 - FIRST) // SPAN


def table_oid(table_id: int) -> int:
    """The oid of a table in pg_class."""
    return FIRST + table_id % TABLES_MAX * SPAN


def index_oid(table_id: int, index_id: int) -> int:
    """The oid of an index of a table; the primary key's is that of index 0."""
    return table_oid(table_id) + 1 + index_id % HALF


def view_number(view_id: int) -> int:
    """The number whose range of oids a view has, as a table has that of its id: counted from the other end."""
    return -view_id


def column_oid(table_id: int, column_id: int) -> int:
    """The oid of what belongs to a column: its default, its NOT NULL, the sequence of its numbers."""
    return table_oid(table_id) + 1 + HALF + column_id % (HALF - 1)


def constraint_oid(table_id: int, constraint_id: int) -> int:
    """The oid of a CHECK or a foreign key in pg_constraint."""
    return table_oid(table_id) + 1 + HALF // 2 + constraint_id % (HALF // 2)


def key_oid(table_id: int, index_id: int) -> int:
    """The oid of the constraint that an index keeps."""
    return table_oid(table_id) + 1 + index_id % (HALF // 2)


# --- as the shadow has them

_PLACES: dict[int, tuple[int, dict[int, int]]] = {}


def know(number: int, oid: int, columns: Mapping[int, int]) -> None:
    """Have results describe columns of a table, or of a view by its number, by this oid and these numbers."""
    known = _PLACES.get(number)
    before = known[1] if known is not None and known[0] == oid else {}
    _PLACES[number] = oid, before | dict(columns)


def knows(number: int, columns: Iterable[int]) -> bool:
    known = _PLACES.get(number)
    return known is not None and all(column in known[1] for column in columns)


def forget_places() -> None:
    """The shadow was made anew."""
    _PLACES.clear()


def place(number: int, column: int) -> tuple[int, int]:
    """The oid of a table or view and the number of its column, as the catalog has them; zeros where nobody knows."""
    oid, columns = _PLACES.get(number, (0, {}))
    return (oid, columns[column]) if column in columns else (0, 0)
