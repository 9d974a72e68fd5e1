"""The text of one statement that writes, of whose words queries for PostgreSQL are made. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from postgast import pg_query_pb2 as pb

from catalog.descriptor import Descriptor
from catalog.text.sql_names import quoted
from expressions import grammar
from expressions.analysis.building import Parameters
from expressions.dates.zones import PLAIN, TimeStyle
from expressions.errors import INSUFFICIENT_PRIVILEGE, SqlError, unsupported
from nodes.catalog_queries.asks import key_of
from nodes.catalog_queries.compiled import Facts
from nodes.sql.admission import Admitted, FunctionNames, admitted
from nodes.sql.naming import ViewInUse, not_there
from nodes.sql.readable import InPlace, over_tables
from nodes.sql.statements import relations_in
from nodes.sql.uses import followed
from nodes.sql.writes.pieces import Assembled, Clauses, Pieces, SetTo, Span, Target, Written

Node = Any


@dataclass(frozen=True, slots=True)
class Reading:
    """The way of texts to PostgreSQL: what their names may mean, the types of parameters, and values of the session."""

    functions: FunctionNames | None
    tables: Mapping[str, Descriptor]
    views: Mapping[str, ViewInUse]
    parameters: Parameters
    style: TimeStyle = PLAIN
    facts: Facts | None = None
    read: dict[str, Clauses] = field(default_factory=dict, compare=False)
    """Statements that were read: each part of one has its words."""

    def clauses(self, statement: str, start: int) -> Clauses:
        if statement not in self.read:
            self.read[statement] = Clauses(statement, start)
        return self.read[statement]

    def place(self, whole: Assembled, start: int) -> InPlace:
        """A text for PostgreSQL. Raises `SqlError` for one that cannot be read in place."""
        parameters = Parameters(list(self.parameters.types))
        query = self.admitted(whole, start)
        try:
            found = followed(query.stmt.select_stmt, self.tables, self.views, parameters, self.style)
            keyed = next((found.scans[at,] for at in whole.targets), None)
            place = over_tables(query, start, found.scans, self.views, self.functions, self.style, keyed, self.facts)
        except SqlError as error:
            raise whole.placed(error, start) from None
        if place.sets:
            raise unsupported("set_config in a statement that writes", hint="set it first, by itself")
        return replace(place, origin=whole.origin)

    def admitted(self, whole: Assembled, start: int) -> Admitted:
        """A text that the store may read. Raises `SqlError`."""
        try:
            return self._admitted(whole.text)
        except SqlError as error:
            raise whole.placed(error, start) from None

    def _admitted(self, text: str) -> Admitted:
        """The query. Raises `SqlError`: a relation of the catalog is refused as a table that is not there."""
        try:
            return admitted(text, self.functions)
        except SqlError as error:
            refused = error.sqlstate == INSUFFICIENT_PRIVILEGE
            relations = relations_in(grammar.parse(text).stmts[0].stmt) if refused else ()
            named = next((one for one in relations if one.location == error.offset), None)
            if named is None:
                raise
            if key_of(named) is None:
                raise not_there(named) from None
            what = f"reading {named.schemaname or 'pg_catalog'}.{named.relname} in a statement that writes"
            raise unsupported(what, named.location, hint="read it first, by itself") from None


@dataclass(frozen=True, slots=True)
class Within:
    """Where a statement stands beside others in one WITH: the words up to `end`, and the WITH that it sees itself.
    `names`: the statements before it whose rows it is given."""

    clauses: Clauses
    end: int
    before: Pieces
    names: tuple[str, ...] = ()
    own: Pieces = ()
    """A text of the statement's that shows what this one returns, if it stands in the WITH."""


@dataclass(eq=False)
class SourceText:
    reading: Reading
    statement: str
    start: int
    node: Node
    descriptor: Descriptor
    within: Within | None = None

    @cached_property
    def written(self) -> Written:
        if self.within is not None:
            return Written(self.within.clauses, self.node, self.within.end)
        return Written(self.reading.clauses(self.statement, self.start), self.node)

    @cached_property
    def before(self) -> Pieces:
        if self.within is not None:
            return self.within.before
        return (self.written.clauses.slice(0, self.written.verb), " ") if self.written.verb > 0 else ()

    @property
    def table(self) -> Target:
        return Target(f"public.{quoted(self.descriptor.name)} AS {quoted(self.written.alias)}")

    @property
    def tables(self) -> list[Pieces]:
        if self.node.DESCRIPTOR.name == "MergeStmt":
            return [self.source_of_merge()[0], (self.table,)]
        return [(self.table,), *([self.others] if self.others else [])]

    @property
    def others(self) -> Pieces:
        word = {"UpdateStmt": "from", "DeleteStmt": "using"}.get(self.node.DESCRIPTOR.name)
        words = None if word is None else self.written.clause(word, "where")
        return () if words is None else self.written.clauses.with_names(*words)

    # -- parts of the statement -----------------------------------------------------------------------------------

    def query_of_source(self) -> Pieces:
        """The query of an INSERT, as its text has it."""
        return self.written.query_of_table() or (self.written.clauses.slice(*self.source_words()),)

    def source_words(self) -> tuple[int, int]:
        written, clauses = self.written, self.written.clauses
        node, end = written.node, written.returning
        if node.HasField("on_conflict_clause"):
            end = clauses.index(node.on_conflict_clause.location)
        if not len(node.cols):
            return clauses.next(written.target + 1, end, "select", "values", "with", "table", "("), end
        place = clauses.words.brackets(clauses.index(node.cols[0].res_target.location) - 1)[1] + 1
        return place + 3 if clauses.words[place] == "overriding" else place, end

    def rows_of_values(self) -> list[list[Span | None]]:
        """The words of the values of each row of VALUES; None for DEFAULT."""
        first, end = self.source_words()
        while self.written.clauses.words[first] != "values":
            first += 1  # brackets
        return self.written.clauses.rows(first + 1, end)

    def set_by_conflict(self) -> tuple[list[tuple[str, SetTo]], Pieces]:
        written, clause = self.written, self.written.node.on_conflict_clause
        clauses, first = written.clauses, clause.target_list[0].res_target.location
        begin = clauses.back(clauses.index(first), "set")
        end = clauses.next(begin, written.returning, "where")
        return written.assignments(clause.target_list, end), written.condition(begin)

    def source_of_merge(self) -> tuple[Pieces, Span]:
        clauses, words = self.written.clauses, self.written.clause("using", "when")
        assert words is not None
        on = [place for place, found in clauses.outside(*words) if found == "on"][-1]
        return clauses.with_names(words[0], on), (on + 1, words[1])

    def branches(self) -> "list[When]":
        clauses, end = self.written.clauses, self.written.returning
        begins = [place for place, word in clauses.outside(self.written.target, end) if word == "when"]
        found = []
        for item, start, stop in zip(self.node.merge_when_clauses, begins, [*begins[1:], end], strict=True):
            node, then = item.merge_when_clause, clauses.next(start, stop, "then")
            test = clauses.next(start, then, "and")
            condition = (clauses.slice(test + 1, then),) if node.HasField("condition") else None
            found.append(When(node, condition, self._given_by(node, then, stop)))
        return found

    def _given_by(self, when: Node, then: int, end: int) -> list[Pieces | None]:
        clauses, written = self.written.clauses, self.written
        if pb.CmdType.Name(when.command_type) == "CMD_UPDATE":
            if any(len(item.res_target.indirection) for item in when.target_list):
                raise unsupported("SET of a part of a column in MERGE", hint="assign the whole column")
            return [value for _, value in written.assignments(when.target_list, end)]  # type: ignore[misc]
        return written.row(clauses.next(then, end, "values")) if len(when.values) else []


@dataclass(frozen=True, slots=True)
class When:
    node: Node
    condition: Pieces | None
    values: Sequence[Pieces | None]

    @property
    def acts(self) -> bool:
        return bool(pb.CmdType.Name(self.node.command_type) != "CMD_NOTHING")
