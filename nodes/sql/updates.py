"""UPDATE and DELETE, from their parse trees to plans."""

from typing import Any

from expressions.errors import unsupported
from expressions.scopes import Scan, Scope
from expressions.typed import Expr
from nodes.sql.assignments import Assignments
from nodes.sql.from_clause import table_of
from nodes.sql.plans import DeletePlan, UpdatePlan
from nodes.sql.predicates import conjuncts
from nodes.sql.row_rules import rules_of

Node = Any


class Updates(Assignments):
    """Makes the plan of an UPDATE or a DELETE."""

    def update(self, node: Node) -> UpdatePlan:
        self._refuse_with(node)
        if len(node.from_clause):
            raise unsupported("UPDATE .. FROM", hint="use a subquery in WHERE or SET")
        descriptor = table_of(self.analyzer, node.relation)
        scan, scope = self._target(node, descriptor)
        assignments = self._assignments(node.target_list, descriptor, scope)
        where, scans = self._where(node, scope, scan), tuple(self.analyzer.scans)
        returning = self._returning(node, scope)
        return UpdatePlan(descriptor, scan, assignments, where, scans, rules_of(descriptor), returning)

    def delete(self, node: Node) -> DeletePlan:
        self._refuse_with(node)
        if len(node.using_clause):
            raise unsupported("DELETE .. USING", hint="use a subquery in WHERE")
        descriptor = table_of(self.analyzer, node.relation)
        scan, scope = self._target(node, descriptor)
        where = self._where(node, scope, scan)
        return DeletePlan(descriptor, scan, where, tuple(self.analyzer.scans), self._returning(node, scope))

    def _where(self, node: Node, scope: Scope, scan: Scan) -> Expr | None:
        if not node.HasField("where_clause"):
            return None
        where = self.analyzer.condition(node.where_clause, scope, "WHERE")
        scan.conditions += conjuncts(where)
        return where
