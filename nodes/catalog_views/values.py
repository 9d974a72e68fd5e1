"""Values of rows of the catalog, and numbers of PostgreSQL's own that stand in several of them."""

from collections.abc import Mapping

Value = int | float | str | bool | tuple[int, ...] | tuple[str, ...] | None
Row = Mapping[str, Value]

PG_CATALOG, PUBLIC, INFORMATION, OWN = 11, 2200, 13, 14
"""Oids of schemas; PostgreSQL gives information_schema's when a database is made."""
OWNER, OWNER_NAME = 10, "schemalab"
USER = 16383
"""The oid of whoever asks, if that is not the owner."""
DATABASE, DATABASE_NAME = 5, "schemalab"
HEAP, BTREE = 2, 403
DEFAULT_COLLATION, C_COLLATION = 100, 950
TABLESPACE = 1663
UTF8 = 6
