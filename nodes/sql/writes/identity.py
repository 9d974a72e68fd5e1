"""Numbers that a statement gives identity columns: whether it may, and whether they count."""

from collections.abc import Sequence
from typing import Any

from postgast import pg_query_pb2 as pb

from catalog.elements import Column
from expressions.errors import GENERATED_ALWAYS, SqlError, unsupported
from expressions.typed import Expr

Row = tuple[Expr | None, ...]


def overridden(node: Any, columns: Sequence[Column], rows: list[Row], *, has_source: bool) -> list[Row]:
    """The rows of an INSERT as its OVERRIDING says. Raises 428C9 for a number that may not be given."""
    override = pb.OverridingKind.Name(node.override)
    if override == "OVERRIDING_USER_VALUE":
        if has_source and any(column.identity for column in columns):
            raise unsupported("OVERRIDING USER VALUE of a query", hint="leave the identity column out")
        return [tuple(None if c.identity else e for c, e in zip(columns, row, strict=True)) for row in rows]
    for place, column in enumerate(columns):
        is_given = has_source or any(row[place] is not None for row in rows)
        if column.identity_always and is_given and override != "OVERRIDING_SYSTEM_VALUE":
            message = f'cannot insert a non-DEFAULT value into column "{column.name}"'
            raise _refused(column, message, hint="Use OVERRIDING SYSTEM VALUE to override.")
    return rows


def refuse_assigned(column: Column, value: Expr | None) -> None:
    """Refuses an UPDATE of a column that is GENERATED ALWAYS, and DEFAULT (None) for any identity column."""
    if column.identity and value is None:
        raise unsupported(f"SET {column.name} = DEFAULT, an identity column,", hint="give the number")
    if column.identity_always:
        raise _refused(column, f'column "{column.name}" can only be updated to DEFAULT')


def _refused(column: Column, message: str, *, hint: str | None = None) -> SqlError:
    detail = f'Column "{column.name}" is an identity column defined as GENERATED ALWAYS.'
    return SqlError(GENERATED_ALWAYS, message, detail=detail, hint=hint)
