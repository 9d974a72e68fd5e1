"""INSERT, from its parse tree to a plan."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from postgast import pg_query_pb2 as pb

from catalog.descriptor import Descriptor
from catalog.elements import Column, Index
from expressions.analysis.scopes import Relation, Scope
from expressions.errors import INVALID_COLUMN_REFERENCE, SYNTAX_ERROR, SqlError, unsupported
from expressions.rows import compiled, is_local
from expressions.sqltypes import OF_SQL_TYPE
from expressions.typed import ColumnRef, Context, Expr, Literal, Parameter, walk
from nodes.sql.column_names import star_of
from nodes.sql.conditions.implication import is_implied
from nodes.sql.conditions.predicates import conjuncts
from nodes.sql.plans import Conflict, InsertPlan, QueryPlan
from nodes.sql.statements import first_query
from nodes.sql.writes.assignments import ASKED, Assignments, check_parts, column_named, is_default
from nodes.sql.writes.row_rules import rules_of
from nodes.sql.writes.source_text import SourceText
from nodes.wire.columns import Columns

Node = Any
Rows = list[tuple[Expr | None, ...]]

EXCLUDED = 999_999
"""The relation number of `excluded` in ON CONFLICT."""


class Inserts(Assignments):
    def insert(self, node: Node) -> InsertPlan:
        descriptor = self.written(node.relation, "insert into")
        columns = self.listed_columns(node.cols, descriptor)
        given = node.select_stmt.select_stmt
        is_query = node.HasField("select_stmt") and (not len(given.values_lists) or given.HasField("with_clause"))
        items = [] if is_query else [list(item.list.items) for item in given.values_lists]
        if not node.HasField("select_stmt"):
            items, columns = [[]], ()
        if is_query and _overrides(node, "USER") and any(column.identity for column in columns):
            raise unsupported("OVERRIDING USER VALUE of a query", hint="leave the identity column out")
        returns, (scan, _) = node.HasField("returning_clause"), self.scope(node, descriptor)
        plain = self.plain_returning(node, descriptor) if returns else None
        rows, conflict = self._rows(node, items, columns), self._conflict(node, descriptor)
        is_known = not is_query and _are_known(rows, conflict)
        source, returning, text = None, plain, self.source_text(node, descriptor)
        if not is_known or (returns and plain is None):
            self.judged(text.written.query_of_table())
            returning = self.returning(node, descriptor, text)
            rows, conflict = self._rows(node, items, columns), self._conflict(node, descriptor)
            if conflict is not None and conflict.assignments is not None:
                targets = node.on_conflict_clause.target_list
                check_parts(targets, self.set_columns(targets, descriptor))
        else:
            self.settle()
        if is_query:
            source, columns = QueryPlan((), (), Columns()), columns[: self._count_of(node, text)]
        elif items:
            columns = columns[: len(items[0])]
        rows = overridden(node, columns, rows)
        defaults, rules = self.defaults(descriptor), rules_of(descriptor)
        is_local = not is_query and _are_known(rows, None)
        return InsertPlan(
            descriptor, columns, tuple(rows), source, defaults, rules, conflict, returning, scan, None, is_local
        )

    def _count_of(self, node: Node, text: SourceText) -> int | None:
        """The number of columns that an INSERT's query gives; None for all that are listed."""
        first = first_query(node.select_stmt.select_stmt)
        if len(node.cols):
            return None
        if text.written.verb < 0:
            return len(self.judged().columns)
        if len(first.values_lists):
            return len(first.values_lists[0].list.items)
        if all(star_of(item.res_target.val) is None for item in first.target_list):
            return len(first.target_list)
        return len(self.described((*text.before, "SELECT * FROM (", *text.query_of_source(), ") AS given")).columns)

    def _rows(self, node: Node, items: Sequence[Sequence[Node]], columns: Sequence[Column]) -> Rows:
        """Rows of VALUES; None where one says DEFAULT. Of what is not understood, or is wrong, PostgreSQL is asked."""
        found: Rows = []
        is_twice = len(set(columns)) < len(columns)
        always = [] if _overrides(node, "USER", "SYSTEM") else [n for n, c in enumerate(columns) if c.identity_always]
        for row in items:
            values = zip(row, columns, strict=False)
            one = tuple(None if is_default(n) else self.local(n, c, Scope()) for n, c in values)
            are_even = len(row) == len(items[0]) <= len(columns) and (len(row) == len(columns) or not len(node.cols))
            is_given = any(one[place] is not None for place in always if place < len(one))
            if is_twice or is_given or not are_even or any(value is ASKED for value in one):
                return [tuple(None if is_default(node) else ASKED for node in row) for row in items]
            found.append(one)
        return found

    def listed_columns(self, listed: Sequence[Node], descriptor: Descriptor) -> tuple[Column, ...]:
        if not len(listed):
            return descriptor.public_columns
        columns = []
        for item in listed:
            if len(item.res_target.indirection):
                raise unsupported("a part of a column", item.res_target.location)
            columns.append(column_named(descriptor, item.res_target.name, item.res_target.location))
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
        if not names <= {column.name for column in descriptor.public_columns}:  # a mistake, or an expression
            self.judged()
        ids = set() if "" in names else {column_named(descriptor, name, clause.infer.location).id for name in names}
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


def _are_known(rows: Rows, conflict: Conflict | None) -> bool:
    """True if all that is given is understood here."""
    assigned = {} if conflict is None else conflict.assignments or {}
    return all(value is not ASKED for value in assigned.values()) and all(
        value is not ASKED for row in rows for value in row
    )


def _overrides(node: Node, *kinds: str) -> bool:
    """True for OVERRIDING USER VALUE, or SYSTEM VALUE."""
    return pb.OverridingKind.Name(node.override) in [f"OVERRIDING_{kind}_VALUE" for kind in kinds]


def overridden(node: Node, columns: Sequence[Column], rows: Rows) -> Rows:
    """The rows of an INSERT as its OVERRIDING says: without the numbers that do not count."""
    if not _overrides(node, "USER"):
        return rows
    return [tuple(None if c.identity else e for c, e in zip(columns, row, strict=True)) for row in rows]


def _arbitrates(descriptor: Descriptor, index: Index, conditions: Sequence[Expr]) -> bool:
    """True if a unique index decides about all rows that ON CONFLICT is about."""
    if index.where is None:
        return True
    if not is_local(descriptor, index.where):
        return False
    return is_implied(descriptor, compiled(descriptor, index.where), conditions, Context())
