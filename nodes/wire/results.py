"""Results: what a statement returns to its client."""

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field

from nodes.wire.messages import Field

Row = Sequence[bytes | None]


@dataclass(slots=True)
class CopyOut:
    """The form of a COPY TO, whose rows are messages for its client as they are; `tag` is its end."""

    columns: int
    is_binary: bool
    tag: str = ""


@dataclass(slots=True)
class Result:
    """The outcome of one statement. `rows` is what is at hand; `more` streams the rest, batch by batch. The tag of a
    query ends in the number of rows that were sent. `bytes_held` is what `rows` take, if they are many. `has_written`:
    the statement did more than to answer. `copy`: the rows are sent as COPY TO does. `let_go`: `more` is no longer
    wanted; its rows are those of the time of the statement, whatever its transaction writes later."""

    tag: str
    fields: tuple[Field, ...] | None = None
    rows: list[Row] = field(default_factory=list)
    more: AsyncIterator[list[Row]] | None = None
    bytes_held: int = 0
    has_written: bool = False
    copy: CopyOut | None = None
    let_go: Callable[[], None] | None = None

    def complete_tag(self, sent: int) -> str:
        return f"{self.tag} {sent}" if self.tag in ("SELECT", "FETCH") else self.tag
