"""How many bytes of rows a statement and a node may hold in memory at once: counted as they come, refused by name.

Rows are held where they cannot stream: what an INSERT .. SELECT, an UPDATE or a DELETE will write, and what RETURNING
answers. What is counted is the length of texts, and a fixed amount for everything else.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from expressions.errors import OUT_OF_MEMORY, PROGRAM_LIMIT, SqlError

STATEMENT_BYTES_MAX = 64 * 2**20
NODE_BYTES_MAX = 256 * 2**20
VALUE_BYTES = 64


def bytes_of(values: Iterable[object]) -> int:
    """What values take, about."""
    return sum(VALUE_BYTES + (len(v) if isinstance(v, str | bytes) else 0) for v in values)


@dataclass(eq=False, slots=True)
class NodeRows:
    """What all statements of a node hold now."""

    held: int = 0


@dataclass(eq=False)
class HeldRows:
    """What one statement holds; `with` gives it back at the end."""

    node: NodeRows
    held: int = field(default=0, init=False)

    def __enter__(self) -> "HeldRows":
        return self

    def __exit__(self, *_: object) -> None:
        self.node.held -= self.held
        self.held = 0

    def take(self, count: int) -> None:
        """Count more bytes. Raises 54000 when the statement, 53200 when the node holds too much."""
        if self.held + count > STATEMENT_BYTES_MAX:
            message = f"one statement may hold at most {STATEMENT_BYTES_MAX} bytes of rows"
            raise SqlError(PROGRAM_LIMIT, message, hint="do it in parts, by ranges of the primary key")
        if self.node.held + count > NODE_BYTES_MAX:
            message = f"the statements of this node hold {NODE_BYTES_MAX} bytes of rows already"
            raise SqlError(OUT_OF_MEMORY, message, hint="try again when others have ended, or on another node")
        self.held += count
        self.node.held += count
