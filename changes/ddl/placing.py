"""Errors in an expression, reported at their place in the statement around it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from changes.ddl.actions import Position
from changes.ddl.errors import DdlError
from expressions.errors import SqlError, position_of


@contextmanager
def placed(source: str, *, otherwise: Position = None) -> Iterator[None]:
    """Raises an `SqlError` of the block as a `DdlError` of statement `source`."""
    try:
        yield
    except SqlError as error:
        position = (position_of(source, error.offset) if source else None) or otherwise
        raise DdlError(error.sqlstate, error.message, position=position, hint=error.hint) from error
