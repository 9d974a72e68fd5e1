"""An analysed query: expressions with the words between them, and its columns."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from expressions.analysis.scopes import Scan
from expressions.errors import TOO_MANY_COLUMNS, SqlError
from expressions.sqltypes import UNKNOWN, Type
from expressions.typed import ColumnRef, Expr, is_simple, modifier_of
from nodes.wire.columns import Output

Parts = tuple["str | Expr", ...]
COLUMNS_MAX = 1664
"""Entries of one list of a query, as in PostgreSQL: of its targets, of ORDER BY, of GROUP BY, of a row of VALUES."""


def refuse_wide(count: int, offset: int = -1) -> None:
    """Raises 54011 for a list with too many entries."""
    if count > COLUMNS_MAX:
        raise SqlError(TOO_MANY_COLUMNS, f"target lists can have at most {COLUMNS_MAX} entries", offset)


@dataclass(frozen=True, slots=True)
class Query:
    """A query: expressions with the words between them, and its columns o0, o1, .."""

    parts: Parts
    outputs: tuple[Output, ...]
    simple: "SimpleSelect | None" = None
    loose: tuple[Expr, ...] = ()

    def settled(self, types: "Sequence[Type | None]", coerce: "Callable[[Expr, Type], Expr]") -> "Query":
        """The query with its quoted literals and parameters given these types, as if they stood alone."""
        given: dict[int, Expr] = {}
        outputs = list(self.outputs)
        for place, (output, of) in enumerate(zip(self.outputs, types, strict=True)):
            if output.type is UNKNOWN and of is not None:
                given[id(self.loose[place])] = coerce(self.loose[place], of)
                outputs[place] = replace(output, type=of)
        return Query(tuple(given.get(id(part), part) for part in self.parts), tuple(outputs))


@dataclass(frozen=True, slots=True)
class SimpleSelect:
    """A query over one table that is computed here when all its expressions are simple."""

    scan: Scan
    targets: tuple[Expr, ...]
    where: Expr | None

    @property
    def is_local(self) -> bool:
        """True if Python can compute all of it, row by row."""
        return all(map(is_simple, self.targets)) and (self.where is None or is_simple(self.where))


@dataclass(eq=False)
class Target:
    name: str
    expr: Expr
    offset: int

    @property
    def output(self) -> Output:
        origin = self.expr.origin if isinstance(self.expr, ColumnRef) else (0, 0)
        return Output(self.name, self.expr.type, origin, modifier_of(self.expr))
