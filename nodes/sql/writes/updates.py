"""UPDATE and DELETE, from their parse trees to plans.

    UPDATE t SET a = b + 1 WHERE c = 2            the rows of one table: each is looked at by itself
    UPDATE t SET a = u.b FROM u WHERE t.c = u.c   a query of the engine finds their keys and new values

A query it is also after WITH, and where RETURNING asks a subquery: that sees the tables as they were before.
"""

from collections.abc import Sequence
from typing import Any

from catalog.elements import ColumnId
from expressions.analysis.scopes import Relation, Scan, Scope, reference
from expressions.errors import DUPLICATE_ALIAS, SqlError
from expressions.typed import ColumnRef, Expr, has_query_text, joined, replaced
from nodes.sql.conditions.predicates import conjuncts
from nodes.sql.plans import DeletePlan, Join, Returning, UpdatePlan
from nodes.sql.queries.from_clause import FromClause, Stars, note_conditions
from nodes.sql.queries.query import Output, Parts
from nodes.sql.writes.assignments import Assignments
from nodes.sql.writes.row_rules import rules_of

Node = Any
JOINED = "j"
"""The engine's name for the rows that a statement changes, joined with those of other tables."""


class Updates(Assignments):
    """Makes the plan of an UPDATE or a DELETE."""

    def update(self, node: Node) -> UpdatePlan:
        with self.selects.queries_before(node) as before:
            descriptor = self.written(node.relation, "update")
            scan, scope = self._target(node, descriptor)
            others, stars = self._others(node.from_clause, scope)
            assignments = self._assignments(node.target_list, descriptor, scope)
            where = self._where(node, scope, scan, is_joined=bool(before or others))
            returning = self._returning(node, scope, stars)
            join = self._join(scan, scope, before, others, where, assignments, returning)
        scans = tuple(self.analyzer.scans)
        return UpdatePlan(descriptor, scan, assignments, where, scans, rules_of(descriptor), returning, join)

    def delete(self, node: Node) -> DeletePlan:
        with self.selects.queries_before(node) as before:
            descriptor = self.written(node.relation, "delete from")
            scan, scope = self._target(node, descriptor)
            others, stars = self._others(node.using_clause, scope)
            where = self._where(node, scope, scan, is_joined=bool(before or others))
            returning = self._returning(node, scope, stars)
            join = self._join(scan, scope, before, others, where, {}, returning)
        return DeletePlan(descriptor, scan, where, tuple(self.analyzer.scans), returning, join)

    def _others(self, nodes: Sequence[Node], target: Scope) -> tuple[Parts, Stars]:
        """FROM or USING. Its relations come into the scope; they cannot see the table that is written."""
        scope, tables = Scope(None), FromClause(self.selects)
        items = [tables.item(node, scope) for node in nodes]
        name = target.relations[0].name
        if any(relation.name == name for relation in scope.relations):
            raise SqlError(DUPLICATE_ALIAS, f'table name "{name}" specified more than once')
        target.relations += scope.relations
        target.merged |= scope.merged
        return tuple(joined(parts for parts, _ in items)), [star for _, stars in items for star in stars]

    def _where(self, node: Node, scope: Scope, scan: Scan, *, is_joined: bool) -> Expr | None:
        if not node.HasField("where_clause"):
            return None
        where = self.analyzer.condition(node.where_clause, scope, "WHERE")
        if is_joined:
            note_conditions(where, scope)
        else:
            scan.conditions += conjuncts(where)
        return where

    def _join(
        self,
        scan: Scan,
        scope: Scope,
        before: Parts,
        others: Parts,
        where: Expr | None,
        assignments: dict[ColumnId, Expr],
        returning: Returning | None,
    ) -> Join | None:
        """The query that finds the rows; None where each row can be looked at by itself."""
        shown = () if returning is None else returning.targets
        if not (before or others or any(map(has_query_text, shown))):
            return None
        scan.used.update(scan.descriptor.primary_key)
        rows = _Rows(scan, scope.relations)
        answers = [rows.seen(expr, assignments) for expr in shown]
        inner = [(expr, f" AS {name}") for name, expr in rows.columns(assignments)]
        keys = [f"{JOINED}.{_own(c.id)}" for c in scan.descriptor.key_columns]
        values = [f"{JOINED}.{_new(c)}" for c in assignments]
        found: list[Parts] = [*((name,) for name in (*keys, *values)), *((answer,) for answer in answers)]
        outer: Parts = tuple(joined((*part, f" AS o{place}") for place, part in enumerate(found)))
        tables: Parts = (scan.sql, ", ", *others) if others else (scan.sql,)
        parts: list[str | Expr] = [*before, "SELECT ", *outer, " FROM (SELECT ", *joined(inner), " FROM ", *tables]
        parts += [" WHERE ", where] if where is not None else []
        key_types = [Output("", reference(scan, column).type) for column in scan.descriptor.key_columns]
        outputs = [*key_types, *(Output("", expr.type) for expr in (*assignments.values(), *answers))]
        return Join((*parts, f") AS {JOINED}"), tuple(outputs))


class _Rows:
    """The columns of the joined rows, as many as RETURNING names: those of the table that is written, and of others."""

    def __init__(self, scan: Scan, relations: Sequence[Relation]) -> None:
        self.scan = scan
        self.relations = {r.scan.number if r.scan else r.number for r in relations}
        self.others: dict[ColumnRef, str] = {}

    def seen(self, expr: Expr, assignments: dict[ColumnId, Expr]) -> Expr:
        """An expression of RETURNING over the joined rows: columns of the table have their new values."""

        def column(ref: ColumnRef) -> Expr:
            if ref.relation == self.scan.number:
                name = _new(ref.column_id) if ref.column_id in assignments else _own(ref.column_id)
            elif ref.relation in self.relations:
                name = self.others.setdefault(ref, f"x{len(self.others)}")
            else:
                return ref
            return ColumnRef(f"{JOINED}.{name}", ref.type, ref.name, modifier=ref.modifier)

        return replaced(expr, column)

    def columns(self, assignments: dict[ColumnId, Expr]) -> list[tuple[str, Expr]]:
        own: list[tuple[str, Expr]] = [
            (_own(c.id), reference(self.scan, c)) for c in self.scan.descriptor.columns if c.id in self.scan.used
        ]
        own += [(_new(column_id), expr) for column_id, expr in assignments.items()]
        return own + [(name, ref) for ref, name in self.others.items()]


def _own(column_id: int) -> str:
    return f"c{column_id}"


def _new(column_id: int) -> str:
    return f"a{column_id}"
