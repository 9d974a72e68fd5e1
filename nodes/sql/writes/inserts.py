"""INSERT, from its parse tree to a plan."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from catalog.descriptor import Descriptor
from catalog.elements import Column, Index
from expressions.analysis.scopes import Relation, Scope
from expressions.errors import DUPLICATE_COLUMN, INVALID_COLUMN_REFERENCE, SYNTAX_ERROR, SqlError, unsupported
from expressions.functions import allowed
from expressions.rows import compiled, is_local
from expressions.sqltypes import OF_SQL_TYPE
from expressions.typed import ColumnRef, Context, Expr, Parameter, is_simple, walk
from nodes.sql.conditions.implication import is_implied
from nodes.sql.conditions.predicates import conjuncts
from nodes.sql.plans import Conflict, InsertPlan, QueryPlan
from nodes.sql.queries.query import Parts, Query
from nodes.sql.statements import functions_in
from nodes.sql.writes.assignments import Assignments, is_default
from nodes.sql.writes.identity import overridden
from nodes.sql.writes.row_rules import rules_of
from nodes.wire.columns import Columns

Node = Any

EXCLUDED = 999_999
"""The relation number of `excluded` in ON CONFLICT."""


class Inserts(Assignments):
    """Makes the plan of an INSERT."""

    def insert(self, node: Node) -> InsertPlan:
        if self.source is not None:
            return self._insert(node, ())
        with self.selects.queries_before(node) as before:
            return self._insert(node, before)

    def _insert(self, node: Node, before: Parts) -> InsertPlan:
        descriptor = self.written(node.relation, "insert into")
        columns = self.listed_columns(node.cols, descriptor)
        rows: list[tuple[Expr | None, ...]] = []
        source, given = None, _query_of(node.select_stmt.select_stmt)
        if not node.HasField("select_stmt"):
            rows, columns = [()], ()
        elif len(given.values_lists) and not given.HasField("with_clause"):
            rows = [self.given_row(item.list.items, columns, node.cols, Scope()) for item in given.values_lists]
            if len({len(row) for row in rows}) > 1:
                raise SqlError(SYNTAX_ERROR, "VALUES lists must all be the same length")
            columns = columns[: len(rows[0])]
        else:
            source, columns = self._insert_source(node, given, columns, before)
        rows = overridden(node, columns, rows, has_source=source is not None)
        scan, scope = self._target(node, descriptor)
        conflict = self._conflict(node, descriptor, scope) if node.HasField("on_conflict_clause") else None
        defaults, rules, returning = self.defaults(descriptor), rules_of(descriptor), self._returning(node, scope)
        is_local = all(e is None or is_simple(e) for row in rows for e in row)
        return InsertPlan(
            descriptor,
            columns,
            tuple(rows),
            source,
            defaults,
            rules,
            conflict,
            returning,
            scan,
            None,
            is_local,
        )

    def listed_columns(self, listed: Sequence[Node], descriptor: Descriptor) -> tuple[Column, ...]:
        """The columns that an INSERT gives values: those that it lists, or all."""
        if not len(listed):
            return descriptor.public_columns
        columns = []
        for item in listed:
            if len(item.res_target.indirection):
                raise unsupported("a part of a column", item.res_target.location)
            column = self.column(descriptor, item.res_target.name, item.res_target.location)
            if column in columns:
                raise SqlError(
                    DUPLICATE_COLUMN, f'column "{column.name}" specified more than once', item.res_target.location
                )
            columns.append(column)
        return tuple(columns)

    def given_row(
        self, items: Sequence[Node], columns: Sequence[Column], listed: Sequence[Node], scope: Scope
    ) -> tuple[Expr | None, ...]:
        """The values of one row of VALUES, for the first of these columns; None where it says DEFAULT."""
        if len(items) > len(columns):
            place = _place(items[len(columns)])
            raise SqlError(SYNTAX_ERROR, "INSERT has more expressions than target columns", place)
        if len(items) < len(columns) and len(listed):
            place = listed[len(items)].res_target.location
            raise SqlError(SYNTAX_ERROR, "INSERT has more target columns than expressions", place)
        return tuple(
            self._assigned(item, column, scope, "VALUES") for item, column in zip(items, columns, strict=False)
        )

    def _insert_source(
        self, node: Node, given: Node, columns: tuple[Column, ...], before: Parts
    ) -> tuple[QueryPlan, tuple[Column, ...]]:
        if self.source is not None:
            places = _places(given, len(self.source.types))
            columns = _filled(node, columns, places)
            for column, of, place in zip(columns, self.source.types, places, strict=True):
                if of is not None:
                    self._refuse_type(column, of, place)
            return QueryPlan(self.source.scans, (), Columns()), columns
        query = self.selects.query(given, loose=True)
        places = _places(given, len(query.outputs))
        columns = _filled(node, columns, places)
        query = query.settled([OF_SQL_TYPE[c.type] for c in columns], self.analyzer.coerce)
        for column, output, place in zip(columns, query.outputs, places, strict=True):
            self._refuse_type(column, output.type, place)
        if before:
            shown = ", ".join(f"s.o{place}" for place in range(len(columns)))
            query = Query((*before, f"SELECT {shown} FROM (", *query.parts, ") AS s"), query.outputs)
        return QueryPlan(tuple(self.analyzer.scans), query.outputs, Columns()), columns

    def _conflict(self, node: Node, descriptor: Descriptor, target: Scope) -> Conflict:
        clause = node.on_conflict_clause
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
        assignments = self._assignments(clause.target_list, descriptor, scope)
        has_where = clause.HasField("where_clause")
        where = self.analyzer.condition(clause.where_clause, scope, "WHERE") if has_where else None
        return Conflict(is_primary, index, assignments, where)

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
        ids = {self.column(descriptor, name, clause.infer.location).id for name in names}
        if ids == set(descriptor.primary_key):
            return True, None
        conditions = self._arbiter_conditions(clause.infer, descriptor, target)
        for index in sorted(descriptor.public_indexes, key=lambda i: i.where is not None):
            if index.unique and set(index.column_ids) == ids and _arbitrates(descriptor, index, conditions):
                return False, index
        message = "there is no unique or exclusion constraint matching the ON CONFLICT specification"
        raise SqlError(INVALID_COLUMN_REFERENCE, message)

    def _arbiter_conditions(self, infer: Node, descriptor: Descriptor, target: Scope) -> list[Expr]:
        """The conditions of ON CONFLICT (..) WHERE on the rows it is about."""
        if not infer.HasField("where_clause"):
            return []
        scope = Scope(None, [replace(target.relations[0], name=descriptor.name)])
        found = conjuncts(self.analyzer.condition(infer.where_clause, scope, "WHERE"))
        return [c for c in found if not any(isinstance(part, Parameter) for part in walk(c))]


def _filled(node: Node, columns: tuple[Column, ...], places: Sequence[int]) -> tuple[Column, ...]:
    """The columns that a query fills whose own stand at these places. Raises 42601 for too many or too few."""
    count = len(places)
    if count > len(columns):
        raise SqlError(SYNTAX_ERROR, "INSERT has more expressions than target columns", places[len(columns)])
    if count < len(columns) and len(node.cols):
        place = node.cols[count].res_target.location
        raise SqlError(SYNTAX_ERROR, "INSERT has more target columns than expressions", place)
    return columns[:count]


def _places(query: Node, count: int) -> list[int]:
    """Where the expressions of a query's columns stand; -1 for each where one item is several, or there are queries."""
    items = [] if query.HasField("larg") else query.target_list
    return [_place(item.res_target.val) for item in items] if len(items) == count else [-1] * count


def _arbitrates(descriptor: Descriptor, index: Index, conditions: Sequence[Expr]) -> bool:
    """True if a unique index decides about all rows that ON CONFLICT is about."""
    if index.where is None:
        return True
    if not is_local(descriptor, index.where):
        return False
    return is_implied(descriptor, compiled(descriptor, index.where), conditions, Context())


def _query_of(given: Node) -> Node:
    """The query of an INSERT. One row of VALUES with a function that gives rows is a SELECT of its values."""
    if len(given.values_lists) != 1 or given.HasField("with_clause") or not allowed.SETS.keys() & functions_in(given):
        return given
    items = given.values_lists[0].list.items
    if any(is_default(item) for item in items):
        return given
    query = type(given)()
    for item in items:
        query.target_list.add().res_target.val.CopyFrom(item)
    return query


def _place(node: Node) -> int:
    kind = node.WhichOneof("node")
    return int(getattr(getattr(node, kind), "location", -1)) if kind else -1
