"""A statement as a client sent it."""

from collections.abc import Sequence
from typing import NamedTuple

from nodes.clients.protocols import CopyData
from nodes.sql.statements import Statement
from nodes.trace.record import Trace


class Asked(NamedTuple):
    """A statement that a client sent: with its parameters' values and formats, and the formats of its result.

    `trace` records what it does, for a client that wants to know; `data` is what COPY FROM is about. `is_limited`: the
    client takes some rows, and may do something else before it takes more.
    """

    statement: Statement
    oids: Sequence[int] = ()
    values: Sequence[bytes | None] = ()
    formats: Sequence[int] = ()
    result_formats: tuple[int, ...] = ()
    trace: Trace | None = None
    data: CopyData | None = None
    is_limited: bool = False
    declared: Sequence[int] | None = None
    """The types of parameters that its client named; 0, or none at the end, for those that it left open."""
