"""Plans of statements, as values: typed expressions and no data, so that one serves every execution of its text."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from catalog.descriptor import Descriptor
from catalog.elements import Column, ColumnId, Index
from expressions.analysis.scopes import Scan
from expressions.typed import Expr
from nodes.copy.incoming import CopyIn
from nodes.copy.outgoing import CopyOut
from nodes.sql.naming import ViewInUse
from nodes.sql.queries.query import Output, Parts, Query
from nodes.sql.writes.row_rules import Rules
from nodes.wire.columns import Columns


@dataclass(frozen=True, slots=True)
class Returning:
    targets: tuple[Expr, ...]
    columns: Columns


@dataclass(frozen=True, slots=True)
class SelectPlan:
    query: Query
    scans: tuple[Scan, ...]
    outputs: tuple[Output, ...]
    columns: Columns
    needs_no_engine: bool = False
    relations: frozenset[str] = frozenset()
    """Those of pg_catalog that it reads."""
    copy: CopyOut | None = None
    """How its rows are sent, when it is a COPY."""
    is_correlated: bool = False
    """A subquery in it names columns of the queries around it."""
    views: Mapping[str, ViewInUse] = field(default_factory=dict)
    """Those that its text names."""


@dataclass(frozen=True, slots=True)
class Sources:
    """The WITH before an INSERT, and the tables that subqueries in its expressions read."""

    before: Parts = ()
    scans: tuple[Scan, ...] = ()


NO_SOURCES = Sources()


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
    source: SelectPlan | None
    defaults: Mapping[ColumnId, Expr]
    rules: Rules
    conflict: Conflict | None
    returning: Returning | None
    scan: Scan
    copy: CopyIn | None = None
    """How its rows come, when it is a COPY."""
    sources: Sources = NO_SOURCES
    is_local: bool = False
    """True if Python can compute all of `rows`."""


@dataclass(frozen=True, slots=True)
class Lookup:
    """A short way to the rows of a join: the other tables' rows are gathered, and say which keys are to be read."""

    gather: Parts
    """The rows of the other tables: first the values k0, k1, .. that `columns` of the written table have to equal."""
    columns: tuple[ColumnId, ...]
    outputs: tuple[Output, ...]
    """Types of these values."""
    parts: Parts
    """The query of the join over what was gathered."""


@dataclass(frozen=True, slots=True)
class Join:
    """The query of an UPDATE or DELETE over several tables: keys of rows, the values they get, those of RETURNING.

    A row that is joined several times is found once, with what came first.
    """

    parts: Parts
    outputs: tuple[Output, ...]
    lookup: Lookup | None = None


@dataclass(frozen=True, slots=True)
class UpdatePlan:
    descriptor: Descriptor
    scan: Scan
    assignments: Mapping[ColumnId, Expr]
    where: Expr | None
    scans: tuple[Scan, ...]
    rules: Rules
    returning: Returning | None
    join: Join | None = None


@dataclass(frozen=True, slots=True)
class DeletePlan:
    descriptor: Descriptor
    scan: Scan
    where: Expr | None
    scans: tuple[Scan, ...]
    returning: Returning | None
    join: Join | None = None


@dataclass(frozen=True, slots=True)
class MergeAction:
    """The act of a WHEN in a MERGE: INSERT, UPDATE or DELETE, and the columns that it gives values."""

    word: str
    columns: tuple[ColumnId, ...]


@dataclass(frozen=True, slots=True)
class MergePlan:
    """A MERGE: `join` finds the number of an action, the key of a row, the values of all actions, and those shown."""

    descriptor: Descriptor
    scan: Scan
    scans: tuple[Scan, ...]
    join: Join
    actions: tuple[MergeAction, ...]
    rules: Rules
    defaults: Mapping[ColumnId, Expr]
    returning: Returning | None
    sources: Sources = NO_SOURCES

    def words(self) -> frozenset[str]:
        return frozenset(action.word for action in self.actions)

    def assigned(self) -> frozenset[ColumnId]:
        """The columns that its updates give values."""
        return frozenset(column for action in self.actions if action.word == "UPDATE" for column in action.columns)


@dataclass(frozen=True, slots=True)
class TruncatePlan:
    descriptors: tuple[Descriptor, ...]


WritingPlan = InsertPlan | UpdatePlan | DeletePlan | MergePlan


@dataclass(frozen=True, slots=True)
class Part:
    """A statement that writes in a WITH: the engine's name for what it returns, and its columns."""

    name: str
    plan: WritingPlan
    outputs: tuple[Output, ...]


@dataclass(frozen=True, slots=True)
class SeveralPlan:
    """A statement, and those in its WITH that write, each of another table."""

    parts: tuple[Part, ...]
    main: SelectPlan | WritingPlan

    @property
    def plans(self) -> tuple[SelectPlan | WritingPlan, ...]:
        return (*(part.plan for part in self.parts), self.main)


Plan = SelectPlan | WritingPlan | TruncatePlan | SeveralPlan
