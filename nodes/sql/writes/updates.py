"""UPDATE and DELETE, from their parse trees to plans.

A plan has names, types and states; what is asked for its rows is made of the statement's text (`row_texts`).
"""

from collections.abc import Sequence
from typing import Any

from catalog.elements import ColumnId
from expressions.analysis.scopes import Scan, Scope
from expressions.errors import DUPLICATE_ALIAS, SqlError
from expressions.typed import Expr, joined
from nodes.sql.conditions.predicates import conjuncts
from nodes.sql.plans import DeletePlan, UpdatePlan
from nodes.sql.queries.from_clause import FromClause, Stars, note_conditions
from nodes.sql.queries.query import Parts
from nodes.sql.writes.assignments import Assignments, with_beside
from nodes.sql.writes.joins import looked_up
from nodes.sql.writes.row_rules import rules_of

Node = Any


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
            is_joined, keys = bool(before or others), self._looked_up(node, scan, where) if others else ()
        scans, rules = tuple(self.analyzer.scans), rules_of(descriptor)
        if returning is not None:
            returning = with_beside(returning, scan, scope.relations)
        return UpdatePlan(descriptor, scan, assignments, where, scans, rules, returning, is_joined, keys)

    def delete(self, node: Node) -> DeletePlan:
        with self.selects.queries_before(node) as before:
            descriptor = self.written(node.relation, "delete from")
            scan, scope = self._target(node, descriptor)
            others, stars = self._others(node.using_clause, scope)
            where = self._where(node, scope, scan, is_joined=bool(before or others))
            returning = self._returning(node, scope, stars)
            is_joined, keys = bool(before or others), self._looked_up(node, scan, where) if others else ()
        if returning is not None:
            returning = with_beside(returning, scan, scope.relations)
        scans = tuple(self.analyzer.scans)
        return DeletePlan(descriptor, scan, where, scans, returning, is_joined, keys)

    def _others(self, nodes: Sequence[Node], target: Scope) -> tuple[Parts, Stars]:
        """FROM or USING. Its relations come into the scope; they cannot see the table that is written."""
        scope, tables = Scope(None), FromClause(self.selects)
        items = [tables.item(node, scope) for node in nodes]
        name = target.relations[0].name
        if any(relation.name == name for relation in scope.relations):
            raise SqlError(DUPLICATE_ALIAS, f'table name "{name}" specified more than once')
        target.relations += scope.relations
        target.merged += scope.merged
        return tuple(joined(parts for parts, _ in items)), [star for _, stars in items for star in stars]

    def _looked_up(self, node: Node, scan: Scan, where: Expr | None) -> tuple[ColumnId, ...]:
        return () if where is None else looked_up(node, self.views, scan, conjuncts(where))

    def _where(self, node: Node, scope: Scope, scan: Scan, *, is_joined: bool) -> Expr | None:
        if not node.HasField("where_clause"):
            return None
        where = self.analyzer.condition(node.where_clause, scope, "WHERE")
        if is_joined:
            note_conditions(where, scope)
        else:
            scan.conditions += conjuncts(where)
        return where
