"""MERGE, from its parse tree to a plan: what is done in each WHEN, under which names and types.

    MERGE INTO t USING s ON t.id = s.id
        WHEN MATCHED AND s.gone THEN DELETE
        WHEN MATCHED THEN UPDATE SET a = s.a
        WHEN NOT MATCHED THEN INSERT VALUES (s.id, s.a)

Which row is meant by which WHEN, and the values for it, PostgreSQL says (`row_texts`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from postgast import pg_query_pb2 as pb

from catalog.descriptor import Descriptor
from catalog.elements import ColumnId
from expressions.analysis.scopes import Scan, Scope
from expressions.errors import SYNTAX_ERROR, SqlError
from expressions.typed import ColumnRef, Expr, has_query_text, walk
from nodes.sql.conditions.predicates import conjuncts
from nodes.sql.plans import MergeAction, MergePlan
from nodes.sql.writes.assignments import ACTION, with_beside
from nodes.sql.writes.identity import overridden
from nodes.sql.writes.inserts import Inserts
from nodes.sql.writes.joins import looked_up, names
from nodes.sql.writes.row_rules import rules_of
from nodes.sql.writes.updates import Updates

Node = Any
MATCHED, BY_SOURCE, BY_TARGET = (
    pb.MERGE_WHEN_MATCHED,
    pb.MERGE_WHEN_NOT_MATCHED_BY_SOURCE,
    pb.MERGE_WHEN_NOT_MATCHED_BY_TARGET,
)
_WORDS = {pb.CMD_INSERT: "INSERT", pb.CMD_UPDATE: "UPDATE", pb.CMD_DELETE: "DELETE"}


@dataclass(frozen=True, slots=True)
class Clause:
    """A WHEN: about which rows, under which condition, what is done (nothing: no word), and the values of columns."""

    kind: int
    condition: Expr | None
    word: str | None
    values: dict[ColumnId, Expr]


class Merges(Inserts, Updates):
    """Makes the plan of a MERGE."""

    def merge(self, node: Node) -> MergePlan:
        with self.selects.queries_before(node):
            descriptor = self.written(node.relation, "merge into")
            scan, scope = self._target(node, descriptor)
            _, stars = self._others([node.source_relation], scope)
            source = Scope(None, scope.relations[1:], scope.merged)
            on = conjuncts(self.analyzer.condition(node.join_condition, scope, "JOIN/ON"))
            scopes = {MATCHED: scope, BY_SOURCE: Scope(None, scope.relations[:1]), BY_TARGET: source}
            clauses = [self._clause(n.merge_when_clause, descriptor, scopes) for n in node.merge_when_clauses]
            _refuse_unreachable(clauses)
            self.analyzer.merge_action = ACTION
            returning = self._returning(node, scope, stars, others_first=True)
            self.analyzer.merge_action = None
        scan.used.update(descriptor.primary_key)
        keys: tuple[ColumnId, ...] = ()
        if all(clause.kind != BY_SOURCE for clause in clauses):  # other rows are left alone
            scan.conditions += [c for c in on if names(c, scan) and _is_of(c, scan)]
            keys = looked_up(node, self.views, scan, on)
        if returning is not None:
            returning = with_beside(returning, scan, scope.relations, is_of_merge=True)
        actions = tuple(MergeAction(c.word, tuple(c.values)) for c in clauses if c.word is not None)
        scans = tuple(self.analyzer.scans)
        defaults, rules = self.defaults(descriptor), rules_of(descriptor)
        source_names = tuple(relation.name for relation in scope.relations[1:])
        return MergePlan(descriptor, scan, scans, actions, rules, defaults, returning, source_names, tuple(on), keys)

    def _clause(self, node: Node, descriptor: Descriptor, scopes: dict[int, Scope]) -> Clause:
        scope = scopes[node.match_kind]
        condition = None
        if node.HasField("condition"):
            condition = self.analyzer.condition(node.condition, scope, "MERGE WHEN")
        word = _WORDS.get(node.command_type)
        values: dict[ColumnId, Expr] = {}
        if word == "UPDATE":
            values = self._assignments(node.target_list, descriptor, scope)
        if word == "INSERT" and len(node.values):
            columns = self.listed_columns(node.target_list, descriptor)
            row = self.given_row(node.values, columns, node.target_list, scope)
            (row,) = overridden(node, columns[: len(row)], [row], has_source=False)
            values = {c.id: e for c, e in zip(columns, row, strict=False) if e is not None}
        return Clause(node.match_kind, condition, word, values)


def _refuse_unreachable(clauses: Sequence[Clause]) -> None:
    certain: set[int] = set()
    for clause in clauses:
        if clause.kind in certain:
            raise SqlError(SYNTAX_ERROR, "unreachable WHEN clause specified after unconditional WHEN clause")
        if clause.condition is None:
            certain.add(clause.kind)


def _is_of(expr: Expr, scan: Scan) -> bool:
    """True if the expression names columns of this table alone."""
    return not has_query_text(expr) and all(e.relation == scan.number for e in walk(expr) if isinstance(e, ColumnRef))
