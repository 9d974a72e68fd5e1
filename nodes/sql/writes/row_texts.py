"""Questions of a statement that writes to PostgreSQL: queries made of the user's own words. Pure.

    UPDATE     SELECT key of t, what SET gives       FROM t, others  WHERE ..
    RETURNING  SELECT ..                             FROM the rows as they will be

All of them are read in place (`nodes.sql.readable`), and see the tables as they were before the statement. Names, types
and states were checked when the plan was made, so each value is cast to the type that the plan says.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from postgast import pg_query_pb2 as pb

from catalog.elements import Column, ColumnId
from catalog.text.sql_names import quoted
from expressions.sqltypes import BOOL, INT4, OF_SQL_TYPE, Type
from expressions.typed import ColumnRef, Expr, Literal, Parameter, is_simple, lazy_call
from nodes.sql.admission import nodes_in
from nodes.sql.conditions.predicates import VALUES_MAX
from nodes.sql.plans import (
    ChangePlan,
    Conflict,
    InsertPlan,
    MergePlan,
    Part,
    QueryPlan,
    Returning,
    SeveralPlan,
    UpdatePlan,
    WritingPlan,
)
from nodes.sql.readable import ROW_ID, InPlace
from nodes.sql.statements import Statement
from nodes.sql.writes import array_parts
from nodes.sql.writes.joins import conditions_in
from nodes.sql.writes.others import named_in
from nodes.sql.writes.pieces import ACTIONS, PartOfArray, Piece, Pieces, SetTo, assembled, listed
from nodes.sql.writes.several import Parts
from nodes.sql.writes.source_text import Reading, SourceText, Within
from nodes.sql.writes.typed import NUMBER, ROWS, Given, assigned, parameters, relation, shown
from nodes.wire.columns import Columns

Node = Any


@dataclass(frozen=True, slots=True)
class Text:
    place: InPlace
    outputs: tuple[Type, ...]
    given: tuple[Given, ...] = ()
    before: tuple[str, ...] = ()
    """The statements of its WITH whose rows it is given before its own."""
    keys: "Keys | None" = None
    is_shown: bool = False
    """Its values are not written: a char of no known length keeps its blanks."""
    made: Mapping[int, Expr] = field(default_factory=dict)
    """By places among the values: those that the node makes of an old value and of others behind them (`SLOT`)."""


@dataclass(frozen=True, slots=True)
class Keys:
    """A query of the other tables alone: what columns of the written table have to equal. Few say what is read."""

    text: Text
    columns: tuple[ColumnId, ...]


@dataclass(eq=False)
class Queries(SourceText):
    """The queries of one statement that writes, under one plan. `first`: the number of their first own parameter."""

    first: int = 1

    def _made(self, pieces: Sequence[Piece], outputs: Sequence[Type], given: Sequence[Given] = ()) -> Text:
        """The query of these pieces. Raises `SqlError` for one that cannot be read in place."""
        whole = assembled(self.statement, (*self.before, *pieces))
        names = () if self.within is None else self.within.names
        return Text(self.reading.place(whole, self.start), tuple(outputs), tuple(given), names)

    # -- pieces ---------------------------------------------------------------------------------------------------

    def _keys(self) -> list[Pieces]:
        alias = quoted(self.written.alias)
        return [(f"{alias}.{quoted(column.name or ROW_ID)}",) for column in self.descriptor.key_columns]

    @property
    def _key_types(self) -> list[Type]:
        return self._types_of(self.descriptor.key_columns)

    def _value(self, column: Column, pieces: Pieces | None) -> Pieces:
        if pieces is None:
            pieces = (column.default or "NULL",)
        return assigned(pieces, column)

    def _assigned(self, assignments: Mapping[ColumnId, Expr], values: Sequence[tuple[str, SetTo]]) -> "_Assigned":
        """The values that SET gives to columns; of an array whose parts are set, these."""
        found, numbers = _Assigned([], [], [], {}), {c.name: c.id for c in self.descriptor.public_columns}
        for place, column_id in enumerate(assignments):
            column = self.descriptor.column(column_id)
            given = [value for name, value in values if numbers[name] == column_id]
            parts = [one for one in given if isinstance(one, PartOfArray)]
            if not parts:
                found.values.append(self._value(column, given[0]))  # type: ignore[arg-type]
                continue
            found.values.append((f"NULL::{column.type.value}",))
            array: Expr = ColumnRef("", OF_SQL_TYPE[column.type], column.name, column_id=column_id)
            for part in parts:
                of, first = part_of(column, part), len(found.parts)
                found.parts.extend([*(("(", *bound, ")::int4") for bound in part.bounds), self._value(of, part.value)])
                found.types.extend([*(INT4 for _ in part.bounds), OF_SQL_TYPE[of.type]])
                slots = [
                    ColumnRef("", slot, "", column_id=SLOT - first - n) for n, slot in enumerate(found.types[first:])
                ]
                name, compute = "with element", array_parts.with_element
                if part.is_slice:
                    name = "with slice"
                    compute = array_parts.with_slice(has_first=part.has_first, has_last=part.has_last)
                array = lazy_call(name, (array, *slots), array.type, compute, -1)
            found.made[place] = array
        return found

    def _types(self, columns: Iterable[ColumnId]) -> list[Type]:
        return self._types_of(map(self.descriptor.column, columns))

    @staticmethod
    def _types_of(columns: Iterable[Column | Given]) -> list[Type]:
        return [OF_SQL_TYPE[column.type] for column in columns]

    # -- rows of tables -------------------------------------------------------------------------------------------

    def changed(self, plan: ChangePlan) -> Text:
        """The keys of the rows that are changed, the values that they get, and what RETURNING wants of other tables."""
        written, columns, given = self.written, tuple[ColumnId, ...](), _Assigned([], [], [], {})
        if isinstance(plan, UpdatePlan):
            columns = tuple(plan.assignments)
            end = written.clauses.next(written.target, written.returning, "from", "where")
            given = self._assigned(plan.assignments, written.assignments(written.node.target_list, end))
        others = self.others
        keys, beside = self._keys(), () if plan.returning is None else plan.returning.beside
        once: Pieces = ("DISTINCT ON (", *listed(keys), ") ") if others else ()
        items = [*keys, *given.values, *_named(beside), *given.parts]
        pieces = ["SELECT ", *once, *listed(items), " FROM ", *listed(self.tables), *written.condition()]
        types = [*self._key_types, *self._types(columns), *self._types_of(beside), *given.types]
        where, keys_read = written.clause("where"), None
        if others and where is not None and plan.looked_up:
            keys_read = self._keys_read(others, where, self.node.where_clause, dict(plan.looked_up))
        return replace(self._made(pieces, types), made=given.made, keys=keys_read)

    def _keys_read(
        self,
        others: Pieces,
        where: tuple[int, int],
        condition: Node,
        wanted: dict[ColumnId, Type],
        *,
        filters: bool = True,
    ) -> "Keys":
        found: dict[ColumnId, tuple[Pieces, Type]] = {}
        here: list[Pieces] = []
        for one in conditions_in(self.written.clauses, where, condition, self.descriptor, self.written.alias):
            if not one.is_of_written:
                here.append(("(", one.text, ")"))
            elif one.column is not None and one.other is not None and one.column.id in wanted:
                found.setdefault(one.column.id, ((one.other,), wanted[one.column.id]))
        types = [of for _, of in found.values()]
        values = listed([shown(pieces, of) for pieces, of in found.values()])
        test = (" WHERE ", *listed(here, " AND ")) if here and filters else ()
        pieces = ["SELECT DISTINCT ", *values, " FROM ", *others, *test, f" LIMIT {VALUES_MAX + 1}"]
        return Keys(self._made(pieces, types), tuple(found))

    def source(self, plan: InsertPlan) -> Text:
        return self._cast(self.query_of_source(), plan.columns)

    def _cast(self, query: Pieces, columns: Sequence[Column]) -> Text:
        names = [f"c{place}" for place in range(len(columns))]
        values = [assigned((f"given.{name}",), column) for name, column in zip(names, columns, strict=True)]
        pieces = ["SELECT ", *listed(values), " FROM (", *query, f") AS given ({', '.join(names)})"]
        return self._made(pieces, self._types_of(columns))

    def values(self, plan: InsertPlan) -> Text:
        """The rows of VALUES; a DEFAULT among them is NULL, which nobody looks at.

        One row of each shape is read. Where nothing is replaced in it, nothing is in the others. One row alone is a
        SELECT: a function in it may give many.
        """
        query, clauses, types = self.written.query_of_table(), self.written.clauses, self._types_of(plan.columns)
        if query:
            return self._cast(query, plan.columns)
        rows, first = list[Pieces](), dict[tuple[Any, ...], Pieces]()
        for row in self.rows_of_values():
            words = [("NULL",) if span is None else (clauses.slice(*span),) for span in row]
            values = [assigned(value, column) for value, column in zip(words, plan.columns, strict=True)]
            rows.append(("(", *listed(values), ")"))
            if len(self.node.select_stmt.select_stmt.values_lists) == 1:
                return self._made(["SELECT ", *listed(values)], types)
            first.setdefault(tuple(span and clauses.shape(span) for span in row), rows[-1])
        if len(first) < len(rows):
            text = self._made(["VALUES ", *listed(list(first.values()))], types)
            if not text.place.template.replacements:
                whole = assembled(self.statement, (*self.before, "VALUES ", *listed(rows)))
                template = replace(text.place.template, original=whole.text, text=whole.text)
                return replace(text, place=replace(text.place, template=template, origin=whole.origin))
        return self._made(["VALUES ", *listed(rows)], types)

    # -- rows that the node has -----------------------------------------------------------------------------------

    def returned(self, returning: Returning) -> Text:
        written, alias, columns = self.written, self.written.alias, self.descriptor.public_columns
        named = [column for column in columns if column.id in returning.own] or [columns[0]]
        given = [Given.of(alias, column) for column in named]
        given += returning.beside
        items: list[Pieces] = []
        for words, star in zip(written.shown(), returning.stars, strict=True):
            if star is None:
                items.append(tuple(written.with_action(*words)))
            else:
                items += [(f"{quoted(relation_)}.{quoted(name)}",) for relation_, name in star]
        names = dict.fromkeys(one.relation for one in given)
        tables = [(parameters(given, self.first),), *((relation(given, name),) for name in names)]
        types = returning.columns.types
        values = [shown(item, of) for item, of in zip(items, types, strict=True)]
        pieces = ["SELECT ", *listed(values), " FROM ", *listed(tables), f" ORDER BY {ROWS}.{NUMBER}"]
        return replace(self._made(pieces, types, given), is_shown=True)

    def kept(self) -> Text:
        """WHERE of COPY FROM, behind a mark."""
        return self._made(["SELECT FROM ", self.table, WHERE, *self.written.condition()[1:]], ())

    def conflicting(self, conflict: Conflict) -> Text:
        """A test of whether a row in the way is changed, and the values that it gets: of both rows."""
        assert conflict.assignments is not None
        alias, columns, clause = self.written.alias, tuple(conflict.assignments), self.node.on_conflict_clause
        set_to, where = self.set_by_conflict()
        given_to = self._assigned(conflict.assignments, set_to)
        values, parts = given_to.values, given_to.parts
        test: Pieces = ("true",) if not where else ("(", *where[1:], " IS TRUE")
        public = self.descriptor.public_columns
        nodes, names = [*clause.target_list, clause.where_clause], [column.name for column in public]
        used, proposed = (named_in(nodes, relation_, names) for relation_ in (alias, EXCLUDED))
        given = [Given.of(alias, c) for c in public if c.name in used or c is public[0]]
        given += [Given.of(EXCLUDED, c, ColumnId(-c.id)) for c in public if c.name in proposed]
        given_values = [("CASE WHEN ", IS_DONE, " THEN ", *value, " END") for value in (*values, *parts)]
        items: list[Pieces] = [(IS_DONE,), *given_values]
        tables = [
            (parameters(given, self.first),),
            (relation(given, alias),),
            *([(relation(given, EXCLUDED),)] if proposed else []),
            ("LATERAL (SELECT ", *test, f" AS {DONE} OFFSET 0) AS {DONE}"),
        ]
        pieces = ["SELECT ", *listed(items), " FROM ", *listed(tables)]
        types = [BOOL, *self._types(columns), *given_to.types]
        made = self._made([*pieces, f" ORDER BY {ROWS}.{NUMBER}"], types, given)
        return replace(made, made=given_to.made)

    # -- MERGE ----------------------------------------------------------------------------------------------------

    def merged(self, plan: MergePlan) -> Text:
        """For each row: the number of the act, the key, the values of all acts, what RETURNING wants of the source."""
        source, on = self.source_of_merge()
        branches, values, types, kinds = list[Pieces](), list[Pieces](), list[Type](), set[int]()
        number = 0
        for when in self.branches():
            kind, condition = when.node.match_kind, tuple[Piece, ...]()
            if when.condition is not None:
                condition = (" AND ", *self._seen(when.node.condition, kind, when.condition, plan))
            branches.append((f" WHEN {MATCHES[kind]}", *condition, f" THEN {number if when.acts else 'NULL'}"))
            if not when.acts:
                continue
            kinds.add(kind)
            names = [item.res_target.name for item in when.node.target_list]
            given = dict(zip(names or [c.name for c in self.descriptor.public_columns], when.values, strict=False))
            for column in map(self.descriptor.column, plan.actions[number].columns):
                value = given[column.name]
                seen = None if value is None else self._seen(when.node, kind, value, plan)
                values.append((f"CASE WHEN {DONE}.{DONE} = {number} THEN ", *self._value(column, seen), " END"))
                types.append(OF_SQL_TYPE[column.type])
            number += 1
        beside = () if plan.returning is None else plan.returning.beside
        others = [one for one in beside if one.relation != ACTIONS]
        items = [(f"{DONE}.{DONE}",), *self._keys(), *values, *_named(others)]
        marked: Pieces = ("(", *source, f" CROSS JOIN (SELECT true AS {THERE}) AS {THERE})")
        tables = self._joined(marked, kinds)
        pieces: list[Piece] = [
            "SELECT ",
            *listed(items),
            " FROM ",
            *tables,
            " ON (",
            self.written.clauses.slice(*on),
            ")",
        ]
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
        made = self._made(pieces, [INT4, *self._key_types, *types, *self._types_of(others)])
        if not plan.looked_up:
            return made
        condition, wanted = self.node.join_condition, dict(plan.looked_up)
        return replace(made, keys=self._keys_read(source, on, condition, wanted, filters=False))

    def _joined(self, source: Pieces, kinds: set[int]) -> Pieces:
        """Both sides, with the rows of one that the other has not, as far as a WHEN is about them."""
        if pb.MERGE_WHEN_NOT_MATCHED_BY_SOURCE in kinds:
            is_full = pb.MERGE_WHEN_NOT_MATCHED_BY_TARGET in kinds
            return (self.table, " FULL JOIN " if is_full else " LEFT JOIN ", *source)
        is_left = pb.MERGE_WHEN_NOT_MATCHED_BY_TARGET in kinds
        return (*source, " LEFT JOIN " if is_left else " JOIN ", self.table)

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

    def default_expression(self, column: Column) -> Text:
        return self._made(["SELECT ", *self._value(column, None)], [OF_SQL_TYPE[column.type]])


@dataclass(frozen=True, slots=True)
class _Assigned:
    values: list[Pieces]
    parts: list[Pieces]
    types: list[Type]
    made: dict[int, Expr]


def part_of(column: Column, part: PartOfArray) -> Column:
    """The column that a part of an array would be by itself: an array for a slice, else an element."""
    return column if part.is_slice else replace(column, type=column.type.element or column.type)


SLOT = -1_000_000
"""As columns of a row, the parts of arrays that PostgreSQL computes have numbers from this one downwards."""
PART_NAME = "\x02part"
PART = quoted(PART_NAME)
EXCLUDED = "excluded"
WHERE = " /*\x02*/ WHERE ("
"""A WHERE that no words of a user's are like."""
DONE, HERE, THERE = '"\x02done"', '"\x02here"', '"\x02there"'
IS_DONE = f"{DONE}.{DONE}"
MATCHES = {
    pb.MERGE_WHEN_MATCHED: f"{HERE}.{HERE} AND {HERE}.{THERE}",
    pb.MERGE_WHEN_NOT_MATCHED_BY_SOURCE: f"{HERE}.{HERE} AND NOT {HERE}.{THERE}",
    pb.MERGE_WHEN_NOT_MATCHED_BY_TARGET: f"{HERE}.{THERE} AND NOT {HERE}.{HERE}",
}


def _named(columns: Sequence[Given]) -> list[Pieces]:
    return [(f"{quoted(one.relation)}.{quoted(one.name)}",) for one in columns]


@dataclass(frozen=True, slots=True)
class SeveralTexts:
    parts: "tuple[Texts, ...]"
    main: "Texts"

    @property
    def is_of_session(self) -> bool:
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
        found = (self.rows, self.returned, self.conflicting, self.kept, *self.defaults.values())
        return any(text is not None and text.place.is_of_session for text in found)


NO_TEXTS = Texts()


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
    return Queries(reading, statement.text, statement.start, node, plan.descriptor, within, first)


def several_texts(statement: Statement, plan: SeveralPlan, reading: Reading, first: int) -> SeveralTexts:
    parts = Parts(statement, reading.clauses(statement.text, statement.start))
    texts, left = list[Texts](), iter(plan.parts)
    for cte, which, within in parts:
        part, node = next(left), getattr(cte.ctequery, which)
        texts.append(_texts(_queries(statement, node, part.plan, reading, first, within), part.plan))
        if part.outputs:
            given = of_part(part)
            values = ", ".join(f"{PART}.{quoted(one.name)}" for one in given)
            rows = f"SELECT {values} FROM {parameters(given, first)}, {relation(given, PART_NAME)} ORDER BY {NUMBER}"
            parts.returned(cte, part, rows)
            first += len(given)
    if isinstance(plan.main, QueryPlan):
        outputs, behind = plan.main.outputs, parts.main
        names = ", ".join(f"c{place}" for place in range(len(outputs)))
        selected = listed([shown((f"given.c{place}",), output.type) for place, output in enumerate(outputs)])
        query = behind.clauses.slice(parts.first, behind.end)
        pieces: Pieces = ("SELECT ", *selected, " FROM (", *behind.before, query, f") AS given ({names})")
        place = reading.place(assembled(statement.text, pieces), statement.start)
        types = tuple(output.type for output in outputs)
        main = Texts(Text(place, types, (), behind.names, is_shown=True))
    else:
        main = _texts(_queries(statement, statement.node, plan.main, reading, first, parts.main), plan.main)
    return SeveralTexts(tuple(texts), main)


def of_part(part: Part) -> list[Given]:
    found = []
    for place, output in enumerate(part.outputs):
        assert output.type.sql_type is not None
        found.append(Given(PART_NAME, f"c{place}", output.type.sql_type, ColumnId(place)))
    return found


def _texts(queries: Queries, plan: WritingPlan) -> Texts:
    rows = conflicting = kept = None
    defaults: dict[ColumnId, Text] = {}
    match plan:
        case InsertPlan():
            if plan.source is not None:
                rows = queries.source(plan)
            elif not plan.is_local and plan.copy is None:
                rows = queries.values(plan)
            if plan.copy is not None and plan.copy.has_where:
                kept = queries.kept()
            if plan.conflict is not None and plan.conflict.assignments is not None:
                is_known = plan.conflict.where is None and are_plain(plan.conflict.assignments.values())
                conflicting = None if is_known else queries.conflicting(plan.conflict)
        case ChangePlan():
            rows = None if is_by_key(plan) else queries.changed(plan)
        case MergePlan():
            rows = queries.merged(plan)
    if isinstance(plan, InsertPlan | MergePlan):
        columns = [plan.descriptor.column(c) for c, default in plan.defaults.items() if not is_simple(default)]
        defaults = {column.id: queries.default(column) for column in columns}
    if isinstance(plan, InsertPlan) and plan.copy is not None:
        given = [column for column in plan.descriptor.public_columns if column.default is not None]
        defaults |= {column.id: queries.default_expression(column) for column in given}
    is_asked = plan.returning is not None and plan.returning.plain is None
    returned = queries.returned(plan.returning) if is_asked and plan.returning is not None else None
    return Texts(rows, returned, conflicting, kept, defaults)


def with_scans(plan: QueryPlan | WritingPlan | SeveralPlan, texts: Texts | SeveralTexts) -> Any:
    """The plan, with the uses of tables in its queries."""
    if isinstance(plan, SeveralPlan):
        assert isinstance(texts, SeveralTexts)
        parts = [
            replace(one, plan=with_scans(one.plan, asks)) for one, asks in zip(plan.parts, texts.parts, strict=True)
        ]
        return replace(plan, parts=tuple(parts), main=with_scans(plan.main, texts.main))
    assert isinstance(texts, Texts)
    if texts.rows is None or (isinstance(plan, InsertPlan) and plan.source is None):
        return plan
    uses = texts.rows.place.uses
    scans = tuple(use.scan for use in uses)
    if isinstance(plan, InsertPlan):
        return replace(plan, source=QueryPlan(scans, (), Columns()))
    if isinstance(plan, QueryPlan):
        return replace(plan, scans=scans)
    return replace(plan, scan=next(use.scan for use in uses if use.is_written), scans=scans)


def is_by_key(plan: ChangePlan) -> bool:
    """True if one row is named by its key, and the node can compute what is asked of it."""
    exprs = plan.assignments.values() if isinstance(plan, UpdatePlan) else ()
    is_local = plan.where is not None and is_simple(plan.where) and all(map(is_simple, exprs))
    return plan.scan.pinned_key is not None and not plan.is_joined and is_local


def are_plain(exprs: Iterable[Expr]) -> bool:
    """True if nothing is computed: columns, constants and parameters."""
    return all(isinstance(expr, ColumnRef | Literal | Parameter) for expr in exprs)
