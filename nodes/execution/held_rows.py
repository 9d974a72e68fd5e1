"""Byte budgets of statements, connections and a node: counted as rows come, refused by name (53200).

Counted are rows that cannot stream, and what a connection has prepared and bound: the length of texts and numerics, a
fixed amount for everything else. The pairs that a statement is about to write, and those of the rows that it changes,
count by themselves: a row of a wide table has hundreds. So does the copy of each new row for foreign keys.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal

from expressions.errors import OUT_OF_MEMORY, PROGRAM_LIMIT, SqlError
from storage.mutations import Op
from storage.pairs import StoredRow

STATEMENT_BYTES_MAX = 64 * 2**20
CONNECTION_BYTES_MAX = 64 * 2**20
NODE_BYTES_MAX = 256 * 2**20
PAIRS_BYTES_MAX = 192 * 2**20
NODE_PAIRS_BYTES_MAX = 2 * PAIRS_BYTES_MAX
"""Pairs that are to be written, and those of rows that are changed: of one statement, and of all of a node."""
FEW_PAIRS_BYTES = 2**20
"""A statement with no more is not refused for what others hold: it is they who fill the node."""
PAIR_BYTES = 240
"""Of a pair beside its key and its value: the operation, and the value it is made of, which may be NULL."""
STORED_BYTES = 80
"""Of a stored value of a row in hand, beside its length: the value, and its place in the row."""
PLACE_BYTES = 32
"""Of a value in a row that shares it with another row, or with the pair that is to be written."""
VALUE_BYTES = 64
SHORT_NUMBER = Decimal().__sizeof__()


def bytes_of(values: Iterable[object]) -> int:
    size = 0
    for value in values:
        size += VALUE_BYTES
        if value is None or isinstance(value, (int, float)):
            continue
        if isinstance(value, (str, bytes)):
            size += len(value)
        elif isinstance(value, Decimal):
            size += value.__sizeof__() - SHORT_NUMBER
        elif isinstance(value, tuple):
            size += bytes_of(value)
    return size


@dataclass(eq=False, slots=True)
class NodeRows:
    held: int = 0
    pairs: int = 0


@dataclass(eq=False)
class HeldRows:
    """Bytes that one statement holds; `with` gives them back at the end."""

    node: NodeRows
    held: int = field(default=0, init=False)
    pairs: int = field(default=0, init=False)
    rows: int = field(default=0, init=False)
    """The part of `pairs` that is of rows in hand."""
    bytes_max = STATEMENT_BYTES_MAX
    refusal = f"one statement may hold at most {STATEMENT_BYTES_MAX} bytes of rows"
    hint = "do it in parts, by ranges of the primary key"

    def __enter__(self) -> "HeldRows":
        return self

    def __exit__(self, *_: object) -> None:
        self.give(self.held)
        self.give_pairs()

    def take_pairs(self, ops: Sequence[Op]) -> None:
        """Count pairs to be written. Raises 53200 when this statement has too many, or all of the node."""
        self._take_pairs(sum(PAIR_BYTES + len(op.key) + len(op.value) for op in ops))

    def take_row(self, row: StoredRow, values: Sequence[object] = ()) -> None:
        """Count a row that is to be changed, with its values before and after. Raises 53200 as `take_pairs` does."""
        stored = sum(map(len, row.columns.values())) + STORED_BYTES * len(row.columns)
        self._take_row(stored + bytes_of(values) + PLACE_BYTES * len(values))

    def take_copy(self, row: StoredRow) -> None:
        """Count a row whose values others hold, too. Raises 53200 as `take_pairs` does."""
        self._take_row(PLACE_BYTES * len(row.columns))

    def _take_row(self, count: int) -> None:
        self._take_pairs(count)
        self.rows += count

    def _take_pairs(self, count: int) -> None:
        if self.pairs + count > PAIRS_BYTES_MAX:
            message = f"one statement may read and write at most {PAIRS_BYTES_MAX} bytes of pairs"
            raise SqlError(OUT_OF_MEMORY, message, hint=self.hint)
        if self.node.pairs + count > NODE_PAIRS_BYTES_MAX and self.pairs + count > FEW_PAIRS_BYTES:
            message = f"the statements of this node read and write {NODE_PAIRS_BYTES_MAX} bytes of pairs already"
            raise SqlError(OUT_OF_MEMORY, message, hint="try again when others have ended, or on another node")
        self.pairs += count
        self.node.pairs += count

    def give_pairs(self, *, keep_rows: bool = False) -> None:
        """The pairs are written; rows in hand go with them, or stay."""
        self.rows = self.rows if keep_rows else 0
        self.node.pairs -= self.pairs - self.rows
        self.pairs = self.rows

    def take(self, count: int) -> None:
        if count > 0 and self.held + count > self.bytes_max:
            raise SqlError(PROGRAM_LIMIT, self.refusal, hint=self.hint)
        if count > 0 and self.node.held + count > NODE_BYTES_MAX:
            message = f"the statements and connections of this node hold {NODE_BYTES_MAX} bytes already"
            raise SqlError(OUT_OF_MEMORY, message, hint="try again when others have ended, or on another node")
        self.held += count
        self.node.held += count

    @contextmanager
    def holding(self, count: int) -> Iterator[None]:
        """Counts existing bytes, whatever the limits: other statements are refused then."""
        self.held += count
        self.node.held += count
        try:
            yield
        finally:
            self.give(count)

    def give(self, count: int) -> None:
        self.held -= count
        self.node.held -= count


class KeptByConnection(HeldRows):
    """Bytes that one connection keeps between messages: prepared statements, portals, rows of suspended ones."""

    bytes_max = CONNECTION_BYTES_MAX
    refusal = f"one connection may keep at most {CONNECTION_BYTES_MAX} bytes of prepared statements and portals"
    hint = "close what is not needed any more, or fetch all rows at once"
