"""MERGE, from its parse tree to a plan: what is done in each WHEN, under which names and types. PostgreSQL says which
row is meant by which WHEN, and the values for it (`row_texts`)."""

from collections.abc import Sequence
from typing import Any

from postgast import pg_query_pb2 as pb

from catalog.descriptor import Descriptor
from expressions.errors import SYNTAX_ERROR, SqlError
from nodes.sql.plans import MergeAction, MergePlan
from nodes.sql.writes.assignments import ASKED, is_default
from nodes.sql.writes.identity import Row, overridden
from nodes.sql.writes.inserts import Inserts, counted
from nodes.sql.writes.joins import conditions_in, is_the_same_again
from nodes.sql.writes.others import aliases
from nodes.sql.writes.questions import Given
from nodes.sql.writes.row_rules import rules_of
from nodes.sql.writes.source_text import When
from nodes.sql.writes.updates import Updates

Node = Any
_WORDS = {pb.CMD_INSERT: "INSERT", pb.CMD_UPDATE: "UPDATE", pb.CMD_DELETE: "DELETE"}


class Merges(Inserts, Updates):
    def merge(self, node: Node) -> MergePlan:
        descriptor = self.written(node.relation, "merge into")
        _refuse_unreachable(node.merge_when_clauses)
        questions, source = self.questions(node, descriptor), [node.source_relation]
        clauses, on = questions.written.clauses, questions.source_of_merge()[1]
        conditions = conditions_in(clauses, on, node.join_condition, descriptor, questions.written.alias)
        is_looked_up = is_the_same_again(node, self.views)
        compared = [one for one in conditions if one.column is not None] if is_looked_up else []
        answer = questions.joined(compared)
        assert answer.written is not None
        keys = self.compared_with(descriptor, compared, answer)
        actions: list[MergeAction] = []
        kinds: set[int] = set()
        for when in questions.branches():
            given = self._given(when, descriptor)
            questions.act(when, given)
            kinds.add(when.node.match_kind)
            if when.acts:
                columns = tuple(column.id for column, _, _ in given)
                actions.append(MergeAction(_WORDS[when.node.command_type], columns))
        if pb.MERGE_WHEN_NOT_MATCHED_BY_SOURCE in kinds:
            keys = ()  # all rows are looked at
            answer.written.conditions.clear()
        returning = self.returning(node, descriptor, questions, source)
        defaults, rules, names = self.defaults(descriptor), rules_of(descriptor), tuple(aliases(source))
        return MergePlan(
            descriptor, answer.written, answer.scans, tuple(actions), rules, defaults, returning, names, keys
        )

    def _given(self, when: When, descriptor: Descriptor) -> list[Given]:
        """The values that an act gives to columns; an INSERT leaves out what is DEFAULT."""
        node = when.node
        if pb.CmdType.Name(node.command_type) == "CMD_UPDATE":
            found = self.set_columns(node.target_list, descriptor)
            return [(column, value, one) for (column, one), value in zip(found, when.values, strict=True)]
        if not len(node.values):
            return []
        columns = counted([node.values], self.listed_columns(node.target_list, descriptor), node.target_list)
        row: Row = tuple(None if is_default(one) else ASKED for one in node.values)
        (row,) = overridden(node, columns, [row], has_source=False)
        values = zip(columns, when.values, node.values, row, strict=True)
        return [(column, value, one) for column, value, one, kept in values if kept is not None]


def _refuse_unreachable(clauses: Sequence[Node]) -> None:
    certain: set[int] = set()
    for item in clauses:
        clause = item.merge_when_clause
        if clause.match_kind in certain:
            raise SqlError(SYNTAX_ERROR, "unreachable WHEN clause specified after unconditional WHEN clause")
        if not clause.HasField("condition"):
            certain.add(clause.match_kind)
