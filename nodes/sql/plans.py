"""Plans of statements, as values: typed expressions and no data, so that one serves every execution of its text."""

from collections.abc import Mapping
from dataclasses import dataclass

from catalog.descriptor import Descriptor
from catalog.elements import Column, ColumnId, Index
from expressions.analysis.scopes import Scan
from expressions.sqltypes import Type
from expressions.typed import ColumnRef, Expr, Literal
from nodes.copy.staging import CopyIn
from nodes.sql.writes.row_rules import Rules
from nodes.sql.writes.typed import Given
from nodes.wire.columns import Columns, Output


@dataclass(frozen=True, slots=True)
class Returning:
    """RETURNING: its columns, and those of a row that is written, and of others beside it, that it names."""

    columns: Columns
    plain: tuple[ColumnRef | Literal, ...] | None
    """What it shows, where that is columns of the row and constants; else PostgreSQL computes it."""
    own: frozenset[ColumnId] = frozenset()
    """The columns of the row that it names."""
    stars: tuple[tuple[tuple[str, str], ...] | None, ...] = ()
    """For each item the columns that * stands for, by the names of their relations and their own; None: no star."""
    beside: tuple[Given, ...] = ()
    """Columns of other relations that it names."""


@dataclass(frozen=True, slots=True)
class SelectPlan:
    """A SELECT of one table: the way to its rows, and if all is computed here the columns that it shows."""

    scan: Scan
    where: Expr | None
    targets: tuple[Expr, ...]
    columns: Columns
    is_local: bool = False
    """Its rows can be computed here, one by one."""


@dataclass(frozen=True, slots=True)
class QueryPlan:
    """A query beside statements that write: its tables and columns. PostgreSQL computes it."""

    scans: tuple[Scan, ...]
    outputs: tuple[Output, ...]
    columns: Columns


@dataclass(frozen=True, slots=True)
class Conflict:
    """ON CONFLICT: which uniqueness counts (None: any), and what to do then (no assignments: nothing)."""

    is_primary: bool
    index: Index | None
    assignments: Mapping[ColumnId, Expr] | None
    where: Expr | None


@dataclass(frozen=True, slots=True)
class InsertPlan:
    descriptor: Descriptor
    columns: tuple[Column, ...]
    rows: tuple[tuple[Expr | None, ...], ...]
    source: QueryPlan | None
    defaults: Mapping[ColumnId, Expr]
    rules: Rules
    conflict: Conflict | None
    returning: Returning | None
    scan: Scan
    copy: CopyIn | None = None
    """How its rows come, when it is a COPY."""
    is_local: bool = False
    """True if Python can compute all of `rows`."""


@dataclass(frozen=True, slots=True)
class ChangePlan:
    descriptor: Descriptor
    scan: Scan
    where: Expr | None
    scans: tuple[Scan, ...]
    returning: Returning | None
    is_joined: bool = False
    """Other tables have a say in which rows, or what they get."""
    looked_up: tuple[tuple[ColumnId, Type], ...] = ()
    """Columns that equal what the other tables have, of these types: where these rows are few, they say which keys are
    read."""


@dataclass(frozen=True, slots=True)
class DeletePlan(ChangePlan):
    """A DELETE."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdatePlan(ChangePlan):
    assignments: Mapping[ColumnId, Expr]
    rules: Rules


@dataclass(frozen=True, slots=True)
class MergeAction:
    """The act of a WHEN in a MERGE: INSERT, UPDATE or DELETE, and the columns that it gives values."""

    word: str
    columns: tuple[ColumnId, ...]


@dataclass(frozen=True, slots=True)
class MergePlan:
    """A MERGE, each WHEN that does something by its number."""

    descriptor: Descriptor
    scan: Scan
    scans: tuple[Scan, ...]
    actions: tuple[MergeAction, ...]
    rules: Rules
    defaults: Mapping[ColumnId, Expr]
    returning: Returning | None
    source_names: tuple[str, ...] = ()
    """The relations of its source, as the statement calls them."""
    looked_up: tuple[tuple[ColumnId, Type], ...] = ()

    def words(self) -> frozenset[str]:
        return frozenset(action.word for action in self.actions)

    def assigned(self) -> frozenset[ColumnId]:
        return frozenset(column for action in self.actions if action.word == "UPDATE" for column in action.columns)


@dataclass(frozen=True, slots=True)
class TruncatePlan:
    descriptors: tuple[Descriptor, ...]


WritingPlan = InsertPlan | UpdatePlan | DeletePlan | MergePlan


@dataclass(frozen=True, slots=True)
class Part:
    name: str
    plan: WritingPlan
    outputs: tuple[Output, ...]


@dataclass(frozen=True, slots=True)
class SeveralPlan:
    parts: tuple[Part, ...]
    main: QueryPlan | WritingPlan

    @property
    def plans(self) -> tuple[QueryPlan | WritingPlan, ...]:
        return (*(part.plan for part in self.parts), self.main)


Plan = SelectPlan | QueryPlan | WritingPlan | TruncatePlan | SeveralPlan
