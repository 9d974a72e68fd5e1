"""UPDATE and DELETE, from their parse trees to plans.

A plan has names, types and states; what is asked for its rows is made of the statement's text (`row_texts`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from catalog.descriptor import Descriptor
from catalog.elements import Column, ColumnId
from expressions.analysis.scopes import Scan
from expressions.errors import unsupported
from expressions.sqltypes import Type
from expressions.typed import Expr
from nodes.sql.conditions.predicates import conjuncts
from nodes.sql.plans import DeletePlan, Returning, UpdatePlan
from nodes.sql.writes.assignments import ASKED, Assignments
from nodes.sql.writes.joins import Condition, conditions_in, is_the_same_again, looked_up
from nodes.sql.writes.questions import Answer
from nodes.sql.writes.row_rules import rules_of

Node = Any


@dataclass(frozen=True, slots=True)
class Change:
    """Rows that are changed, and what they get, as far as it is understood here."""

    scan: Scan
    where: Expr | None
    assignments: dict[ColumnId, Expr]
    scans: tuple[Scan, ...]
    returning: Returning | None
    is_joined: bool
    looked_up: tuple[tuple[ColumnId, Type], ...] = ()


class Updates(Assignments):
    """Makes the plan of an UPDATE or a DELETE."""

    def update(self, node: Node) -> UpdatePlan:
        descriptor = self.written(node.relation, "update")
        columns = self.set_columns(node.target_list, descriptor)
        one = self._change(node, descriptor, columns, node.target_list, list(node.from_clause))
        rules = rules_of(descriptor)
        return UpdatePlan(
            descriptor,
            one.scan,
            one.assignments,
            one.where,
            one.scans,
            rules,
            one.returning,
            one.is_joined,
            one.looked_up,
        )

    def delete(self, node: Node) -> DeletePlan:
        descriptor = self.written(node.relation, "delete from")
        one = self._change(node, descriptor, (), (), list(node.using_clause))
        return DeletePlan(descriptor, one.scan, one.where, one.scans, one.returning, one.is_joined, one.looked_up)

    def _change(
        self,
        node: Node,
        descriptor: Descriptor,
        columns: Sequence[tuple[Column, Node]],
        targets: Sequence[Node],
        others: Sequence[Node],
    ) -> Change:
        is_within = self.within is not None and bool(self.within.before)
        is_joined = bool(others) or is_within or node.HasField("with_clause")
        here = None if is_joined else self._by_key(node, descriptor, columns, targets)
        returns = node.HasField("returning_clause")
        if here is not None and (not returns or self.plain_returning(node, descriptor) is not None):
            self.settle()
            returning = self.plain_returning(node, descriptor) if returns else None
            return Change(*here, (here[0],), returning, is_joined=False)
        if node.where_clause.HasField("current_of_expr"):
            raise unsupported("WHERE CURRENT OF", hint="name the row by its primary key")
        questions = self.questions(node, descriptor)
        given, conditions = self.given(questions, columns, targets), list[Condition]()
        where = questions.written.clause("where")
        if others and where is not None and is_the_same_again(node, self.views):
            clauses, alias = questions.written.clauses, questions.written.alias
            conditions = conditions_in(clauses, where, node.where_clause, descriptor, alias)
        compared = [one for one in conditions if one.column is not None]
        answer = questions.change(given, compared)
        keys = self.compared_with(descriptor, compared, answer)
        returning = self.returning(node, descriptor, questions, others)
        self.begin()
        here = None if is_joined else self._by_key(node, descriptor, columns, targets)
        if here is not None:
            return Change(*here, (here[0],), returning, is_joined=False)
        assert answer.written is not None
        assigned: dict[ColumnId, Expr] = {column.id: ASKED for column, _ in columns}
        condition = ASKED if node.HasField("where_clause") else None
        return Change(answer.written, condition, assigned, answer.scans, returning, is_joined, keys)

    def compared_with(
        self, descriptor: Descriptor, compared: Sequence[Condition], answer: Answer
    ) -> tuple[tuple[ColumnId, Type], ...]:
        """The columns by whose values rows may be looked up."""
        types = zip((one.column for one in compared), (output.type for output in answer.outputs), strict=False)
        return looked_up(descriptor, [(column, of) for column, of in types if column is not None])

    def _by_key(
        self, node: Node, descriptor: Descriptor, columns: Sequence[tuple[Column, Node]], targets: Sequence[Node]
    ) -> tuple[Scan, Expr, dict[ColumnId, Expr]] | None:
        """A row that is named by its key, when all about it is understood here."""
        if not node.HasField("where_clause"):
            return None
        scan, scope = self.scope(node, descriptor)
        assigned = self.local_values(columns, targets, descriptor, scope)
        where = None if ASKED in assigned.values() else self.local_condition(node.where_clause, scope)
        if where is None:
            return None
        scan.conditions += conjuncts(where)
        return (scan, where, assigned) if scan.pinned_key is not None else None
