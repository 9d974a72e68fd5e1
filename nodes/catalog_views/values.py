"""Values of rows of the catalog, and numbers of PostgreSQL's own that stand in several of them."""

from collections.abc import Mapping

Value = int | float | str | bool | tuple[int, ...] | tuple[str, ...] | None
Row = Mapping[str, Value]

OWNER, OWNER_NAME = 10, "schemalab"
USER = 16383
"""The oid of whoever asks, if that is not the owner."""
DATABASE, DATABASE_NAME = 5, "schemalab"
TABLESPACE = 1663
UTF8 = 6
