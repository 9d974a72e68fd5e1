"""Questions of a statement that writes to PostgreSQL: queries made of the user's own words. Pure.

    UPDATE     SELECT key of t, what SET gives       FROM t, others  WHERE ..
    DELETE     SELECT key of t                       FROM t, others  WHERE ..
    INSERT     SELECT what the source gives          FROM (source)
    MERGE      SELECT which WHEN, key of t, what it gives  FROM source LEFT JOIN t ON ..
    ON CONFLICT  SELECT whether, what SET gives      FROM the rows that a node has read, and those proposed
    RETURNING  SELECT ..                             FROM the rows as they will be

All of them are read in place (`nodes.sql.readable`), and see the tables as they were before the statement. Names, types
and states were checked when the plan was made, so each value is cast to the type that the plan says.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from postgast import pg_query_pb2 as pb

from catalog.descriptor import Descriptor
from catalog.elements import Column, ColumnId
from catalog.text.sql_names import quoted
from expressions.analysis.building import Parameters
from expressions.analysis.scopes import Scan
from expressions.dates.zones import PLAIN, TimeStyle
from expressions.errors import unsupported
from expressions.sqltypes import BOOL, INT4, OF_SQL_TYPE, Type
from expressions.typed import Call, ColumnRef, Expr, Literal, Parameter, is_simple, walk
from nodes.catalog_queries.compiled import Facts
from nodes.sql.admission import FunctionNames, admitted, nodes_in
from nodes.sql.conditions.predicates import VALUES_MAX, conjuncts
from nodes.sql.naming import ViewInUse
from nodes.sql.plans import (
    Beside,
    Conflict,
    DeletePlan,
    InsertPlan,
    MergePlan,
    Part,
    QueryPlan,
    Returning,
    SeveralPlan,
    UpdatePlan,
    WritingPlan,
)
from nodes.sql.readable import ROW_ID, InPlace, over_tables
from nodes.sql.statements import Statement
from nodes.sql.uses import scans_in
from nodes.sql.writes.joins import column_compared, leading_columns, names
from nodes.sql.writes.pieces import (
    ACTIONS,
    VERBS,
    Assembled,
    Clauses,
    PartOfArray,
    Piece,
    Pieces,
    SetTo,
    Slice,
    Target,
    Written,
    assembled,
    listed,
)
from nodes.sql.writes.typed import NUMBER, ROWS, Given, assigned, parameters, relation, shown

Node = Any


@dataclass(frozen=True, slots=True)
class Text:
    """A query for PostgreSQL, the types of its columns, and the columns of the rows that it is given."""

    place: InPlace
    outputs: tuple[Type, ...]
    given: tuple[Given, ...] = ()
    before: tuple[str, ...] = ()
    """The statements of its WITH whose rows it is given before its own."""
    keys: "Keys | None" = None
    made: Mapping[int, Expr] = field(default_factory=dict)
    """By places among the values: those that the node makes of an old value and of others behind them (`SLOT`)."""


@dataclass(frozen=True, slots=True)
class Keys:
    """A query of the other tables alone: what columns of the written table have to equal. Few say what is read."""

    text: Text
    columns: tuple[ColumnId, ...]


@dataclass(frozen=True, slots=True)
class Within:
    """Where a statement stands beside others in one WITH: the words up to `end`, and the WITH that it sees itself.

    `names` are those of the statements before it whose rows it is given.
    """

    clauses: Clauses
    end: int
    before: Pieces
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Reading:
    """The way of texts to PostgreSQL: what their names may mean, the types of parameters, and values of the session."""

    functions: FunctionNames | None
    tables: Mapping[str, Descriptor]
    views: Mapping[str, ViewInUse]
    parameters: Parameters
    style: TimeStyle = PLAIN
    facts: Facts | None = None

    def place(self, whole: Assembled, start: int) -> InPlace:
        """A text for PostgreSQL. Raises `SqlError` for one that cannot be read in place."""
        select = admitted(whole.text, self.functions).select_stmt
        scans = scans_in(select, self.tables, self.views, self.parameters, self.style)
        keyed = next((scans[at,] for at in whole.targets), None)
        place = over_tables(whole.text, start, scans, self.views, self.functions, self.style, keyed, self.facts)
        if place.sets:
            raise unsupported("set_config in a statement that writes")
        return replace(place, origin=whole.origin)


@dataclass(eq=False)
class Queries:
    """The queries of one statement that writes, under one plan. `first`: the number of their first own parameter."""

    reading: Reading
    statement: str
    start: int
    node: Node
    descriptor: Descriptor
    scan: Scan
    first: int
    within: "Within | None" = None

    @cached_property
    def written(self) -> Written:
        if self.within is not None:
            return Written(self.within.clauses, self.node, self.within.end)
        return Written(Clauses(self.statement, self.start), self.node)

    @cached_property
    def before(self) -> Pieces:
        """The WITH."""
        if self.within is not None:
            return self.within.before
        return (self.written.clauses.slice(0, self.written.verb), " ") if self.written.verb > 0 else ()

    def _made(self, pieces: Sequence[Piece], outputs: Sequence[Type], given: Sequence[Given] = ()) -> Text:
        """The query of these pieces. Raises `SqlError` for one that cannot be read in place."""
        whole = assembled(self.statement, (*self.before, *pieces))
        names = () if self.within is None else self.within.names
        return Text(self.reading.place(whole, self.start), tuple(outputs), tuple(given), names)

    # -- pieces ---------------------------------------------------------------------------------------------------

    @property
    def _table(self) -> Target:
        return Target(f"public.{quoted(self.descriptor.name)} AS {quoted(self.written.alias)}")

    def _keys(self) -> list[Pieces]:
        alias = quoted(self.written.alias)
        return [(f"{alias}.{quoted(column.name or ROW_ID)}",) for column in self.descriptor.key_columns]

    @property
    def _key_types(self) -> list[Type]:
        return [OF_SQL_TYPE[column.type] for column in self.descriptor.key_columns]

    def _value(self, column: Column, pieces: Pieces | None) -> Pieces:
        """The value that an assignment gives to a column."""
        if pieces is None:
            pieces = (column.default or "NULL",)
        return assigned(pieces, column)

    def _assigned(self, assignments: Mapping[ColumnId, Expr], values: Sequence[tuple[str, SetTo]]) -> "_Assigned":
        """The values that SET gives to columns; of an array whose parts are set, these."""
        found, numbers = _Assigned([], [], [], {}), {c.name: c.id for c in self.descriptor.public_columns}
        for place, (column_id, expr) in enumerate(assignments.items()):
            column = self.descriptor.column(column_id)
            given = [value for name, value in values if numbers[name] == column_id]
            parts = [one for one in given if isinstance(one, PartOfArray)]
            if not parts:
                found.values.append(self._value(column, given[0]))  # type: ignore[arg-type]
                continue
            found.values.append((f"NULL::{column.type.value}",))
            for part in parts:
                of = column if part.is_slice else replace(column, type=column.type.element or column.type)
                found.parts.extend([*(("(", *bound, ")::int4") for bound in part.bounds), self._value(of, part.value)])
                found.types.extend([*(INT4 for _ in part.bounds), OF_SQL_TYPE[of.type]])
            found.made[place] = _with_slots(expr, [len(part.bounds) + 1 for part in parts], len(found.parts))
        return found

    def _types(self, columns: Sequence[ColumnId]) -> list[Type]:
        return [OF_SQL_TYPE[self.descriptor.column(column_id).type] for column_id in columns]

    # -- rows of tables -------------------------------------------------------------------------------------------

    def changed(self, plan: UpdatePlan | DeletePlan) -> Text:
        """The keys of the rows that are changed, the values that they get, and what RETURNING wants of other tables."""
        written, columns, given = self.written, tuple[ColumnId, ...](), _Assigned([], [], [], {})
        if isinstance(plan, UpdatePlan):
            columns = tuple(plan.assignments)
            end = written.clauses.next(written.target, written.returning, "from", "where")
            given = self._assigned(plan.assignments, written.assignments(written.node.target_list, end))
        others = written.clause("from" if columns else "using", "where")
        keys, beside = self._keys(), () if plan.returning is None else plan.returning.beside
        once: Pieces = () if others is None else ("DISTINCT ON (", *listed(keys), ") ")
        tables: list[Pieces] = [(self._table,), *([] if others is None else [(written.clauses.slice(*others),)])]
        items = [*keys, *given.values, *_named(beside), *given.parts]
        pieces = ["SELECT ", *once, *listed(items), " FROM ", *listed(tables), *written.condition()]
        types = [*self._key_types, *self._types(columns), *(one.type for one in beside), *given.types]
        where = None if others is None else written.clause("where")
        keys_read = None
        if others is not None and where is not None and plan.where is not None and plan.looked_up:
            keys_read = self._keys_read(written.clauses.slice(*others), where, conjuncts(plan.where))
        return replace(self._made(pieces, types), made=given.made, keys=keys_read)

    def _keys_read(
        self, others: Slice, where: tuple[int, int], conditions: Sequence[Expr], *, filters: bool = True
    ) -> "Keys | None":
        """The query of the other tables for the keys to be read; None where they say nothing of them."""
        clauses, parts = self.written.clauses, self.written.clauses.conjuncts(*where)
        counts = [clauses.comparisons(*part) for part in parts]
        if sum(counts) != len(conditions):
            return None
        left = iter(conditions)
        found: dict[ColumnId, tuple[Pieces, Type]] = {}
        here: list[Pieces] = []
        for count, (first, end) in zip(counts, parts, strict=True):
            condition, *more = [next(left) for _ in range(count)]
            pair = None if more else column_compared(condition, self.scan)
            equals = [place for place, word in clauses.outside(first, end) if word == "="]
            if not any(names(one, self.scan) for one in (condition, *more)):
                here.append(("(", clauses.slice(first, end), ")"))
            elif pair is not None and pair[0] not in found and len(equals) == 1 and isinstance(condition, Call):
                sides = (first, equals[0]), (equals[0] + 1, end)
                other = sides[condition.args[1] is pair[1]]
                found[pair[0]] = (clauses.slice(*other),), pair[1].type
        if not any(first in found for first in leading_columns(self.scan)):
            return None  # what is compared stands in a way that is not followed here
        types = [of for _, of in found.values()]
        values = listed([shown(pieces, of) for pieces, of in found.values()])
        test = (" WHERE ", *listed(here, " AND ")) if here and filters else ()
        pieces = ["SELECT DISTINCT ", *values, " FROM ", others, *test, f" LIMIT {VALUES_MAX + 1}"]
        return Keys(self._made(pieces, types), tuple(found))

    def source(self, plan: InsertPlan) -> Text:
        """The rows that an INSERT's query gives."""
        return self._cast(self.query_of_source(), plan.columns)

    def query_of_source(self) -> Pieces:
        """The query of an INSERT, as its text has it."""
        given = self.written.node.select_stmt.select_stmt
        query = self.written.query_of_table()
        if not query:
            first, end = self._source_words()
            is_row = len(given.values_lists) and not given.HasField("with_clause")  # of functions that give rows
            values = self.written.row(first) if is_row else []
            row = ("SELECT ", *listed([value or ("NULL",) for value in values]))
            query = row if is_row else (self.written.clauses.slice(first, end),)
        return query

    def _cast(self, query: Pieces, columns: Sequence[Column]) -> Text:
        """A query whose rows are assigned to these columns."""
        names = [f"c{place}" for place in range(len(columns))]
        values = [assigned((f"given.{name}",), column) for name, column in zip(names, columns, strict=True)]
        pieces = ["SELECT ", *listed(values), " FROM (", *query, f") AS given ({', '.join(names)})"]
        return self._made(pieces, [OF_SQL_TYPE[column.type] for column in columns])

    def values(self, plan: InsertPlan) -> Text:
        """The rows of VALUES; a DEFAULT among them is NULL, which nobody looks at."""
        query = self.written.query_of_table()
        if query:
            return self._cast(query, plan.columns)
        first, end = self._source_words()
        rows: list[Pieces] = []
        for start, _ in self.written.clauses.split(first + 1, end):
            values = self.written.row(start)
            row = [assigned(value or ("NULL",), column) for value, column in zip(values, plan.columns, strict=True)]
            rows.append(("(", *listed(row), ")"))
        return self._made(["VALUES ", *listed(rows)], [OF_SQL_TYPE[column.type] for column in plan.columns])

    def _source_words(self) -> tuple[int, int]:
        """The words of an INSERT's query."""
        written, clauses = self.written, self.written.clauses
        node, end = written.node, written.returning
        if node.HasField("on_conflict_clause"):
            end = clauses.index(node.on_conflict_clause.location)
        if not len(node.cols):
            return clauses.next(written.target + 1, end, "select", "values", "with", "table", "("), end
        place = clauses.words.brackets(clauses.index(node.cols[0].res_target.location) - 1)[1] + 1
        return place + 3 if clauses.words[place] == "overriding" else place, end

    # -- rows that the node has -----------------------------------------------------------------------------------

    def returned(self, returning: Returning) -> Text:
        """RETURNING of rows as they will be, or as they were before they were removed."""
        alias = self.written.alias
        own = {ref.column_id for target in returning.targets for ref in walk(target) if isinstance(ref, ColumnRef)}
        columns = self.descriptor.public_columns
        named = [column for column in columns if column.id in own] or [columns[0]]
        given = [Given(alias, column.name, column.type, column.id) for column in named]
        given += [_given(one) for one in returning.beside]
        calls = {column.id: f"{quoted(alias)}.{quoted(column.name)}" for column in columns}
        calls |= {one.number: f"{quoted(one.relation)}.{quoted(one.name)}" for one in returning.beside}
        items, place = list[Pieces](), 0
        for item, width in zip(self.written.shown(), returning.widths, strict=True):
            for target in returning.targets[place : place + width]:
                if item is None and not isinstance(target, ColumnRef):
                    raise unsupported("RETURNING * of a column that two tables make")
                column = (calls[ColumnId(target.column_id)],) if isinstance(target, ColumnRef) else ()
                items.append(shown(column if item is None else item, target.type))
            place += width
        names = dict.fromkeys(one.relation for one in given)
        tables = [(parameters(given, self.first),), *((relation(given, name),) for name in names)]
        pieces = ["SELECT ", *listed(items), " FROM ", *listed(tables), f" ORDER BY {ROWS}.{NUMBER}"]
        return self._made(pieces, [target.type for target in returning.targets], given)

    def kept(self, where: Expr) -> Text:
        """WHERE of COPY, of rows that have come: true or false for each."""
        alias, columns = self.written.alias, self.descriptor.public_columns
        used = {ref.column_id for ref in walk(where) if isinstance(ref, ColumnRef)}
        given = [Given(alias, c.name, c.type, c.id) for c in columns if c.id in used or c is columns[0]]
        _, *test = self.written.condition()
        tables = [(parameters(given, self.first),), (relation(given, alias),)]
        pieces = ["SELECT (", *test, " IS TRUE FROM ", *listed(tables), f" ORDER BY {ROWS}.{NUMBER}"]
        return self._made(pieces, [BOOL], given)

    def conflicting(self, conflict: Conflict) -> Text:
        """A test of whether a row in the way is changed, and the values that it gets: of both rows."""
        assert conflict.assignments is not None
        written, alias, columns = self.written, self.written.alias, tuple(conflict.assignments)
        clause = written.node.on_conflict_clause
        begin = written.clauses.index(clause.target_list[0].res_target.location)
        end = written.clauses.next(begin, written.returning, "where")
        given_to = self._assigned(conflict.assignments, written.assignments(clause.target_list, end))
        values, parts = given_to.values, given_to.parts
        where = written.condition(begin)
        test: Pieces = ("true",) if not where else ("(", *where[1:], " IS TRUE")
        exprs = [*conflict.assignments.values(), *([] if conflict.where is None else [conflict.where])]
        used = {ref.column_id for expr in exprs for ref in walk(expr) if isinstance(ref, ColumnRef)}
        public = self.descriptor.public_columns
        given = [Given(alias, c.name, c.type, c.id) for c in public if c.id in used or c is public[0]]
        given += [Given(EXCLUDED, c.name, c.type, ColumnId(-c.id)) for c in public if -c.id in used]
        given_values = [("CASE WHEN ", IS_DONE, " THEN ", *value, " END") for value in (*values, *parts)]
        items: list[Pieces] = [(IS_DONE,), *given_values]
        tables = [
            (parameters(given, self.first),),
            (relation(given, alias),),
            (relation(given, EXCLUDED),),
            ("LATERAL (SELECT ", *test, f" AS {DONE} OFFSET 0) AS {DONE}"),
        ]
        pieces = ["SELECT ", *listed(items), " FROM ", *listed(tables)]
        types = [BOOL, *self._types(columns), *given_to.types]
        made = self._made([*pieces, f" ORDER BY {ROWS}.{NUMBER}"], types, given)
        return replace(made, made=given_to.made)

    # -- MERGE ----------------------------------------------------------------------------------------------------

    def merged(self, plan: MergePlan) -> Text:
        """For each row: the number of the act, the key, the values of all acts, what RETURNING wants of the source."""
        written, clauses = self.written, self.written.clauses
        source = written.clause("using", "when")
        assert source is not None
        first, on, end = source[0], _last(clauses, *source, "on"), source[1]
        acting = [n.merge_when_clause for n in written.node.merge_when_clauses if _acts(n.merge_when_clause)]
        kinds = {one.match_kind for one in acting}
        branches, values, types = list[Pieces](), list[Pieces](), list[Type]()
        number = 0
        for node, (start, stop) in zip(written.node.merge_when_clauses, self._branches(end), strict=True):
            one = node.merge_when_clause
            then = clauses.next(start, stop, "then")
            test = clauses.next(start, then, "and")
            condition: Pieces = ()
            if one.HasField("condition"):
                condition = (
                    " AND ",
                    *self._seen(one.condition, one.match_kind, (clauses.slice(test + 1, then),), plan),
                )
            act = plan.actions[number] if _acts(one) else None
            branches.append(
                (f" WHEN {MATCHES[one.match_kind]}", *condition, f" THEN {'NULL' if act is None else number}")
            )
            if act is None:
                continue
            for column_id, value in zip(act.columns, self._given_by(one, then, stop), strict=True):
                seen = None if value is None else self._seen(one, one.match_kind, value, plan)
                column = self.descriptor.column(column_id)
                values.append((f"CASE WHEN {DONE}.{DONE} = {number} THEN ", *self._value(column, seen), " END"))
                types.append(OF_SQL_TYPE[column.type])
            number += 1
        beside = () if plan.returning is None else plan.returning.beside
        others = [one for one in beside if one.relation != ACTIONS]
        items = [(f"{DONE}.{DONE}",), *self._keys(), *values, *_named(others)]
        marked: Pieces = ("(", clauses.slice(first, on), f" CROSS JOIN (SELECT true AS {THERE}) AS {THERE})")
        tables = self._joined(marked, kinds)
        pieces: list[Piece] = ["SELECT ", *listed(items), " FROM ", *tables, " ON (", clauses.slice(on + 1, end), ")"]
        key = self._keys()[0]
        here = (
            ", LATERAL (SELECT (",
            *key,
            f" IS NOT NULL) AS {HERE}, {THERE}.{THERE} IS NOT NULL AS {THERE} OFFSET 0)",
        )
        pieces += [
            *here,
            f" AS {HERE}, LATERAL (SELECT CASE",
            *listed(branches, ""),
            f" END AS {DONE} OFFSET 0) AS {DONE}",
        ]
        pieces.append(f" WHERE {DONE}.{DONE} IS NOT NULL")
        made = self._made(pieces, [INT4, *self._key_types, *types, *(one.type for one in others)])
        if not plan.looked_up:
            return made
        return replace(made, keys=self._keys_read(clauses.slice(first, on), (on + 1, end), plan.on, filters=False))

    def _branches(self, first: int) -> list[tuple[int, int]]:
        """The words of each WHEN."""
        end = self.written.returning
        begins = [place for place, word in self.written.clauses.outside(first, end) if word == "when"]
        return list(zip(begins, [*begins[1:], end], strict=True))

    def _given_by(self, when: Node, then: int, end: int) -> list[Pieces | None]:
        """The values that an act gives to its columns; an INSERT leaves out what is DEFAULT."""
        clauses, written = self.written.clauses, self.written
        if pb.CmdType.Name(when.command_type) == "CMD_UPDATE":
            if any(len(item.res_target.indirection) for item in when.target_list):
                raise unsupported("SET of a part of a column in MERGE", hint="assign the whole column")
            return [value for _, value in written.assignments(when.target_list, end)]  # type: ignore[misc]
        if not len(when.values):
            return []
        values = written.row(clauses.next(then, end, "values"))
        return [value for value in values if value is not None]

    def _joined(self, source: Pieces, kinds: set[int]) -> Pieces:
        """Both sides, with the rows of one that the other has not, as far as a WHEN is about them."""
        if pb.MERGE_WHEN_NOT_MATCHED_BY_SOURCE in kinds:
            is_full = pb.MERGE_WHEN_NOT_MATCHED_BY_TARGET in kinds
            return (self._table, " FULL JOIN " if is_full else " LEFT JOIN ", *source)
        is_left = pb.MERGE_WHEN_NOT_MATCHED_BY_TARGET in kinds
        return (*source, " LEFT JOIN " if is_left else " JOIN ", self._table)

    def _seen(self, node: Node, kind: int, pieces: Pieces, plan: MergePlan) -> Pieces:
        """An expression of a WHEN, which sees one side only unless rows match: names without a table are of that."""
        is_named = all(len(one.fields) > 1 for one in nodes_in(node) if one.DESCRIPTOR.name == "ColumnRef")
        if kind == pb.MERGE_WHEN_MATCHED or is_named:
            return ("(", *pieces, ")")
        names = [self.written.alias] if kind == pb.MERGE_WHEN_NOT_MATCHED_BY_SOURCE else plan.source_names
        tables = ", ".join(f"(SELECT {quoted(name)}.*) AS {quoted(name)}" for name in names)
        return ("(SELECT ", *pieces, f" FROM {tables})")

    # -- defaults -------------------------------------------------------------------------------------------------

    def default(self, column: Column) -> Text:
        """The default of a column, as often as a parameter says."""
        count = f"pg_catalog.generate_series(1, ${self.first}::pg_catalog.int8)"
        pieces = ["SELECT ", *self._value(column, None), f" FROM {count}"]
        return Text(self.reading.place(assembled(self.statement, pieces), self.start), (OF_SQL_TYPE[column.type],))


@dataclass(frozen=True, slots=True)
class _Assigned:
    """The values of the columns that SET names, the parts of arrays among them with their types, and what is made."""

    values: list[Pieces]
    parts: list[Pieces]
    types: list[Type]
    made: dict[int, Expr]


def _with_slots(expr: Expr, counts: Sequence[int], end: int) -> Expr:
    """An array with other parts: bounds and values are those in so many slots for each part, the last ends at `end`."""
    assert isinstance(expr, Call)
    first = end - counts[-1]
    array = _with_slots(expr.args[0], counts[:-1], first) if len(counts) > 1 else expr.args[0]
    slots = [ColumnRef("", arg.type, "", column_id=SLOT - first - n) for n, arg in enumerate(expr.args[1:])]
    return replace(expr, args=(array, *slots))


SLOT = -1_000_000
"""As columns of a row, the parts of arrays that PostgreSQL computes have numbers from this one downwards."""
PART_NAME = "\x02part"
PART = quoted(PART_NAME)
EXCLUDED = "excluded"
DONE, HERE, THERE = '"\x02done"', '"\x02here"', '"\x02there"'
IS_DONE = f"{DONE}.{DONE}"
MATCHES = {
    pb.MERGE_WHEN_MATCHED: f"{HERE}.{HERE} AND {HERE}.{THERE}",
    pb.MERGE_WHEN_NOT_MATCHED_BY_SOURCE: f"{HERE}.{HERE} AND NOT {HERE}.{THERE}",
    pb.MERGE_WHEN_NOT_MATCHED_BY_TARGET: f"{HERE}.{THERE} AND NOT {HERE}.{HERE}",
}


def _acts(when: Node) -> bool:
    return bool(pb.CmdType.Name(when.command_type) != "CMD_NOTHING")


def _last(clauses: Clauses, first: int, end: int, word: str) -> int:
    return [place for place, found in clauses.outside(first, end) if found == word][-1]


def _named(columns: Sequence[Beside]) -> list[Pieces]:
    return [(f"{quoted(one.relation)}.{quoted(one.name)}",) for one in columns]


def _given(beside: Beside) -> Given:
    if beside.type.sql_type is None:
        raise unsupported(f"RETURNING of {beside.type}")
    return Given(beside.relation, beside.name, beside.type.sql_type, beside.number)


@dataclass(frozen=True, slots=True)
class SeveralTexts:
    """The questions of a statement that has others in its WITH: each of them, and what stands behind them."""

    parts: "tuple[Texts, ...]"
    main: "Texts"

    @property
    def is_of_session(self) -> bool:
        """True if a value of the session stands in one of them."""
        return any(texts.is_of_session for texts in (*self.parts, self.main))


@dataclass(frozen=True, slots=True)
class Texts:
    """The questions of one statement, as far as the node does not know the answers by itself."""

    rows: Text | None = None
    """The rows that it is about, or gives."""
    returned: Text | None = None
    conflicting: Text | None = None
    kept: Text | None = None
    defaults: Mapping[ColumnId, Text] = field(default_factory=dict)

    @property
    def is_of_session(self) -> bool:
        """True if a value of the session stands in one of them."""
        found = (self.rows, self.returned, self.conflicting, self.kept, *self.defaults.values())
        return any(text is not None and text.place.is_of_session for text in found)


NO_TEXTS = Texts()


def source_of(statement: Statement, table: Descriptor, reading: Reading) -> InPlace:
    """The query of an INSERT by itself, for PostgreSQL to describe."""
    queries = Queries(reading, statement.text, statement.start, statement.node, table, Scan(0, table), 0)
    return reading.place(assembled(statement.text, (*queries.before, *queries.query_of_source())), statement.start)


def texts_of(
    statement: Statement, plan: WritingPlan | SeveralPlan, reading: Reading, first: int
) -> Texts | SeveralTexts:
    """The questions of a statement. Raises `SqlError` for what cannot be read in place."""
    if isinstance(plan, SeveralPlan):
        return several_texts(statement, plan, reading, first)
    return _texts(_queries(statement, statement.node, plan, reading, first), plan)


def _queries(
    statement: Statement, node: Node, plan: WritingPlan, reading: Reading, first: int, within: Within | None = None
) -> Queries:
    return Queries(reading, statement.text, statement.start, node, plan.descriptor, plan.scan, first, within)


def several_texts(statement: Statement, plan: SeveralPlan, reading: Reading, first: int) -> SeveralTexts:
    """The same of a statement with others in its WITH. What one of these returns is a query of WITH for the next."""
    clauses = Clauses(statement.text, statement.start)
    queries, names, texts = list[Pieces](), list[str](), list[Texts]()
    parts, end = iter(plan.parts), 0
    for item in statement.node.with_clause.ctes:
        cte = item.common_table_expr
        begin = clauses.index(cte.location)
        opening, end = clauses.words.brackets(clauses.next(begin, len(clauses.words.tokens), "as"))
        which = cte.ctequery.WhichOneof("node")
        if which == "select_stmt":
            queries.append((clauses.slice(begin, end + 1),))
            continue
        part, node = next(parts), getattr(cte.ctequery, which)
        within = Within(clauses, end, _with(clauses, opening + 1, node, queries), tuple(names))
        texts.append(_texts(_queries(statement, node, part.plan, reading, first, within), part.plan))
        if part.outputs:
            given = of_part(part)
            listed_names = ", ".join(quoted(output.name) for output in part.outputs)
            values = ", ".join(f"{PART}.{quoted(one.name)}" for one in given)
            rows = f"SELECT {values} FROM {parameters(given, first)}, {relation(given, PART_NAME)} ORDER BY {NUMBER}"
            queries.append((f"{quoted(cte.ctename)} ({listed_names}) AS ({rows})",))
            names.append(part.name)
            first += len(given)
    within = Within(clauses, len(clauses.words.tokens), _listed_with(queries), tuple(names))
    if isinstance(plan.main, QueryPlan):
        main = Texts(_selected(statement, plan.main, within, end + 1, reading))
    else:
        main = _texts(_queries(statement, statement.node, plan.main, reading, first, within), plan.main)
    return SeveralTexts(tuple(texts), main)


def _listed_with(queries: Sequence[Pieces]) -> Pieces:
    return ("WITH ", *listed(queries), " ") if queries else ()


def _with(clauses: Clauses, begin: int, node: Node, queries: Sequence[Pieces]) -> Pieces:
    """The WITH of a statement that stands in a WITH: the queries before it, and its own."""
    if not node.HasField("with_clause"):
        return _listed_with(queries)
    own = node.with_clause.recursive
    verb = clauses.back(clauses.index(node.relation.location), VERBS[node.DESCRIPTOR.name])
    listed_here = (clauses.slice(begin + (2 if own else 1), verb),)
    return ("WITH RECURSIVE " if own else "WITH ", *listed([*queries, listed_here]), " ")


def _selected(statement: Statement, plan: QueryPlan, within: Within, first: int, reading: Reading) -> Text:
    """The SELECT behind the others, each column of the type that its result says."""
    names = ", ".join(f"c{place}" for place in range(len(plan.outputs)))
    values = listed([shown((f"given.c{place}",), output.type) for place, output in enumerate(plan.outputs)])
    query = within.clauses.slice(first, within.end)
    whole = assembled(statement.text, ("SELECT ", *values, " FROM (", *within.before, query, f") AS given ({names})"))
    types = tuple(output.type for output in plan.outputs)
    return Text(reading.place(whole, statement.start), types, (), within.names)


def of_part(part: Part) -> list[Given]:
    """The columns of the rows that a statement in WITH returns."""
    found = []
    for place, output in enumerate(part.outputs):
        assert output.type.sql_type is not None
        found.append(Given(PART_NAME, f"c{place}", output.type.sql_type, ColumnId(place)))
    return found


def _texts(queries: Queries, plan: WritingPlan) -> Texts:
    """The texts of a plan. Raises `SqlError` for what cannot be read in place."""
    rows = conflicting = kept = None
    defaults: dict[ColumnId, Text] = {}
    match plan:
        case InsertPlan():
            if plan.source is not None:
                rows = queries.source(plan)
            elif not plan.is_local and plan.copy is None:
                rows = queries.values(plan)
            if plan.copy is not None and plan.copy.where is not None and not is_simple(plan.copy.where):
                kept = queries.kept(plan.copy.where)
            if plan.conflict is not None and plan.conflict.assignments is not None:
                is_known = plan.conflict.where is None and are_plain(plan.conflict.assignments.values())
                conflicting = None if is_known else queries.conflicting(plan.conflict)
        case UpdatePlan() | DeletePlan():
            rows = None if is_by_key(plan) else queries.changed(plan)
        case MergePlan():
            rows = queries.merged(plan)
    if isinstance(plan, InsertPlan | MergePlan):
        columns = [plan.descriptor.column(c) for c, default in plan.defaults.items() if not is_simple(default)]
        defaults = {column.id: queries.default(column) for column in columns}
    is_asked = plan.returning is not None and not are_plain(plan.returning.targets)
    returned = queries.returned(plan.returning) if is_asked and plan.returning is not None else None
    return Texts(rows, returned, conflicting, kept, defaults)


def is_by_key(plan: UpdatePlan | DeletePlan) -> bool:
    """True if one row is named by its key, and the node can compute what is asked of it."""
    exprs = plan.assignments.values() if isinstance(plan, UpdatePlan) else ()
    is_local = plan.where is not None and is_simple(plan.where) and all(map(is_simple, exprs))
    return plan.scan.pinned_key is not None and not plan.is_joined and is_local


def are_plain(exprs: Iterable[Expr]) -> bool:
    """True if nothing is computed: columns, constants and parameters."""
    return all(isinstance(expr, ColumnRef | Literal | Parameter) for expr in exprs)
