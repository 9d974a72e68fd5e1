"""UPDATE and DELETE, from their parse trees to plans. The queries for their rows are made of the text (`row_texts`)."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

from catalog.descriptor import Descriptor
from catalog.elements import Column, ColumnId
from expressions.analysis.scopes import Scan
from expressions.errors import unsupported
from expressions.sqltypes import Type
from expressions.typed import Expr
from nodes.sql.conditions.predicates import conjuncts
from nodes.sql.plans import DeletePlan, Returning, UpdatePlan
from nodes.sql.writes.assignments import ASKED, Assignments, check_parts
from nodes.sql.writes.joins import conditions_in, is_the_same_again, leads, looked_up
from nodes.sql.writes.pieces import Pieces, listed
from nodes.sql.writes.questions import outputs_of
from nodes.sql.writes.row_rules import rules_of
from nodes.sql.writes.source_text import SourceText

Node = Any
ByKey = tuple[Scan, Expr, dict[ColumnId, Expr]]
"""The way to a row by its key, the condition, and what columns get."""
P = TypeVar("P", UpdatePlan, DeletePlan)


class Updates(Assignments):
    def update(self, node: Node) -> UpdatePlan:
        descriptor = self.written(node.relation, "update")
        columns = self.set_columns(node.target_list, descriptor)
        made = partial(UpdatePlan, rules=rules_of(descriptor))
        return self._change(made, node, descriptor, columns, node.target_list, list(node.from_clause))

    def delete(self, node: Node) -> DeletePlan:
        descriptor = self.written(node.relation, "delete from")
        return self._change(DeletePlan, node, descriptor, (), (), list(node.using_clause))

    def _change(
        self,
        made: Callable[..., P],
        node: Node,
        descriptor: Descriptor,
        columns: Sequence[tuple[Column, Node]],
        targets: Sequence[Node],
        others: Sequence[Node],
    ) -> P:
        is_within = self.within is not None and bool(self.within.before)
        is_joined = bool(others) or is_within or node.HasField("with_clause")
        here = None if is_joined else self._by_key(node, descriptor, columns, targets)
        returns = node.HasField("returning_clause")
        returning = self.plain_returning(node, descriptor) if returns else None
        if here is not None and (not returns or returning is not None):
            self.settle()
            return self._by_key_alone(made, here, returning)
        if node.where_clause.HasField("current_of_expr"):
            raise unsupported("WHERE CURRENT OF", hint="name the row by its primary key")
        self.judged()
        check_parts(targets, columns)
        text, keys = self.source_text(node, descriptor), tuple[tuple[ColumnId, Type], ...]()
        if others and node.HasField("where_clause"):
            where = text.written.clause("where")
            keys = self.compared(text, text.others, where, node.where_clause)
        returning = self.returning(node, descriptor, text, others)
        here = None if is_joined else self._by_key(node, descriptor, columns, targets)
        if here is not None:
            return self._by_key_alone(made, here, returning)
        scan, condition = self.scope(node, descriptor)[0], ASKED if node.HasField("where_clause") else None
        more = {"assignments": dict.fromkeys([column.id for column, _ in columns], ASKED)} if columns else {}
        return made(descriptor, scan, condition, (scan,), returning, is_joined, keys, **more)

    def compared(
        self, text: SourceText, others: Pieces, words: tuple[int, int] | None, condition: Node
    ) -> tuple[tuple[ColumnId, Type], ...]:
        """The columns by whose values rows may be looked up: a condition has them equal what other tables have."""
        if words is None or not is_the_same_again(text.node, self.views):
            return ()
        written, descriptor = text.written, text.descriptor
        found = conditions_in(written.clauses, words, condition, descriptor, written.alias)
        pairs = [(one.column, one.other) for one in found if one.column is not None and one.other is not None]
        if not leads(descriptor, [column for column, _ in pairs]):
            return ()
        values = listed([(other,) for _, other in pairs])
        outputs = outputs_of(self.described((*text.before, "SELECT ", *values, " FROM ", *others)).columns)
        return looked_up(descriptor, [(column, of.type) for (column, _), of in zip(pairs, outputs, strict=False)])

    @staticmethod
    def _by_key_alone(made: Callable[..., P], here: ByKey, returning: Returning | None) -> P:
        scan, where, assigned = here
        more = {"assignments": assigned} if assigned else {}
        return made(scan.descriptor, scan, where, (scan,), returning, **more)

    def _by_key(
        self, node: Node, descriptor: Descriptor, columns: Sequence[tuple[Column, Node]], targets: Sequence[Node]
    ) -> ByKey | None:
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
