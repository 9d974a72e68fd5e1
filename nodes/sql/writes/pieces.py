"""A statement that writes, cut into its clauses, and texts put together from them. Pure. A tree says where a node
begins, and not where it ends. So clauses are cut at words that PostgreSQL reserves, outside brackets and CASE."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from postgast import pg_query_pb2 as pb

from catalog.text.sql_names import quoted
from expressions.errors import SqlError
from nodes.sql.edits import Words

Node = Any
Span = tuple[int, int]
"""Words, by the number of the first, and of the one behind the last."""
CONSTANTS = frozenset({pb.ICONST, pb.SCONST})
OPENING, CLOSING = frozenset({"(", "[", "case"}), frozenset({")", "]", "end"})
ACTION, ACTIONS = "merge_action", "\x02merge"
MERGE_ACTION = f'"{ACTIONS}"."{ACTION}"'
"""What merge_action() is in RETURNING: a column of a relation that no user can name."""
BEHIND_ITEM = frozenset({",", ")", "join", "left", "right", "full", "inner", "cross", "natural", "on", "using"})
BEHIND_QUERY = frozenset({")", "union", "intersect", "except", "order", "limit", "offset", "fetch", "for"})
VERBS = {
    "InsertStmt": "insert",
    "UpdateStmt": "update",
    "DeleteStmt": "delete",
    "MergeStmt": "merge",
    "CopyStmt": "copy",
}


@dataclass(frozen=True, slots=True)
class Slice:
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Target:
    text: str


Piece = str | Slice | Target
Pieces = tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class PartOfArray:
    """A value that SET gives to an element, or a slice, of an array: the bounds that are given, and the value."""

    bounds: tuple[Pieces, ...]
    is_slice: bool
    value: Pieces
    has_first: bool = False
    has_last: bool = False


SetTo = Pieces | PartOfArray | None
"""The value that SET gives to a column; None for DEFAULT."""


@dataclass(frozen=True, slots=True)
class Assembled:
    """A text of pieces. `slices`: each one's byte in it, its byte in the statement, its length."""

    text: str
    slices: tuple[tuple[int, int, int], ...]
    targets: tuple[int, ...]
    """Where the table that is written is named."""

    def origin(self, byte: int) -> int:
        """The byte of the statement that a byte of the text comes from; of what was added, one before it."""
        place = bisect_right([at for at, _, _ in self.slices], byte) - 1
        if place < 0:
            return 0
        at, start, length = self.slices[place]
        return start + min(byte - at, length - 1)

    def placed(self, error: SqlError, shift: int) -> SqlError:
        """An error of this text, at its place in the client's, where the statement begins at byte `shift`."""
        error.offset = shift + self.origin(error.offset) if error.offset >= 0 else -1
        return error


def assembled(statement: str, pieces: Sequence[Piece]) -> Assembled:
    source, done, size = statement.encode(), list[bytes](), 0
    slices, targets = list[tuple[int, int, int]](), list[int]()
    for piece in pieces:
        if isinstance(piece, Slice):
            slices.append((size, piece.start, piece.end - piece.start))
            done.append(source[piece.start : piece.end])
        else:
            targets += [size] if isinstance(piece, Target) else []
            done.append((piece.text if isinstance(piece, Target) else piece).encode())
        size += len(done[-1])
    return Assembled(b"".join(done).decode(), tuple(slices), tuple(targets))


def unnamed(number: int) -> str:
    return f"\x02q{number}"


def listed(items: Sequence[Sequence[Piece]], between: str = ", ") -> Pieces:
    found: list[Piece] = []
    for number, item in enumerate(items):
        found += [between, *item] if number else item
    return tuple(found)


class Clauses:
    """The words of a statement, counted by its text; places of nodes count bytes of the client's, `start` before it."""

    def __init__(self, text: str, start: int) -> None:
        self.words, self.start = Words(text), start
        self._rows: dict[int, list[list[Span | None]]] = {}

    def index(self, location: int) -> int:
        return self.words.index(location - self.start)

    def slice(self, first: int, end: int) -> Slice:
        tokens = self.words.tokens
        return Slice(tokens[first].start, tokens[end - 1].end)

    def outside(self, first: int, end: int) -> Iterator[tuple[int, str]]:
        """The words of a part that stand outside its brackets and CASEs; names behind a dot are none of them."""
        depth = 0
        for place in range(first, end):
            word = self.words[place]
            if self.words[place - 1] == ".":
                continue
            depth -= word in CLOSING
            if depth == 0 and word not in CLOSING:
                yield place, word
            depth += word in OPENING

    def next(self, first: int, end: int, *sought: str) -> int:
        """The first of these words in a part, else its end. FROM of IS DISTINCT FROM is no clause's."""
        for place, word in self.outside(first, end):
            if word in sought and not (word == "from" and self.words[place - 1] == "distinct"):
                return place
        return end

    def split(self, first: int, end: int) -> list[tuple[int, int]]:
        cuts = [place for place, word in self.outside(first, end) if word == ","]
        return list(zip([first, *(cut + 1 for cut in cuts)], [*cuts, end], strict=True))

    def conjuncts(self, first: int, end: int) -> list[tuple[int, int]]:
        cuts, betweens = list[int](), 0
        for place, word in self.outside(first, end):
            if word == "or":
                return [(first, end)]
            betweens += word == "between"
            if word == "and" and betweens:
                betweens -= 1
            elif word == "and":
                cuts.append(place)
        return list(zip([first, *(cut + 1 for cut in cuts)], [*cuts, end], strict=True))

    def rows(self, first: int, end: int) -> list[list[Span | None]]:
        """The values of each row of VALUES, whose words these are; None for DEFAULT."""
        if first in self._rows:
            return self._rows[first]
        rows, row, depth, begin = self._rows.setdefault(first, []), list[Span | None](), 0, first
        for place in range(first, end):
            word = self.words[place]
            if self.words[place - 1] == ".":
                continue
            depth += (word in OPENING) - (word in CLOSING)
            if depth == 1 and word == "(":
                row, begin = [], place + 1
                rows.append(row)
            elif word == "," if depth == 1 else word == ")" and depth == 0:
                is_default = place - begin == 1 and self.words[begin] == "default"
                row.append(None if is_default else (begin, place))
                begin = place + 1
        return rows

    def shape(self, span: Span) -> tuple[bytes | int, ...]:
        """The words of an expression, its whole numbers and strings left out: others do not change its types."""
        words, tokens = self.words, self.words.tokens[slice(*span)]
        return tuple(one.token if one.token in CONSTANTS else words.source[one.start : one.end] for one in tokens)

    def with_names(self, first: int, end: int) -> Pieces:
        """The items of a FROM; a subquery without a name gets one of ours (`others.aliases`)."""
        pieces, begin, place, is_item, count = list[Piece](), first, first, True, 0
        while place < end:
            word = self.words[place]
            if word == "(" and (self._is_query(place) or not is_item):
                place = self.words.brackets(place)[1]
                if is_item and (place + 1 == end or self.words[place + 1] in BEHIND_ITEM):
                    pieces += [self.slice(begin, place + 1), f" AS {quoted(unnamed(count))} "]
                    begin, count = place + 1, count + 1
            is_item = word in (",", "join") or (is_item and word in ("(", "lateral", "only"))
            place += 1
        return (*pieces, self.slice(begin, end)) if begin < end else tuple(pieces)

    def _is_query(self, place: int) -> bool:
        if self.words[place + 1] == "(":
            return self._is_query(place + 1) and self.words[self.words.brackets(place + 1)[1] + 1] in BEHIND_QUERY
        return self.words[place + 1] in ("select", "table", "values", "with")

    def back(self, place: int, word: str) -> int:
        while place >= 0 and self.words[place] != word:
            place -= 1
        return place


class Written:
    """The clauses of one INSERT, UPDATE, DELETE, MERGE or COPY: of a whole statement, or of one in a WITH."""

    def __init__(self, clauses: Clauses, node: Node, end: int | None = None) -> None:
        self.clauses, self.node = clauses, node
        self.end = len(clauses.words.tokens) if end is None else end
        self.target = clauses.index(node.relation.location)
        self.verb = self.clauses.back(self.target, VERBS[node.DESCRIPTOR.name])
        """The word that it begins with, behind a WITH; -1 where it is made of CREATE TABLE AS or SELECT INTO."""

    @property
    def alias(self) -> str:
        relation = self.node.relation
        return str(relation.alias.aliasname if relation.HasField("alias") else relation.relname)

    @cached_property
    def returning(self) -> int:
        if self.node.DESCRIPTOR.name == "CopyStmt" or not self.node.HasField("returning_clause"):
            return self.end
        return self.clauses.next(self.target, self.end, "returning")

    def shown(self) -> Iterator[tuple[int, int]]:
        clauses = self.clauses
        parts = clauses.split(self.returning + 1, self.end)
        for (first, end), item in zip(parts, self.node.returning_clause.exprs, strict=True):
            without = 0 if not item.res_target.name else 2 if clauses.words[end - 2] == "as" else 1
            yield first, end - without

    def with_action(self, first: int, end: int, action: str = MERGE_ACTION) -> Iterator[Piece]:
        """An expression, in which merge_action() of a MERGE is a column."""
        for place in range(first, end) if self.node.DESCRIPTOR.name == "MergeStmt" else ():
            if self.clauses.words[place] == "merge_action" and self.clauses.words[place + 1] == "(":
                if place > first:
                    yield self.clauses.slice(first, place)
                yield action
                first = place + 3
        if first < end:
            yield self.clauses.slice(first, end)

    def clause(self, word: str, *others: str, begin: int | None = None) -> tuple[int, int] | None:
        """The words of a clause that begins with `word` and ends before one of the others, or RETURNING."""
        begin = self.target if begin is None else begin
        first = self.clauses.next(begin, self.returning, word)
        if first == self.returning:
            return None
        return first + 1, self.clauses.next(first + 1, self.returning, *others)

    def condition(self, begin: int | None = None) -> Pieces:
        """WHERE as another query has it; nothing where there is none."""
        part = self.clause("where", begin=begin)
        return () if part is None else (" WHERE (", self.clauses.slice(*part), ")")

    def assignments(self, targets: Sequence[Node], end: int) -> list[tuple[str, SetTo]]:
        clauses, values = self.clauses, list[tuple[str, SetTo]]()
        pending = [item.res_target for item in targets]
        first = clauses.back(clauses.index(pending[0].location), "set") + 1
        for start, stop in clauses.split(first, end):
            value = clauses.next(start, stop, "=") + 1
            several = pending[0].val.multi_assign_ref if pending[0].val.HasField("multi_assign_ref") else None
            count = 1 if several is None else several.ncolumns
            some, pending = pending[:count], pending[count:]
            if several is None:
                given = [self.value(value, stop)]
            elif several.source.HasField("row_expr"):
                given = self.row(value)
            else:
                nulls = ", ".join(f"NULL AS c{number}" for number in range(count))  # the query has as many columns
                query = (f"(SELECT {nulls} WHERE false UNION ALL ", clauses.slice(value, stop), ") AS given")
                given = [(f"(SELECT given.c{number} FROM ", *query, ")") for number in range(count)]
            values += [(one.name, self._set_to(one, item)) for one, item in zip(some, given, strict=True)]
        return values

    def _set_to(self, target: Node, value: Pieces | None) -> SetTo:
        if not len(target.indirection) or value is None:
            return value
        first = end = self.clauses.index(target.location) + 1
        depth = 0
        while depth or end == first:
            depth += {"[": 1, "]": -1}.get(self.clauses.words[end], 0)
            end += 1
        colon = self.clauses.next(first + 1, end - 1, ":")
        is_slice = target.indirection[0].a_indices.is_slice
        parts = [(first + 1, colon), (colon + 1, end - 1)]
        bounds = tuple((self.clauses.slice(*part),) for part in parts if part[0] < part[1])
        return PartOfArray(bounds, is_slice, value, *(begin < stop for begin, stop in parts))

    def query_of_table(self) -> Pieces:
        """The query of CREATE TABLE AS or SELECT INTO; nothing for another statement."""
        clauses, words = self.clauses, self.clauses.words
        if self.verb >= 0:
            return ()
        if words[0] == "create":
            end = self.end - {("with", "data"): 2, ("no", "data"): 3}.get((words[self.end - 2], words[self.end - 1]), 0)
            return (clauses.slice(clauses.next(self.target, end, "as") + 1, end),)
        into, behind = clauses.back(self.target, "into"), self.target + (3 if words[self.target + 1] == "." else 1)
        rest: Pieces = (clauses.slice(behind, self.end),) if behind < self.end else ()
        return (clauses.slice(0, into), " ", *rest)

    def value(self, first: int, end: int) -> Pieces | None:
        if end - first == 1 and self.clauses.words[first] == "default":
            return None
        return (self.clauses.slice(first, end),)

    def row(self, place: int) -> list[Pieces | None]:
        first, last = self.clauses.words.brackets(place)
        return [self.value(*part) for part in self.clauses.split(first + 1, last)]
