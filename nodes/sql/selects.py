"""From a SELECT in PostgreSQL's grammar to one for the query engine.

Every name is replaced by one of ours: tables are r0, r1, .. with columns c<id>, subqueries s0, s1, ..
with columns o0, o1, .. Nothing that a user wrote reaches the engine except quoted constants, and two
names that differ only in case stay two. What a table's scan needs to read (its columns, and the
conditions that bound it) is gathered on the way.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from postgast import walk as walk_tree

from expressions.aggregates import direction_of, refuse_aggregates
from expressions.analysis import Analyzer
from expressions.building import common_type
from expressions.errors import (
    INVALID_COLUMN_REFERENCE,
    SYNTAX_ERROR,
    UNDEFINED_TABLE,
    SqlError,
    unsupported,
)
from expressions.scopes import Relation, Scope
from expressions.sqltypes import INT8, INTEGERS, KEYED, NO_MODIFIER, SHOWN, TEXT, UNKNOWN, Type
from expressions.typed import ColumnRef, Expr, Fragment, Literal, Parameter, joined, sort_key, walk
from nodes.sql.column_names import implied_name, star_of
from nodes.sql.extent import Extent
from nodes.sql.from_clause import FromClause, Star, note_conditions, renamed
from nodes.sql.grouping import check_groups
from nodes.sql.keys import distinct_on, grouped, sorted_by, united
from nodes.sql.query import Output, Parts, Query, SimpleSelect, Target, refuse_wide

Node = Any


@dataclass(eq=False)
class Selects:
    """Analyses the queries of one statement."""

    analyzer: Analyzer
    ctes: list[dict[str, tuple[str, tuple[Output, ...]]]] = field(default_factory=list)
    extent: Extent = field(default_factory=Extent)
    _serial: int = 0

    def __post_init__(self) -> None:
        self.analyzer.subquery = self._subquery

    # -- whole queries ------------------------------------------------------------------------------------------

    def query(self, node: Node, parent: Scope | None = None, *, loose: bool = False) -> Query:
        """A SELECT, VALUES or set operation, with its WITH. `loose`: types that are still unknown may stay so."""
        self.ctes.append({})
        try:
            with_parts = self._with(node.with_clause, parent) if node.HasField("with_clause") else ()
            body = self._body(node, parent, loose=loose)
            if with_parts:
                return Query((*with_parts, *body.parts), body.outputs, loose=body.loose)
            return body
        finally:
            self.ctes.pop()

    def _body(self, node: Node, parent: Scope | None, *, loose: bool) -> Query:
        if node.HasField("into_clause"):
            raise unsupported("SELECT INTO")
        if len(node.values_lists):
            return self._values(node, parent)
        if node.op not in (0, 1):  # SETOP_UNDEFINED, SETOP_NONE
            return self._set_operation(node, parent)
        return self._select(node, parent, loose=loose)

    def _subquery(self, node: Node, scope: Scope) -> tuple[Parts, list[Type]]:
        self.extent.subquery()
        query = self.query(node, scope)
        return query.parts, [o.type for o in query.outputs]

    def shown(self, query: Query) -> Query:
        """The query as its client gets it: oids with names are shown by these."""
        if not any(o.type in SHOWN for o in query.outputs):
            return query
        name = f"s{self.number()}"
        columns: list[Parts] = []
        outputs = []
        for place, output in enumerate(query.outputs):
            ref: Expr = ColumnRef(
                f"{name}.o{place}", output.type, output.name, origin=output.origin, modifier=output.modifier
            )
            if output.type in SHOWN:
                ref, output = self.analyzer.cast(ref, TEXT, -1), Output(output.name, SHOWN[output.type])
            columns.append((ref, f" AS o{place}"))
            outputs.append(output)
        return Query(("SELECT ", *joined(columns), " FROM (", *query.parts, f") AS {name}"), tuple(outputs))

    def number(self) -> int:
        """One that no other relation of the statement has."""
        self._serial += 1
        return self._serial

    # -- WITH ---------------------------------------------------------------------------------------------------

    def _with(self, clause: Node, parent: Scope | None) -> Parts:
        parts: list[Parts] = []
        for item in clause.ctes:
            cte = item.common_table_expr
            if cte.ctequery.WhichOneof("node") != "select_stmt":
                raise unsupported("a statement that writes inside WITH", cte.location)
            self.extent.with_query(cte.location)
            name = f"w{self.number()}"
            if clause.recursive and is_recursive(cte):
                query = self._recursive(cte, name, parent)
            else:
                query = self.query(cte.ctequery.select_stmt, parent)
            outputs = renamed(query.outputs, [a.string.sval for a in cte.aliascolnames], cte.ctename, cte.location)
            columns = ", ".join(f"o{i}" for i in range(len(outputs)))
            parts.append((f"{name}({columns}) AS (", *query.parts, ")"))
            self.ctes[-1][cte.ctename] = (name, outputs)
        return ("WITH RECURSIVE " if clause.recursive else "WITH ", *joined(parts), " ")

    def _recursive(self, cte: Node, name: str, parent: Scope | None) -> Query:
        node = cte.ctequery.select_stmt
        if node.op != 2 or len(node.sort_clause) or node.HasField("limit_count"):
            raise SqlError(
                "42P19", f'recursive query "{cte.ctename}" must be anchor UNION [ALL] recursive term', cte.location
            )
        anchor = self.query(node.larg, parent)
        outputs = renamed(anchor.outputs, [a.string.sval for a in cte.aliascolnames], cte.ctename, cte.location)
        self.ctes[-1][cte.ctename] = (name, outputs)
        step = self.query(node.rarg, parent)
        if [o.type for o in step.outputs] != [o.type for o in anchor.outputs]:
            raise SqlError("42804", f'recursive query "{cte.ctename}": the terms differ in column types', cte.location)
        if not node.all and any(output.type in KEYED for output in outputs):
            raise unsupported("a recursive UNION of numerics", cte.location, hint="use UNION ALL")
        word = " UNION ALL " if node.all else " UNION "
        return Query((*anchor.parts, word, *step.parts), outputs)

    def find_cte(self, name: str) -> tuple[str, tuple[Output, ...]] | None:
        """The WITH query that a name means here, innermost first: our name for it, and its columns."""
        return next((level[name] for level in reversed(self.ctes) if name in level), None)

    # -- SELECT -------------------------------------------------------------------------------------------------

    def _select(self, node: Node, parent: Scope | None, *, loose: bool) -> Query:
        scope = Scope(parent)
        windows = self.analyzer.windows
        self.analyzer.windows = windows | {w.window_def.name: w.window_def for w in node.window_clause}
        tables = FromClause(self)
        items = [tables.item(item, scope) for item in node.from_clause]
        from_parts, stars = joined(parts for parts, _ in items), [star for _, columns in items for star in columns]
        targets = self._targets(node.target_list, scope, stars, loose=loose)
        where = self._where(node, scope)
        places = Places(targets)
        groups = self._groups(node, scope, places)
        having = None
        if node.HasField("having_clause"):
            having = self.analyzer.boolean(self.analyzer.expr(node.having_clause, scope), "HAVING")
        order = self._order(node, scope, places)
        distinct = self._distinct(node, scope, places)
        check_groups(scope, targets, groups, having, order)
        self.analyzer.windows = windows
        tail = self._limits(node, scope)
        outputs = tuple(t.output for t in targets)
        parts = self._assemble(distinct, targets, from_parts, where, groups, having, order, tail)
        simple = None if loose else self._simple(node, scope, targets, where)
        return Query(parts, outputs, simple, tuple(t.expr for t in targets))

    def _assemble(
        self,
        distinct: Parts,
        targets: Sequence[Target],
        from_parts: Sequence["str | Expr"],
        where: Expr | None,
        groups: Sequence[Expr] | None,
        having: Expr | None,
        order: Sequence[tuple[Expr | int, str]],
        tail: Parts,
    ) -> Parts:
        sorting = sorted_by(order, targets)
        keys = [key for key, _ in sorting if not isinstance(key, int)]
        over = [*(target.expr for target in targets), *([] if having is None else [having]), *keys]
        groups, over = grouped(groups, over)
        having = None if having is None else over[len(targets)]
        rest = iter(over[len(over) - len(keys) :])
        sorting = [(key if isinstance(key, int) else next(rest), direction) for key, direction in sorting]
        shown = joined((expr, f" AS o{number}") for number, expr in enumerate(over[: len(targets)]))
        parts = ["SELECT ", *distinct, *(shown or ["NULL::INTEGER AS nothing"])]
        parts += [" FROM ", *from_parts] if from_parts else []
        parts += [" WHERE ", where] if where is not None else []
        parts += [" GROUP BY ", *joined((group,) for group in groups)] if groups else []
        parts += [" HAVING ", having] if having is not None else []
        return (*parts, *ordered_by(sorting), *tail)

    def _simple(self, node: Node, scope: Scope, targets: Sequence[Target], where: Expr | None) -> SimpleSelect | None:
        """The query without the engine, when it is a plain selection from one table."""
        one = len(scope.relations) == 1 and scope.relations[0].scan is not None and not scope.merged
        plain = not (
            len(node.group_clause) or len(node.sort_clause) or len(node.distinct_clause) or len(node.window_clause)
            or node.HasField("having_clause") or node.HasField("limit_offset") or node.HasField("limit_count")
        )  # fmt: skip
        if not (one and plain) or any(isinstance(e, Fragment) for t in targets for e in walk(t.expr)):
            return None
        scan = scope.relations[0].scan
        assert scan is not None
        return SimpleSelect(scan, tuple(t.expr for t in targets), where)

    def _targets(self, nodes: Sequence[Node], scope: Scope, stars: Sequence[Star], *, loose: bool) -> list[Target]:
        refuse_wide(len(nodes))
        targets: list[Target] = []
        for item in nodes:
            target = item.res_target
            star = star_of(target.val)
            if star is not None:
                targets += self._star(star, scope, stars, target.location)
                refuse_wide(len(targets), target.location)
                continue
            expr = self.analyzer.expr(target.val, scope)
            expr = expr if loose and isinstance(expr, Literal | Parameter) else self.analyzer.known(expr)
            targets.append(Target(target.name or implied_name(target.val), expr, target.location))
        return targets

    def _star(self, qualifier: str, scope: Scope, stars: Sequence[Star], offset: int) -> list[Target]:
        if qualifier:
            relation = next((r for r in scope.relations if r.name == qualifier), None)
            if relation is None:
                raise SqlError(UNDEFINED_TABLE, f'missing FROM-clause entry for table "{qualifier}"', offset)
            return [Target(name, relation.column(name), offset) for name in relation.names()]
        if not scope.relations:
            raise SqlError(SYNTAX_ERROR, "SELECT * with no tables specified is not valid", offset)
        found = []
        for name, expr, relation in stars:
            if expr is None:
                assert relation is not None
                expr = relation.column(name)
            found.append(Target(name, expr, offset))
        return found

    def _where(self, node: Node, scope: Scope) -> Expr | None:
        if not node.HasField("where_clause"):
            return None
        where = self.analyzer.condition(node.where_clause, scope, "WHERE")
        note_conditions(where, scope)
        return where

    def _groups(self, node: Node, scope: Scope, places: "Places") -> list[Expr] | None:
        if not len(node.group_clause):
            return None
        refuse_wide(len(node.group_clause))
        if node.group_distinct:
            raise unsupported("GROUP BY DISTINCT")
        groups = []
        for item in node.group_clause:
            if item.WhichOneof("node") == "grouping_set":
                raise unsupported("GROUPING SETS, CUBE and ROLLUP", item.grouping_set.location)
            key = self._reference(item, scope, places, "GROUP BY", prefer_input=True)
            expr = places.targets[key - 1].expr if isinstance(key, int) else key
            refuse_aggregates(expr, "GROUP BY")
            groups.append(expr)
        return groups

    def _reference(self, item: Node, scope: Scope, places: "Places", clause: str, *, prefer_input: bool) -> Expr | int:
        """The target of ORDER BY or GROUP BY: an output by number or name, or an expression."""
        kind, targets = item.WhichOneof("node"), places.targets
        if kind == "a_const" and item.a_const.WhichOneof("val") == "ival":
            number = int(item.a_const.ival.ival)
            if not 1 <= number <= len(targets):
                place = item.a_const.location
                raise SqlError(INVALID_COLUMN_REFERENCE, f"{clause} position {number} is not in select list", place)
            return number
        if kind == "column_ref" and len(item.column_ref.fields) == 1:
            name = item.column_ref.fields[0].string.sval
            if not (prefer_input and any(r.has(name) for r in scope.relations)):
                named = places.by_name.get(name, ())
                if named and all(targets[i - 1].expr == targets[named[0] - 1].expr for i in named):
                    return named[0]
                if len(named) > 1:
                    raise SqlError("42702", f'{clause} "{name}" is ambiguous', item.column_ref.location)
        expr = self.analyzer.known(self.analyzer.expr(item, scope))
        return expr if clause == "GROUP BY" else places.by_expr.get(expr, expr)

    def _order(self, node: Node, scope: Scope, places: "Places") -> list[tuple[Expr | int, str]]:
        order = []
        refuse_wide(len(node.sort_clause))
        for item in node.sort_clause:
            key = self._reference(item.sort_by.node, scope, places, "ORDER BY", prefer_input=False)
            order.append((key, direction_of(item.sort_by)))
        return order

    def _distinct(self, node: Node, scope: Scope, places: "Places") -> Parts:
        if not len(node.distinct_clause):
            return ()
        named = [item for item in node.distinct_clause if item.WhichOneof("node")]
        if not named:
            if len(node.group_clause) and any(target.expr.type in KEYED for target in places.targets):
                raise unsupported("DISTINCT of grouped numerics", hint="group by all of them")
            return distinct_on([target.expr for target in places.targets])
        refuse_wide(len(named))
        keys = [self._reference(item, scope, places, "DISTINCT ON", prefer_input=False) for item in named]
        named_exprs = (places.targets[key - 1].expr if isinstance(key, int) else key for key in keys)
        return ("DISTINCT ON (", *joined((sort_key(expr),) for expr in named_exprs), ") ")

    def _limits(self, node: Node, scope: Scope) -> Parts:
        parts: list[str | Expr] = []
        if node.HasField("limit_count"):
            if node.limit_option == 3:
                raise unsupported("FETCH .. WITH TIES")
            if not (node.limit_count.WhichOneof("node") == "a_const" and node.limit_count.a_const.isnull):
                parts += [" LIMIT ", self._count(node.limit_count, "LIMIT")]
        if node.HasField("limit_offset"):
            parts += [" OFFSET ", self._count(node.limit_offset, "OFFSET")]
        return tuple(parts)

    def _count(self, node: Node, clause: str) -> Expr:
        expr = self.analyzer.expr(node, Scope())
        if expr.type not in (*INTEGERS, UNKNOWN):
            raise SqlError("42804", f"argument of {clause} must be type bigint, not type {expr.type}", expr.offset)
        count = self.analyzer.coerce(expr, INT8)
        if isinstance(count, Literal) and isinstance(count.value, int) and count.value < 0:
            raise SqlError("2201W" if clause == "LIMIT" else "2201X", f"{clause} must not be negative", expr.offset)
        return count

    # -- VALUES and set operations ------------------------------------------------------------------------------

    def _values(self, node: Node, parent: Scope | None) -> Query:
        refuse_wide(len(node.values_lists[0].list.items))
        rows = [[self.analyzer.expr(e, Scope(parent)) for e in item.list.items] for item in node.values_lists]
        if len({len(row) for row in rows}) > 1:
            raise SqlError(SYNTAX_ERROR, "VALUES lists must all be the same length")
        columns, types = [], []
        for column in zip(*rows, strict=True):
            typed, of = self.analyzer.common(column, "VALUES")
            columns.append(typed)
            types.append(of)
        names = ", ".join(f"o{i}" for i in range(len(columns)))
        listed = joined(("(", *joined((expr,) for expr in row), ")") for row in zip(*columns, strict=True))
        parts = (f"SELECT {names} FROM (VALUES ", *listed, f") AS v{self.number()}({names})")
        outputs = tuple(Output(f"column{i + 1}", of) for i, of in enumerate(types))
        return self._ordered(node, Query(parts, outputs))

    def _set_operation(self, node: Node, parent: Scope | None) -> Query:
        left, right = self.query(node.larg, parent, loose=True), self.query(node.rarg, parent, loose=True)
        word = {2: "UNION", 3: "INTERSECT", 4: "EXCEPT"}[node.op]
        if len(left.outputs) != len(right.outputs):
            place = node.rarg.target_list[0].res_target.location if len(node.rarg.target_list) else -1
            raise SqlError(SYNTAX_ERROR, f"each {word} query must have the same number of columns", place)
        types = [
            common_type([(a.type, -1), (b.type, _target_place(node.rarg, i))], word)
            for i, (a, b) in enumerate(zip(left.outputs, right.outputs, strict=True))
        ]
        left, right = (side.settled(types, self.analyzer.coerce) for side in (left, right))
        all_word = " ALL" if node.all else ""
        parts = (*self._as_types(left, types), f" {word}{all_word} ", *self._as_types(right, types))
        outputs = tuple(
            Output(a.name, of, modifier=a.modifier if a.modifier == b.modifier else NO_MODIFIER)
            for a, b, of in zip(left.outputs, right.outputs, types, strict=True)
        )
        whole = united(
            (*self._as_types(left, types), " UNION ALL ", *self._as_types(right, types)) if word == "UNION" else parts,
            outputs, f"s{self.number()}", word, is_all=node.all,
        )  # fmt: skip
        return self._ordered(node, Query(whole if any(of in KEYED for of in types) else parts, outputs))

    def _as_types(self, query: Query, types: Sequence[Type]) -> Parts:
        name = f"s{self.number()}"
        columns: list[Parts] = []
        for i, (o, of) in enumerate(zip(query.outputs, types, strict=True)):
            if of in KEYED and o.type is not of:
                columns.append((self.analyzer.coerce(ColumnRef(f"{name}.o{i}", o.type, o.name), of), f" AS o{i}"))
            else:
                columns.append((f"{name}.o{i}" if o.type is of else f"CAST({name}.o{i} AS {of.duck}) AS o{i}",))
        return ("(SELECT ", *joined(columns), " FROM (", *query.parts, f") AS {name})")

    def _ordered(self, node: Node, query: Query) -> Query:
        """ORDER BY and LIMIT of VALUES or of a set operation: by output columns only."""
        tail = self._limits(node, Scope())
        if not len(node.sort_clause) and not tail:
            return query
        name = f"s{self.number()}"
        columns = {o.name: ColumnRef(f"{name}.o{i}", o.type, o.name, -1) for i, o in enumerate(query.outputs)}
        scope = Scope(None, [Relation(self.number(), name, dict(columns))])
        targets = [Target(o.name, columns[o.name], -1) for o in query.outputs]
        order = ordered_by(sorted_by(self._order(node, scope, Places(targets)), targets))
        return Query(("SELECT * FROM (", *query.parts, f") AS {name}", *order, *tail), query.outputs)


def ordered_by(order: Iterable[tuple[Expr | int, str]]) -> Parts:
    """ORDER BY with these keys, outputs by number; nothing without a key."""
    keys = joined((str(key) if isinstance(key, int) else key, direction) for key, direction in order)
    return (" ORDER BY ", *keys) if keys else ()


@dataclass(frozen=True)
class Places:
    """Where the targets of a query stand, from 1: all of a name, the first of an expression. Worked out when asked."""

    targets: Sequence[Target]

    @cached_property
    def by_name(self) -> dict[str, list[int]]:
        places: dict[str, list[int]] = {}
        for number, target in enumerate(self.targets, 1):
            places.setdefault(target.name, []).append(number)
        return places

    @cached_property
    def by_expr(self) -> dict[Expr, int]:
        places: dict[Expr, int] = {}
        for number, target in enumerate(self.targets, 1):
            places.setdefault(target.expr, number)
        return places


def _target_place(select: Node, number: int) -> int:
    targets = select.target_list
    return int(targets[number].res_target.location) if number < len(targets) else -1


def is_recursive(cte: Node) -> bool:
    """True if a WITH query names itself."""
    return any(
        type(message).__name__ == "RangeVar" and message.relname == cte.ctename and not message.schemaname
        for _, message in walk_tree(cte.ctequery)
    )
