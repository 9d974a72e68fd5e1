"""MERGE, from its parse tree to a plan: what is done in each WHEN, under which names and types. PostgreSQL says which
row is meant by which WHEN, and the values for it (`row_texts`)."""

from typing import Any

from postgast import pg_query_pb2 as pb

from catalog.descriptor import Descriptor
from catalog.elements import ColumnId
from nodes.sql.plans import MergeAction, MergePlan
from nodes.sql.writes.assignments import ASKED, is_default
from nodes.sql.writes.inserts import Inserts, overridden
from nodes.sql.writes.others import aliases
from nodes.sql.writes.row_rules import rules_of
from nodes.sql.writes.updates import Updates

Node = Any
_WORDS = {pb.CMD_INSERT: "INSERT", pb.CMD_UPDATE: "UPDATE", pb.CMD_DELETE: "DELETE"}


class Merges(Inserts, Updates):
    def merge(self, node: Node) -> MergePlan:
        descriptor = self.written(node.relation, "merge into")
        self.judged()
        text, source = self.source_text(node, descriptor), [node.source_relation]
        others, on = text.source_of_merge()
        kinds = {item.merge_when_clause.match_kind for item in node.merge_when_clauses}
        is_whole = pb.MERGE_WHEN_NOT_MATCHED_BY_SOURCE in kinds  # all rows are looked at
        keys = () if is_whole else self.compared(text, others, on, node.join_condition)
        actions = tuple(
            MergeAction(_WORDS[when.node.command_type], self._given(when.node, descriptor))
            for when in text.branches()
            if when.acts
        )
        returning = self.returning(node, descriptor, text, source)
        defaults, rules, names = self.defaults(descriptor), rules_of(descriptor), tuple(aliases(source))
        scan, _ = self.scope(node, descriptor)
        return MergePlan(descriptor, scan, (scan,), actions, rules, defaults, returning, names, keys)

    def _given(self, when: Node, descriptor: Descriptor) -> tuple[ColumnId, ...]:
        """The columns that an act gives values; an INSERT leaves out what is DEFAULT."""
        if pb.CmdType.Name(when.command_type) == "CMD_UPDATE":
            return tuple(column.id for column, _ in self.set_columns(when.target_list, descriptor))
        columns = self.listed_columns(when.target_list, descriptor)[: len(when.values)]
        (row,) = overridden(when, columns, [tuple(None if is_default(one) else ASKED for one in when.values)])
        return tuple(column.id for column, value in zip(columns, row, strict=True) if value is not None)
