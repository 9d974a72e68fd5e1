"""INSERT, from its parse tree to a plan."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from catalog.descriptor import Descriptor
from catalog.elements import Column, Index
from expressions.analysis.scopes import Relation, Scope
from expressions.errors import DUPLICATE_COLUMN, INVALID_COLUMN_REFERENCE, SYNTAX_ERROR, SqlError, unsupported
from expressions.rows import compiled, is_local
from expressions.sqltypes import OF_SQL_TYPE
from expressions.typed import ColumnRef, Context, Expr, Literal, Parameter, walk
from nodes.sql.conditions.implication import is_implied
from nodes.sql.conditions.predicates import conjuncts
from nodes.sql.plans import Conflict, InsertPlan, QueryPlan
from nodes.sql.statements import functions_in
from nodes.sql.writes.assignments import ASKED, Assignments, column_named, is_default
from nodes.sql.writes.identity import overridden
from nodes.sql.writes.pieces import Pieces
from nodes.sql.writes.questions import Questions, place_of, refuse_type
from nodes.sql.writes.row_rules import rules_of
from nodes.wire.columns import Columns

Node = Any
Rows = list[tuple[Expr | None, ...]]

EXCLUDED = 999_999
"""The relation number of `excluded` in ON CONFLICT."""
OF_ROWS = frozenset({
    "unnest", "generate_subscripts", "generate_series", "string_to_table", "regexp_split_to_table", "regexp_matches",
    "json_array_elements", "json_array_elements_text", "json_object_keys", "jsonb_array_elements",
    "jsonb_array_elements_text", "jsonb_object_keys",
})  # fmt: skip
"""Functions that give rows: one row of VALUES with one of them is a query."""


class Inserts(Assignments):
    def insert(self, node: Node) -> InsertPlan:
        descriptor = self.written(node.relation, "insert into")
        columns = self.listed_columns(node.cols, descriptor)
        given = _query_of(node.select_stmt.select_stmt)
        is_query = node.HasField("select_stmt") and (not len(given.values_lists) or given.HasField("with_clause"))
        items = [] if is_query else [list(item.list.items) for item in given.values_lists]
        if items:
            columns = counted(items, columns, node.cols)
        if not node.HasField("select_stmt"):
            items, columns = [[]], ()
        returns = node.HasField("returning_clause")
        plain = self.plain_returning(node, descriptor) if returns else None
        rows, conflict = self._rows(items, columns), self._conflict(node, descriptor)
        scan, _ = self.scope(node, descriptor)
        defaults, rules = self.defaults(descriptor), rules_of(descriptor)
        is_known = not is_query and all(e is not ASKED for row in rows for e in row) and not _asks(conflict)
        if is_known and (plain is not None or not returns):
            self.settle()
            rows = overridden(node, columns, rows, has_source=False)
            return InsertPlan(
                descriptor, columns, tuple(rows), None, defaults, rules, conflict, plain, scan, None, True
            )
        questions, source = self.questions(node, descriptor), None
        if is_query:
            source, columns = self._source(node, columns, questions)
        elif not is_known:
            self._ask_values(questions, items, columns)
        if conflict is not None and conflict.assignments is not None:
            self._ask_conflict(questions, node, descriptor)
        returning = self.returning(node, descriptor, questions)
        self.begin()
        rows, conflict = self._rows(items, columns), self._conflict(node, descriptor)
        rows = overridden(node, columns, rows, has_source=is_query)
        is_here = not is_query and all(e is not ASKED for row in rows for e in row)
        return InsertPlan(
            descriptor, columns, tuple(rows), source, defaults, rules, conflict, returning, scan, None, is_here
        )

    def _rows(self, items: Sequence[Sequence[Node]], columns: Sequence[Column]) -> Rows:
        """Rows of VALUES; None where one says DEFAULT."""
        found: Rows = []
        for row in items:
            values = zip(row, columns, strict=True)
            found.append(tuple(None if is_default(n) else self.local(n, c, Scope()) for n, c in values))
            if any(value is ASKED for value in found[-1]):
                return [tuple(None if is_default(node) else ASKED for node in row) for row in items]
        return found

    def _ask_values(self, questions: Questions, items: Sequence[Sequence[Node]], columns: Sequence[Column]) -> None:
        """Asks of values that are not constants, one of each shape."""
        asked, clauses = dict[tuple[Any, ...], tuple[Column, Pieces, Node]](), questions.written.clauses
        for row, words in zip(items, questions.rows_of_values(), strict=True):
            for node, span, column in zip(row, words, columns, strict=True):
                if span is None:
                    continue
                is_constant = node.HasField("a_const")
                if is_constant and isinstance(self.local(node, column, Scope()), Literal):
                    continue
                key = (column.id, span if is_constant else clauses.shape(span))
                asked.setdefault(key, (column, (clauses.slice(*span),), node))
        questions.values(list(asked.values()))

    def _source(
        self, node: Node, columns: Sequence[Column], questions: Questions
    ) -> tuple[QueryPlan, tuple[Column, ...]]:
        """The query, whose columns have types that can be assigned."""
        answer, found = questions.source(columns)
        filled = _filled(node, columns, [place for _, place in found])
        for column, (of, place) in zip(filled, found, strict=True):
            refuse_type(column, of, place)
        return QueryPlan(answer.scans, answer.outputs, Columns()), filled

    def _ask_conflict(self, questions: Questions, node: Node, descriptor: Descriptor) -> None:
        targets = node.on_conflict_clause.target_list
        columns = self.set_columns(targets, descriptor)
        values, condition = questions.set_by_conflict()
        given = [(column, value, one) for (column, one), (_, value) in zip(columns, values, strict=True)]
        questions.set_by_conflict_of(given, condition)

    def listed_columns(self, listed: Sequence[Node], descriptor: Descriptor) -> tuple[Column, ...]:
        if not len(listed):
            return descriptor.public_columns
        columns = []
        for item in listed:
            if len(item.res_target.indirection):
                raise unsupported("a part of a column", item.res_target.location)
            column = column_named(descriptor, item.res_target.name, item.res_target.location)
            if column in columns:
                raise SqlError(
                    DUPLICATE_COLUMN, f'column "{column.name}" specified more than once', item.res_target.location
                )
            columns.append(column)
        return tuple(columns)

    def _conflict(self, node: Node, descriptor: Descriptor) -> Conflict | None:
        """ON CONFLICT; what it sets is understood here where that is columns and constants, and all rows get it."""
        if not node.HasField("on_conflict_clause"):
            return None
        clause, (_, target) = node.on_conflict_clause, self.scope(node, descriptor)
        is_primary, index = self._arbiter(clause, descriptor, target)
        if clause.action == 2:  # DO NOTHING
            return Conflict(is_primary, index, None, None)
        if not is_primary and index is None:
            message = "ON CONFLICT DO UPDATE requires inference specification or constraint name"
            raise SqlError(SYNTAX_ERROR, message, clause.location, hint="for example, ON CONFLICT (column_name)")
        proposed: dict[str, Expr] = {
            c.name: ColumnRef(f"x.c{c.id}", OF_SQL_TYPE[c.type], c.name, EXCLUDED, -c.id)
            for c in descriptor.public_columns
        }
        scope = Scope(None, [*target.relations, Relation(EXCLUDED, "excluded", proposed)])
        columns = self.set_columns(clause.target_list, descriptor)
        found = self.local_values(columns, clause.target_list, descriptor, scope)
        is_plain = all(isinstance(value, ColumnRef | Literal | Parameter) for value in found.values())
        if clause.HasField("where_clause") or not is_plain:
            found = dict.fromkeys(found, ASKED)
        return Conflict(is_primary, index, found, ASKED if clause.HasField("where_clause") else None)

    def _arbiter(self, clause: Node, descriptor: Descriptor, target: Scope) -> tuple[bool, Index | None]:
        """The uniqueness that ON CONFLICT means: (the primary key, an index); neither is any."""
        if not clause.HasField("infer"):
            return False, None
        if clause.infer.conname:
            name = clause.infer.conname
            if name == descriptor.key_name and not descriptor.has_hidden_key:
                return True, None
            found = next((i for i in descriptor.public_indexes if i.name == name and i.unique), None)
            if found is None:
                message = f'constraint "{name}" for table "{descriptor.name}" does not exist'
                raise SqlError("42704", message, clause.infer.location)
            return False, found
        names = {item.index_elem.name for item in clause.infer.index_elems}
        ids = {column_named(descriptor, name, clause.infer.location).id for name in names}
        if ids == set(descriptor.primary_key):
            return True, None
        conditions = self._arbiter_conditions(clause.infer, descriptor, target)
        for index in sorted(descriptor.public_indexes, key=lambda i: i.where is not None):
            if index.unique and set(index.column_ids) == ids and _arbitrates(descriptor, index, conditions):
                return False, index
        message = "there is no unique or exclusion constraint matching the ON CONFLICT specification"
        raise SqlError(INVALID_COLUMN_REFERENCE, message)

    def _arbiter_conditions(self, infer: Node, descriptor: Descriptor, target: Scope) -> list[Expr]:
        if not infer.HasField("where_clause"):
            return []
        scope = Scope(None, [replace(target.relations[0], name=descriptor.name)])
        condition = self.local_condition(infer.where_clause, scope)
        found = [] if condition is None else conjuncts(condition)
        return [c for c in found if not any(isinstance(part, Parameter) for part in walk(c))]


def _asks(conflict: Conflict | None) -> bool:
    return conflict is not None and ASKED in (conflict.assignments or {}).values()


def counted(items: Sequence[Sequence[Node]], columns: tuple[Column, ...], listed: Sequence[Node]) -> tuple[Column, ...]:
    """The columns that rows of VALUES fill. Raises 42601 for too many or too few values."""
    if len({len(row) for row in items}) > 1:
        raise SqlError(SYNTAX_ERROR, "VALUES lists must all be the same length")
    count = len(items[0])
    if count > len(columns):
        place = place_of(items[0][len(columns)])
        raise SqlError(SYNTAX_ERROR, "INSERT has more expressions than target columns", place)
    if count < len(columns) and len(listed):
        place = listed[count].res_target.location
        raise SqlError(SYNTAX_ERROR, "INSERT has more target columns than expressions", place)
    return columns[:count]


def _filled(node: Node, columns: Sequence[Column], places: Sequence[int]) -> tuple[Column, ...]:
    """The columns that a query fills whose own stand at these places. Raises 42601 for too many or too few."""
    count = len(places)
    if count > len(columns):
        raise SqlError(SYNTAX_ERROR, "INSERT has more expressions than target columns", places[len(columns)])
    if count < len(columns) and len(node.cols):
        place = node.cols[count].res_target.location
        raise SqlError(SYNTAX_ERROR, "INSERT has more target columns than expressions", place)
    return tuple(columns[:count])


def _arbitrates(descriptor: Descriptor, index: Index, conditions: Sequence[Expr]) -> bool:
    """True if a unique index decides about all rows that ON CONFLICT is about."""
    if index.where is None:
        return True
    if not is_local(descriptor, index.where):
        return False
    return is_implied(descriptor, compiled(descriptor, index.where), conditions, Context())


def _query_of(given: Node) -> Node:
    """The query of an INSERT. One row of VALUES with a function that gives rows is a SELECT of its values."""
    if len(given.values_lists) != 1 or given.HasField("with_clause") or not OF_ROWS & functions_in(given):
        return given
    items = given.values_lists[0].list.items
    if any(is_default(item) for item in items):
        return given
    query = type(given)()
    for item in items:
        query.target_list.add().res_target.val.CopyFrom(item)
    return query
