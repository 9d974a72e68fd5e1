"""MERGE, from its parse tree to a plan: one query says what is done with which row, and has the values for it.

    MERGE INTO t USING s ON t.id = s.id
        WHEN MATCHED AND s.gone THEN DELETE
        WHEN MATCHED THEN UPDATE SET a = s.a
        WHEN NOT MATCHED THEN INSERT VALUES (s.id, s.a)

    SELECT number of the WHEN, key of t, values of each WHEN  FROM s LEFT JOIN t ON t.id = s.id

Where the ON says which keys the rows of t have, and the rows of s are few, only these rows of t are read, as for an
UPDATE over several tables (`nodes.sql.writes.joins`); not with WHEN NOT MATCHED BY SOURCE, which is about all others.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from postgast import pg_query_pb2 as pb

from catalog.descriptor import Descriptor
from catalog.elements import Column, ColumnId
from expressions.analysis.scopes import Relation, Scan, Scope, reference
from expressions.errors import SYNTAX_ERROR, SqlError
from expressions.functions.volatile import is_volatile
from expressions.sqltypes import INT4, TEXT
from expressions.typed import ColumnRef, Expr, has_query_text, joined, replaced, walk
from nodes.sql.conditions.predicates import conjuncts
from nodes.sql.plans import Join, Lookup, MergeAction, MergePlan, Returning, Sources
from nodes.sql.queries.query import Output, Parts
from nodes.sql.writes.identity import overridden
from nodes.sql.writes.inserts import Inserts
from nodes.sql.writes.joins import (
    GATHERED,
    JOINED,
    Columns,
    Gathered,
    column_compared,
    leading_columns,
    names,
    numbers_of,
    own_name,
)
from nodes.sql.writes.row_rules import rules_of
from nodes.sql.writes.updates import Updates

Node = Any
ACTION = ColumnRef("", TEXT, "merge_action", column_id=-1)
"""What merge_action() stands for in RETURNING: INSERT, UPDATE or DELETE."""
FIRST_SHOWN = -2
"""As columns of a row, the source's that RETURNING shows have numbers from this one downwards."""
MATCHED, BY_SOURCE, BY_TARGET = (
    pb.MERGE_WHEN_MATCHED,
    pb.MERGE_WHEN_NOT_MATCHED_BY_SOURCE,
    pb.MERGE_WHEN_NOT_MATCHED_BY_TARGET,
)
_TESTS = {
    MATCHED: f"{JOINED}.here AND {JOINED}.there", BY_SOURCE: f"{JOINED}.here AND NOT {JOINED}.there",
    BY_TARGET: f"{JOINED}.there AND NOT {JOINED}.here",
}  # fmt: skip
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
        with self.selects.queries_before(node) as before:
            descriptor = self.written(node.relation, "merge into")
            scan, scope = self._target(node, descriptor)
            others, stars = self._others([node.source_relation], scope)
            source = Scope(None, scope.relations[1:], scope.merged)
            on = conjuncts(self.analyzer.condition(node.join_condition, scope, "JOIN/ON"))
            scopes = {MATCHED: scope, BY_SOURCE: Scope(None, scope.relations[:1]), BY_TARGET: source}
            clauses = [self._clause(n.merge_when_clause, descriptor, scopes) for n in node.merge_when_clauses]
            _refuse_unreachable(clauses)
            self.analyzer.merge_action = ACTION
            returning = self._returning(node, scope, stars, others_first=True)
            self.analyzer.merge_action = None
        scan.used.update(descriptor.primary_key)
        query = _Query(scan, scope.relations, before, others, on, clauses)
        shown = () if returning is None else tuple(query.shown(target) for target in returning.targets)
        join = query.join()
        if returning is not None:
            returning = Returning(shown, returning.columns)
        actions = tuple(MergeAction(c.word, tuple(c.values)) for c in clauses if c.word is not None)
        scans = tuple(self.analyzer.scans)
        sources = Sources(before, tuple(s for s in scans if s is not scan))
        defaults, rules = self.defaults(descriptor), rules_of(descriptor)
        return MergePlan(descriptor, scan, scans, join, actions, rules, defaults, returning, sources)

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


@dataclass
class _Query:
    """The query of a MERGE: rows of both sides, what is done with each, and the values for that."""

    scan: Scan
    relations: Sequence[Relation]
    before: Parts
    others: Parts
    on: Sequence[Expr]
    clauses: Sequence[Clause]
    named: dict[ColumnRef, str] = field(default_factory=dict)
    """The columns of the source that anything names."""
    returned: dict[ColumnRef, ColumnRef] = field(default_factory=dict)

    def shown(self, target: Expr) -> Expr:
        """An expression of RETURNING over the row that was written, with the columns of the source beside it."""
        others = numbers_of(self.relations) - {self.scan.number}

        def column(ref: ColumnRef) -> Expr:
            if ref.relation not in others:
                return ref
            place = FIRST_SHOWN - len(self.returned)
            named = ColumnRef("", ref.type, ref.name, column_id=place, modifier=ref.modifier)
            return self.returned.setdefault(ref, named)

        return replaced(target, column)

    def join(self) -> Join:
        if BY_SOURCE not in {clause.kind for clause in self.clauses}:  # other rows are left alone
            numbers = {self.scan.number}
            self.scan.conditions += [c for c in self.on if names(c, self.scan) and _only(c, numbers)]
        done = [clause for clause in self.clauses if clause.word is not None]
        outer = self._outer(done)
        kinds = {clause.kind for clause in self.clauses}
        marked: Parts = ("(", *self.others, " CROSS JOIN (SELECT true AS is_there) AS source)")
        there: Parts = ("source.is_there IS NOT NULL",)
        columns = self._columns()
        parts = (*self.before, *outer, *self._inner(columns, there), *_joined(self.scan, marked, kinds), *_on(self.on))
        outputs = [Output("", INT4), *(Output("", reference(self.scan, c).type) for c in self._keys)]
        outputs += [Output("", expr.type) for clause in done for expr in clause.values.values()]
        outputs += [Output("", ref.type) for ref in self.returned]
        lookup = None if BY_SOURCE in kinds else self._lookup(outer, columns, kinds)
        return Join((*parts, f") AS {JOINED}) AS {JOINED} WHERE {JOINED}.number IS NOT NULL"), tuple(outputs), lookup)

    @property
    def _keys(self) -> tuple[Column, ...]:
        return self.scan.descriptor.key_columns

    def _seen(self, expr: Expr) -> Expr:
        """An expression over the joined rows."""
        numbers = numbers_of(self.relations)

        def column(ref: ColumnRef) -> Expr:
            if ref.relation == self.scan.number:
                name = own_name(ref.column_id)
            elif ref.relation in numbers:
                name = self.named.setdefault(ref, f"x{len(self.named)}")
            else:
                return ref
            return ColumnRef(f"{JOINED}.{name}", ref.type, ref.name, modifier=ref.modifier)

        return replaced(expr, column)

    def _outer(self, done: Sequence[Clause]) -> Parts:
        """The number of what is done, the key, and its values; those of others are not worked out."""
        number: list[str | Expr] = ["CASE"]
        for clause in self.clauses:
            place = "NULL" if clause.word is None else str(done.index(clause))
            test: Parts = () if clause.condition is None else (" AND ", self._seen(clause.condition))
            number += [f" WHEN {_TESTS[clause.kind]}", *test, f" THEN {place}"]
        found: list[Parts] = [(f"CAST({JOINED}.number AS INTEGER)",)]
        found += [(f"{JOINED}.{own_name(c.id)}",) for c in self._keys]
        found += [
            (f"CASE WHEN {JOINED}.number = {place} THEN ", self._seen(expr), " END")
            for place, clause in enumerate(done)
            for expr in clause.values.values()
        ]
        found += [(self._seen(ref),) for ref in self.returned]
        listed = joined((*part, f" AS o{place}") for place, part in enumerate(found))
        return ("SELECT ", *listed, f" FROM (SELECT {JOINED}.*, ", *number, " END AS number FROM (")

    def _columns(self) -> Columns:
        own = [c for c in self.scan.descriptor.columns if c.id in self.scan.used]
        columns: Columns = [(own_name(c.id), reference(self.scan, c)) for c in own]
        return columns + [(name, ref) for ref, name in self.named.items()]

    def _inner(self, columns: Columns, there: Parts) -> Parts:
        here: Parts = ("(", reference(self.scan, self._keys[0]), " IS NOT NULL) AS here, (", *there, ") AS there")
        return ("SELECT ", *joined((expr, f" AS {name}") for name, expr in columns), ", ", *here, " FROM ")

    def _lookup(self, outer: Parts, columns: Columns, kinds: set[int]) -> Lookup | None:
        """The short way; None where no key of the written table is compared with the source."""
        keys: Columns = []
        found: dict[ColumnId, Output] = {}
        for condition in self.on:
            pair = column_compared(condition, self.scan)
            if pair is not None and pair[0] not in found:
                keys.append((f"k{len(keys)}", pair[1]))
                found[pair[0]] = Output("", pair[1].type)
        if not any(first in found for first in leading_columns(self.scan)) or any(map(is_volatile, self.on)):
            return None
        exprs = [part for part in outer if not isinstance(part, str)]
        if self.before and any(map(has_query_text, (*exprs, *self.on))):
            return None  # a query of WITH would be worked out twice
        gathered = Gathered(numbers_of(self.relations) - {self.scan.number})
        seen = [(name, gathered.seen(expr)) for name, expr in columns]
        on = [gathered.seen(condition) for condition in self.on]
        listed: Columns = [*keys, *((name, ref) for ref, name in gathered.columns.items())]
        gather = (
            *self.before,
            "SELECT ",
            *joined((expr, f" AS {name}") for name, expr in listed),
            " FROM ",
            *self.others,
        )
        inner = (*self._inner(seen, ("true",)), *_joined(self.scan, (GATHERED,), kinds), *_on(on))
        end = f") AS {JOINED}) AS {JOINED} WHERE {JOINED}.number IS NOT NULL"
        return Lookup(tuple(gather), tuple(found), tuple(found.values()), (*outer, *inner, end))


def _only(expr: Expr, numbers: set[int]) -> bool:
    """True if the expression names columns of these relations alone."""
    return not has_query_text(expr) and all(e.relation in numbers for e in walk(expr) if isinstance(e, ColumnRef))


def _joined(scan: Scan, source: Parts, kinds: set[int]) -> Parts:
    """Both sides, with the rows of one that the other has not, as far as a WHEN is about them."""
    if BY_SOURCE in kinds:
        return (scan.sql, " FULL JOIN " if BY_TARGET in kinds else " LEFT JOIN ", *source)
    return (*source, " LEFT JOIN " if BY_TARGET in kinds else " JOIN ", scan.sql)


def _on(conditions: Sequence[Expr]) -> Parts:
    return (" ON ", *joined((("(", c, ")") for c in conditions), " AND "))
