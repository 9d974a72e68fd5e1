"""VALUES, and UNION, INTERSECT and EXCEPT of queries."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from expressions.analysis.analyzer import Analyzer
from expressions.analysis.building import common_type
from expressions.analysis.scopes import Relation, Scope
from expressions.errors import SYNTAX_ERROR, SqlError
from expressions.sqltypes import BPCHAR, NO_MODIFIER, Type
from expressions.typed import ColumnRef, is_null, joined, modifier_of_all, place_of
from nodes.sql.queries.clauses import Clauses, Places, ordered_by, positions
from nodes.sql.queries.query import Parts, Query, Target, refuse_wide
from nodes.wire.columns import Output

Node = Any


class Queries(Protocol):
    """The queries of one statement (`nodes.sql.queries.selects`)."""

    @property
    def analyzer(self) -> Analyzer: ...

    @property
    def clauses(self) -> Clauses: ...

    def query(self, node: Node, parent: Scope | None = None, *, loose: bool = False) -> Query: ...

    def number(self) -> int: ...


@dataclass(frozen=True, slots=True)
class SetOperations:
    """Analyses what puts rows together, each with the types that all sides can have."""

    selects: Queries

    def values(self, node: Node, parent: Scope | None) -> Query:
        refuse_wide(len(node.values_lists[0].list.items))
        before = self.selects.analyzer.last_set
        rows = [[self.selects.analyzer.expr(e, Scope(parent)) for e in item.list.items] for item in node.values_lists]
        self.selects.analyzer.refuse_sets(before, "VALUES")
        if len({len(row) for row in rows}) > 1:
            other = next(row for row in rows if len(row) != len(rows[0]))
            place = place_of(other[0]) if other else -1
            raise SqlError(SYNTAX_ERROR, "VALUES lists must all be the same length", place)
        columns, outputs = [], list[Output]()
        for place, column in enumerate(zip(*rows, strict=True), 1):
            typed, of = self.selects.analyzer.common(column, "VALUES")
            columns.append(typed)
            outputs.append(Output(f"column{place}", of, modifier=modifier_of_all(typed)))
        names = ", ".join(f"o{i}" for i in range(len(columns)))
        listed = joined(("(", *joined((expr,) for expr in row), ")") for row in zip(*columns, strict=True))
        parts = (f"SELECT {names} FROM (VALUES ", *listed, f") AS v{self.selects.number()}({names})")
        return self._ordered(node, Query(parts, tuple(outputs)))

    def united(self, node: Node, parent: Scope | None) -> Query:
        left, right = (
            self.selects.query(node.larg, parent, loose=True),
            self.selects.query(node.rarg, parent, loose=True),
        )
        word = {2: "UNION", 3: "INTERSECT", 4: "EXCEPT"}[node.op]
        if len(left.outputs) != len(right.outputs):
            place = node.rarg.target_list[0].res_target.location if len(node.rarg.target_list) else -1
            raise SqlError(SYNTAX_ERROR, f"each {word} query must have the same number of columns", place)
        types = [
            common_type([(a.type, -1), (b.type, _target_place(node.rarg, i))], word)
            for i, (a, b) in enumerate(zip(left.outputs, right.outputs, strict=True))
        ]
        modifiers = [_modifier((left, right), place) for place in range(len(types))]
        left, right = (side.settled(types, self.selects.analyzer.coerce) for side in (left, right))
        all_word = " ALL" if node.all else ""
        sides = [self._as_types(side, types) for side in (left, right)]
        parts = (*sides[0], f" {word}{all_word} ", *sides[1])
        outputs = tuple(
            Output(a.name, of, modifier=modifier)
            for a, of, modifier in zip(left.outputs, types, modifiers, strict=True)
        )
        return self._ordered(node, Query(parts, outputs))

    def _as_types(self, query: Query, types: Sequence[Type]) -> Parts:
        name = f"s{self.selects.number()}"
        columns: list[Parts] = []
        for i, (o, of) in enumerate(zip(query.outputs, types, strict=True)):
            columns.append((self.selects.analyzer.coerce(ColumnRef(f"{name}.o{i}", o.type, o.name), of), f" AS o{i}"))
        return ("(SELECT ", *joined(columns), " FROM (", *query.parts, f") AS {name})")

    def _ordered(self, node: Node, query: Query) -> Query:
        """ORDER BY and LIMIT of VALUES or of a set operation: by output columns only."""
        limit = self.selects.clauses.limit(node)
        if not len(node.sort_clause) and not limit.parts:
            return query
        name = f"s{self.selects.number()}"
        columns = {o.name: ColumnRef(f"{name}.o{i}", o.type, o.name, -1) for i, o in enumerate(query.outputs)}
        scope = Scope(None, [Relation(self.selects.number(), name, dict(columns))])
        targets = [Target(o.name, columns[o.name], -1) for o in query.outputs]
        asked = self.selects.clauses.order(node, scope, Places(targets))
        beyond = next((key for key, _ in asked if not isinstance(key, int)), None)
        if beyond is not None and not len(node.values_lists):
            hint = "name or number a column of the result, or put the whole into FROM"
            raise SqlError("0A000", "invalid UNION/INTERSECT/EXCEPT ORDER BY clause", place_of(beyond), hint=hint)
        order = asked
        source: Parts = (" FROM (", *query.parts, f") AS {name}")
        if limit.has_ties:
            keys = [(targets[key - 1].expr if isinstance(key, int) else key, direction) for key, direction in order]
            ranked = limit.with_ties(("SELECT *, ", *positions(keys), *source), len(targets))
            return Query(ranked, query.outputs)
        return Query(("SELECT *", *source, *ordered_by(order), *limit.parts), query.outputs)


def _modifier(sides: Sequence[Query], place: int) -> int:
    """The modifier of a column: that of both sides, or of the one whose value is not the constant NULL."""
    is_char = any(side.outputs[place].type is BPCHAR for side in sides)
    found = {s.outputs[place].modifier for s in sides if not (is_char and s.loose and is_null(s.loose[place]))}
    return found.pop() if len(found) == 1 else NO_MODIFIER


def _target_place(select: Node, number: int) -> int:
    targets = select.target_list
    return int(targets[number].res_target.location) if number < len(targets) else -1
