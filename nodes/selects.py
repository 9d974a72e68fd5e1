"""From a SELECT in PostgreSQL's grammar to one for the query engine.

Every name is replaced by one of ours: tables are r0, r1, .. with columns c<id>, subqueries s0, s1, ..
with columns o0, o1, .. Nothing that a user wrote reaches the engine except quoted constants, and two
names that differ only in case stay two. What a table's scan needs to read (its columns, and the
conditions that bound it) is gathered on the way.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from postgast import pg_query_pb2 as pb
from postgast import walk as walk_tree

from catalog.descriptor import Descriptor
from expressions.analysis import Analyzer, aggregates_in, common_type, direction_of, function_name, refuse_aggregates
from expressions.errors import (
    DUPLICATE_ALIAS,
    GROUPING_ERROR,
    INVALID_COLUMN_REFERENCE,
    SYNTAX_ERROR,
    UNDEFINED_TABLE,
    SqlError,
    unsupported,
)
from expressions.scopes import Relation, Scan, Scope
from expressions.sqltypes import INT4, INT8, UNKNOWN, Type
from expressions.typed import Call, ColumnRef, Expr, Fragment, Literal, Parameter, is_simple, walk
from leases.rules import NotLeasable, check_leasable
from nodes.conditions import conjuncts, refuses_nulls

Node = Any
Parts = tuple["str | Expr", ...]
SCHEMAS = ("public", "")
CATALOGS = ("pg_catalog", "information_schema")


@dataclass(frozen=True, slots=True)
class Output:
    """One column of a query's result."""

    name: str
    type: Type


@dataclass(frozen=True, slots=True)
class Query:
    """A query for the engine: its text with expressions in it, and its columns o0, o1, .."""

    parts: Parts
    outputs: tuple[Output, ...]
    simple: "SimpleSelect | None" = None
    loose: tuple[Expr, ...] = ()

    def settled(self, types: "Sequence[Type | None]", coerce: "Callable[[Expr, Type], Expr]") -> "Query":
        """The query with its quoted literals and parameters given these types, as if they stood alone."""
        parts, outputs = list(self.parts), list(self.outputs)
        for place, (output, of) in enumerate(zip(self.outputs, types, strict=True)):
            if output.type is UNKNOWN and of is not None:
                expr = self.loose[place]
                parts = [coerce(expr, of) if part is expr else part for part in parts]
                outputs[place] = Output(output.name, of)
        return Query(tuple(parts), tuple(outputs))


@dataclass(frozen=True, slots=True)
class SimpleSelect:
    """A query over one table that needs no engine when all its expressions are simple."""

    scan: Scan
    targets: tuple[Expr, ...]
    where: Expr | None
    limit: Expr | None

    @property
    def is_local(self) -> bool:
        """Whether Python can compute all of it, row by row."""
        return all(is_simple(e) for e in (*self.targets, *([self.where] if self.where else [])))


@dataclass(eq=False)
class Target:
    name: str
    expr: Expr
    offset: int


@dataclass(eq=False)
class Selects:
    """Analyses the queries of one statement."""

    analyzer: Analyzer
    ctes: list[dict[str, tuple[str, tuple[Output, ...]]]] = field(default_factory=list)
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
        query = self.query(node, scope)
        return query.parts, [o.type for o in query.outputs]

    def _number(self) -> int:
        self._serial += 1
        return self._serial

    # -- WITH ---------------------------------------------------------------------------------------------------

    def _with(self, clause: Node, parent: Scope | None) -> Parts:
        parts: list[str | Expr] = ["WITH RECURSIVE " if clause.recursive else "WITH "]
        for number, item in enumerate(clause.ctes):
            cte = item.common_table_expr
            if cte.ctequery.WhichOneof("node") != "select_stmt":
                raise unsupported("a statement that writes inside WITH", cte.location)
            name = f"w{self._number()}"
            parts += [", "] if number else []
            if clause.recursive and is_recursive(cte):
                query = self._recursive(cte, name, parent)
            else:
                query = self.query(cte.ctequery.select_stmt, parent)
            outputs = renamed(query.outputs, [a.string.sval for a in cte.aliascolnames], cte.ctename, cte.location)
            columns = ", ".join(f"o{i}" for i in range(len(outputs)))
            parts += [f"{name}({columns}) AS (", *query.parts, ")"]
            self.ctes[-1][cte.ctename] = (name, outputs)
        return (*parts, " ")

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
        word = " UNION ALL " if node.all else " UNION "
        return Query((*anchor.parts, word, *step.parts), outputs)

    def _find_cte(self, name: str) -> tuple[str, tuple[Output, ...]] | None:
        return next((level[name] for level in reversed(self.ctes) if name in level), None)

    # -- SELECT -------------------------------------------------------------------------------------------------

    def _select(self, node: Node, parent: Scope | None, *, loose: bool) -> Query:
        scope = Scope(parent)
        windows = self.analyzer.windows
        self.analyzer.windows = windows | {w.window_def.name: w.window_def for w in node.window_clause}
        from_parts: list[str | Expr] = []
        stars: list[tuple[str, Expr | None, Relation | None]] = []
        for number, item in enumerate(node.from_clause):
            parts, columns = self._from(item, scope)
            from_parts += [", ", *parts] if number else list(parts)
            stars += columns
        targets = self._targets(node.target_list, scope, stars, loose=loose)
        where = self._where(node, scope)
        groups = self._groups(node, scope, targets)
        having = None
        if node.HasField("having_clause"):
            having = self.analyzer.boolean(self.analyzer.expr(node.having_clause, scope), "HAVING")
        order = self._order(node, scope, targets)
        distinct = self._distinct(node, scope, targets)
        self._check_groups(scope, targets, groups, having, order)
        self.analyzer.windows = windows
        tail = self._limits(node, scope)
        outputs = tuple(Output(t.name, t.expr.type) for t in targets)
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
        parts: list[str | Expr] = ["SELECT ", *distinct]
        for number, target in enumerate(targets):
            parts += [", " if number else "", target.expr, f" AS o{number}"]
        if not targets:
            parts += ["NULL::INTEGER AS nothing"]
        parts += [" FROM ", *from_parts] if from_parts else []
        parts += [" WHERE ", where] if where is not None else []
        if groups:
            parts += [" GROUP BY "]
            for number, group in enumerate(groups):
                parts += [", " if number else "", group]
        parts += [" HAVING ", having] if having is not None else []
        for number, (key, direction) in enumerate(order):
            parts += [", " if number else " ORDER BY ", str(key) if isinstance(key, int) else key, direction]
        return (*parts, *tail)

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
        return SimpleSelect(scan, tuple(t.expr for t in targets), where, None)

    def _targets(
        self,
        nodes: Sequence[Node],
        scope: Scope,
        stars: Sequence[tuple[str, Expr | None, Relation | None]],
        *,
        loose: bool,
    ) -> list[Target]:
        targets: list[Target] = []
        for item in nodes:
            target = item.res_target
            star = star_of(target.val)
            if star is not None:
                targets += self._star(star, scope, stars, target.location)
                continue
            expr = self.analyzer.expr(target.val, scope)
            expr = expr if loose and isinstance(expr, Literal | Parameter) else self.analyzer.known(expr)
            targets.append(Target(target.name or implied_name(target.val), expr, target.location))
        return targets

    def _star(
        self, qualifier: str, scope: Scope, stars: Sequence[tuple[str, Expr | None, Relation | None]], offset: int
    ) -> list[Target]:
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
        self._note_conditions(where, scope)
        return where

    def _note_conditions(self, condition: Expr, scope: Scope) -> None:
        """Conditions that every row of the result meets bound the scans of the tables they name."""
        for conjunct in conjuncts(condition):
            numbers = {e.relation for e in walk(conjunct) if isinstance(e, ColumnRef)}
            for relation in scope.relations:
                if relation.scan is None or numbers != {relation.scan.number}:
                    continue
                if not relation.is_nullable or refuses_nulls(conjunct):
                    relation.scan.conditions.append(conjunct)

    def _groups(self, node: Node, scope: Scope, targets: Sequence[Target]) -> list[Expr] | None:
        if not len(node.group_clause):
            return None
        if node.group_distinct:
            raise unsupported("GROUP BY DISTINCT")
        groups = []
        for item in node.group_clause:
            if item.WhichOneof("node") == "grouping_set":
                raise unsupported("GROUPING SETS, CUBE and ROLLUP", item.grouping_set.location)
            key = self._reference(item, scope, targets, "GROUP BY", prefer_input=True)
            expr = targets[key - 1].expr if isinstance(key, int) else key
            refuse_aggregates(expr, "GROUP BY")
            groups.append(expr)
        return groups

    def _reference(
        self, item: Node, scope: Scope, targets: Sequence[Target], clause: str, *, prefer_input: bool
    ) -> Expr | int:
        """What ORDER BY or GROUP BY names: an output by number or name, or an expression."""
        kind = item.WhichOneof("node")
        if kind == "a_const" and item.a_const.WhichOneof("val") == "ival":
            number = int(item.a_const.ival.ival)
            if not 1 <= number <= len(targets):
                place = item.a_const.location
                raise SqlError(INVALID_COLUMN_REFERENCE, f"{clause} position {number} is not in select list", place)
            return number
        if kind == "column_ref" and len(item.column_ref.fields) == 1:
            name = item.column_ref.fields[0].string.sval
            if not (prefer_input and any(r.has(name) for r in scope.relations)):
                named = [i for i, t in enumerate(targets, 1) if t.name == name]
                if named and all(targets[i - 1].expr == targets[named[0] - 1].expr for i in named):
                    return named[0]
                if len(named) > 1:
                    raise SqlError("42702", f'{clause} "{name}" is ambiguous', item.column_ref.location)
        expr = self.analyzer.known(self.analyzer.expr(item, scope))
        same = next((i for i, t in enumerate(targets, 1) if t.expr == expr), None)
        return expr if same is None or clause == "GROUP BY" else same

    def _order(self, node: Node, scope: Scope, targets: Sequence[Target]) -> list[tuple[Expr | int, str]]:
        order = []
        for item in node.sort_clause:
            key = self._reference(item.sort_by.node, scope, targets, "ORDER BY", prefer_input=False)
            order.append((key, direction_of(item.sort_by)))
        return order

    def _distinct(self, node: Node, scope: Scope, targets: Sequence[Target]) -> Parts:
        if not len(node.distinct_clause):
            return ()
        named = [item for item in node.distinct_clause if item.WhichOneof("node")]
        if not named:
            return ("DISTINCT ",)
        parts: list[str | Expr] = ["DISTINCT ON ("]
        for number, item in enumerate(named):
            key = self._reference(item, scope, targets, "DISTINCT ON", prefer_input=False)
            parts += [", " if number else "", targets[key - 1].expr if isinstance(key, int) else key]
        return (*parts, ") ")

    def _check_groups(
        self,
        scope: Scope,
        targets: Sequence[Target],
        groups: list[Expr] | None,
        having: Expr | None,
        order: Sequence[tuple[Expr | int, str]],
    ) -> None:
        """Every column outside an aggregate must be grouped, or belong to a table whose whole key is. Raises 42803."""
        exprs = [t.expr for t in targets] + [k for k, _ in order if not isinstance(k, int)]
        exprs += [having] if having is not None else []
        if groups is None and having is None and not any(is_aggregated(e) for e in exprs):
            return
        mine = {r.scan.number if r.scan else r.number for r in scope.relations}
        grouped = groups if groups is not None else []
        for expr in exprs:
            for loose in ungrouped(expr, tuple(grouped), mine):
                if not self._is_determined(loose, scope, grouped):
                    name = qualified(loose, scope)
                    how = "must appear in the GROUP BY clause or be used in an aggregate function"
                    raise SqlError(GROUPING_ERROR, f'column "{name}" {how}', loose.offset)
                if groups is not None and loose not in groups:
                    groups.append(loose)

    def _is_determined(self, loose: ColumnRef, scope: Scope, grouped: Sequence[Expr]) -> bool:
        scan = next((r.scan for r in scope.relations if r.scan and r.scan.number == loose.relation), None)
        if scan is None:
            return False
        keys = {e.column_id for e in grouped if isinstance(e, ColumnRef) and e.relation == scan.number}
        return keys.issuperset(scan.descriptor.primary_key)

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
        if expr.type not in (INT4, INT8, UNKNOWN):
            raise SqlError("42804", f"argument of {clause} must be type bigint, not type {expr.type}", expr.offset)
        count = self.analyzer.coerce(expr, INT8)
        if isinstance(count, Literal) and isinstance(count.value, int) and count.value < 0:
            raise SqlError("2201W" if clause == "LIMIT" else "2201X", f"{clause} must not be negative", expr.offset)
        return count

    # -- VALUES and set operations ------------------------------------------------------------------------------

    def _values(self, node: Node, parent: Scope | None) -> Query:
        rows = [[self.analyzer.expr(e, Scope(parent)) for e in item.list.items] for item in node.values_lists]
        if len({len(row) for row in rows}) > 1:
            raise SqlError(SYNTAX_ERROR, "VALUES lists must all be the same length")
        columns, types = [], []
        for column in zip(*rows, strict=True):
            typed, of = self.analyzer.common(column, "VALUES")
            columns.append(typed)
            types.append(of)
        names = ", ".join(f"o{i}" for i in range(len(columns)))
        parts: list[str | Expr] = [f"SELECT {names} FROM (VALUES "]
        for number, row in enumerate(zip(*columns, strict=True)):
            parts += [", (" if number else "("]
            for place, expr in enumerate(row):
                parts += [", " if place else "", expr]
            parts += [")"]
        parts += [f") AS v{self._number()}({names})"]
        outputs = tuple(Output(f"column{i + 1}", of) for i, of in enumerate(types))
        return self._ordered(node, Query(tuple(parts), outputs))

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
        outputs = tuple(Output(o.name, of) for o, of in zip(left.outputs, types, strict=True))
        return self._ordered(node, Query(parts, outputs))

    def _as_types(self, query: Query, types: Sequence[Type]) -> Parts:
        name = f"s{self._number()}"
        columns = ", ".join(
            f"{name}.o{i}" if o.type is of else f"CAST({name}.o{i} AS {of.duck}) AS o{i}"
            for i, (o, of) in enumerate(zip(query.outputs, types, strict=True))
        )
        return (f"(SELECT {columns} FROM (", *query.parts, f") AS {name})")

    def _ordered(self, node: Node, query: Query) -> Query:
        """ORDER BY and LIMIT of VALUES or of a set operation: by output columns only."""
        tail = self._limits(node, Scope())
        if not len(node.sort_clause) and not tail:
            return query
        name = f"s{self._number()}"
        columns = {o.name: ColumnRef(f"{name}.o{i}", o.type, o.name, -1) for i, o in enumerate(query.outputs)}
        scope = Scope(None, [Relation(self._number(), name, dict(columns))])
        targets = [Target(o.name, columns[o.name], -1) for o in query.outputs]
        parts: list[str | Expr] = ["SELECT * FROM (", *query.parts, f") AS {name}"]
        for number, (key, direction) in enumerate(self._order(node, scope, targets)):
            parts += [", " if number else " ORDER BY ", str(key) if isinstance(key, int) else key, direction]
        return Query((*parts, *tail), query.outputs)

    # -- FROM ---------------------------------------------------------------------------------------------------

    def _from(self, node: Node, scope: Scope) -> tuple[Parts, list[tuple[str, Expr | None, Relation | None]]]:
        kind = node.WhichOneof("node")
        if kind == "range_var":
            return self._from_table(node.range_var, scope)
        if kind == "range_subselect":
            return self._from_subselect(node.range_subselect, scope)
        if kind == "join_expr":
            return self._from_join(node.join_expr, scope)
        if kind == "range_function":
            return self._from_function(node.range_function, scope)
        raise unsupported(f"{str(kind).replace('_', ' ')} in FROM")

    def _add(self, scope: Scope, relation: Relation, offset: int) -> list[tuple[str, Expr | None, Relation | None]]:
        if any(r.name == relation.name for r in scope.relations):
            raise SqlError(DUPLICATE_ALIAS, f'table name "{relation.name}" specified more than once', offset)
        scope.relations.append(relation)
        return [(name, None, relation) for name in relation.names()]

    def _from_table(self, node: Node, scope: Scope) -> tuple[Parts, list[tuple[str, Expr | None, Relation | None]]]:
        alias = node.alias.aliasname if node.HasField("alias") else node.relname
        renames = [a.string.sval for a in node.alias.colnames] if node.HasField("alias") else []
        cte = self._find_cte(node.relname) if not node.schemaname else None
        if cte is not None:
            return self._derived(scope, alias, renamed(cte[1], renames, alias, node.location), (cte[0],), node.location)
        descriptor = self.table(node)
        if renames:
            raise unsupported("new names for a table's columns", node.location)
        scan = Scan(len(self.analyzer.scans), descriptor)
        self.analyzer.scans.append(scan)
        relation = Relation(scan.number, alias, scan=scan)
        return (scan.sql,), self._add(scope, relation, node.location)

    def table(self, node: Node) -> Descriptor:
        """The table a statement names, if it may be used."""
        name = node.relname
        if node.schemaname in CATALOGS:
            raise unsupported(
                f"reading {node.schemaname}", node.location, hint="SHOW TABLES lists the tables of a node"
            )
        if node.schemaname not in SCHEMAS or node.catalogname:
            raise SqlError(UNDEFINED_TABLE, f'relation "{node.schemaname}.{name}" does not exist', node.location)
        descriptor = self.analyzer.catalog.get(name)
        if descriptor is None:
            raise SqlError(UNDEFINED_TABLE, f'relation "{name}" does not exist', node.location, table=name)
        try:
            check_leasable(name, descriptor.state)
        except NotLeasable as refusal:
            hint = f"it is so in version {descriptor.version}; statements may name it while it is public"
            raise SqlError(UNDEFINED_TABLE, str(refusal), node.location, hint=hint) from None
        return descriptor

    def _from_subselect(self, node: Node, scope: Scope) -> tuple[Parts, list[tuple[str, Expr | None, Relation | None]]]:
        query = self.query(node.subquery.select_stmt, scope if node.lateral else scope.parent)
        alias = node.alias.aliasname if node.HasField("alias") else f"unnamed_subquery_{self._number()}"
        outputs = renamed(query.outputs, [a.string.sval for a in node.alias.colnames], alias, -1)
        lateral = "LATERAL " if node.lateral else ""
        return self._derived(scope, alias, outputs, (f"{lateral}(", *query.parts, ")"), -1)

    def _derived(
        self, scope: Scope, alias: str, outputs: Sequence[Output], source: Parts, offset: int
    ) -> tuple[Parts, list[tuple[str, Expr | None, Relation | None]]]:
        number = self._number() + 1_000_000  # apart from scans
        name = f"s{number}"
        names = [o.name for o in outputs]
        columns: dict[str, Expr] = {
            o.name: ColumnRef(f"{name}.o{i}", o.type, o.name, number) for i, o in enumerate(outputs)
        }
        twice = frozenset(n for n in names if names.count(n) > 1)
        relation = Relation(number, alias, columns, duplicates=twice)
        self._add(scope, relation, offset)
        refs = [ColumnRef(f"{name}.o{i}", o.type, o.name, number) for i, o in enumerate(outputs)]
        return (*source, f" AS {name}"), [(o.name, ref, relation) for o, ref in zip(outputs, refs, strict=True)]

    def _from_function(self, node: Node, scope: Scope) -> tuple[Parts, list[tuple[str, Expr | None, Relation | None]]]:
        call = node.functions[0].list.items[0].func_call
        name = function_name(call)
        if name != "generate_series" or node.ordinality or len(node.functions) > 1:
            raise unsupported(f"function {name} in FROM", call.location, hint="generate_series may stand there")
        args = [self.analyzer.expr(arg, scope) for arg in call.args]
        if len(args) not in (2, 3) or any(a.type not in (INT4, INT8, UNKNOWN) for a in args):
            raise unsupported("generate_series over anything but integers", call.location)
        of = INT8 if any(a.type is INT8 for a in args) else INT4
        parts: list[str | Expr] = [f"(SELECT CAST(g AS {of.duck}) AS o0 FROM generate_series("]
        for number, arg in enumerate(args):
            parts += [", " if number else "", self.analyzer.coerce(self.analyzer.coerce(arg, of), INT8)]
        parts += [") AS t(g))"]
        alias = node.alias.aliasname if node.HasField("alias") else name
        column = node.alias.colnames[0].string.sval if len(node.alias.colnames) else alias
        return self._derived(scope, alias, (Output(column, of),), tuple(parts), call.location)

    def _from_join(self, node: Node, scope: Scope) -> tuple[Parts, list[tuple[str, Expr | None, Relation | None]]]:
        left_count = len(scope.relations)
        left, left_stars = self._from(node.larg, scope)
        middle = len(scope.relations)
        right, right_stars = self._from(node.rarg, scope)
        left_relations, right_relations = scope.relations[left_count:middle], scope.relations[middle:]
        if node.HasField("alias"):
            raise unsupported("an alias of a join")
        word = {1: "JOIN", 2: "LEFT JOIN", 3: "FULL JOIN", 4: "RIGHT JOIN"}.get(node.jointype)
        if word is None:
            raise unsupported("this kind of join")
        for relation in (
            *(left_relations if word in ("RIGHT JOIN", "FULL JOIN") else ()),
            *(right_relations if word in ("LEFT JOIN", "FULL JOIN") else ()),
        ):
            relation.is_nullable = True
        using = [u.string.sval for u in node.using_clause]
        if node.is_natural:
            names = {n for n, _, _ in left_stars}
            using = [n for n, _, _ in right_stars if n in names]
        if using:
            return self._using(scope, word, (left, left_stars), (right, right_stars), using)
        if not node.HasField("quals"):
            return ("(", *left, " CROSS JOIN ", *right, ")"), [*left_stars, *right_stars]
        visible = Scope(scope.parent, [*left_relations, *right_relations], scope.merged)
        condition = self.analyzer.condition(node.quals, visible, "JOIN/ON")
        if word == "JOIN":
            self._note_conditions(condition, visible)
        return ("(", *left, f" {word} ", *right, " ON ", condition, ")"), [*left_stars, *right_stars]

    def _using(
        self, scope: Scope, word: str, left: tuple[Parts, Any], right: tuple[Parts, Any], using: Sequence[str]
    ) -> tuple[Parts, list[tuple[str, Expr | None, Relation | None]]]:
        tests: list[Expr] = []
        merged: list[tuple[str, Expr | None, Relation | None]] = []
        for name in using:
            a, b = (self._side(side[1], name) for side in (left, right))
            tests.append(self.analyzer.operator("=", (a, b), -1))
            (x, y), of = self.analyzer.common((a, b), "JOIN/USING")
            both: Expr = x if word in ("JOIN", "LEFT JOIN") else y
            if word == "FULL JOIN":
                both = Call("coalesce", "coalesce({0}, {1})", (x, y), of, strict=False)
            scope.merged[name] = both
            merged.append((name, both, None))
        condition: list[str | Expr] = []
        for number, test in enumerate(tests):
            condition += [" AND " if number else "", test]
        rest = [s for s in (*left[1], *right[1]) if s[0] not in using]
        return ("(", *left[0], f" {word} ", *right[0], " ON ", *condition, ")"), [*merged, *rest]

    def _side(self, stars: Sequence[tuple[str, Expr | None, Relation | None]], name: str) -> Expr:
        found = [(expr, relation) for n, expr, relation in stars if n == name]
        if len(found) != 1:
            how = "does not exist in" if not found else "appears more than once in"
            raise SqlError(
                "42703" if not found else "42702", f'column "{name}" specified in USING clause {how} one table'
            )
        expr, relation = found[0]
        if expr is not None:
            return expr
        assert relation is not None
        return relation.column(name)


def _target_place(select: Node, number: int) -> int:
    targets = select.target_list
    return int(targets[number].res_target.location) if number < len(targets) else -1


# -- small calculations -----------------------------------------------------------------------------------------


def is_aggregated(expr: Expr) -> bool:
    return any(True for _ in aggregates_in(expr))


def ungrouped(expr: Expr, groups: tuple[Expr, ...], mine: set[int]) -> list[ColumnRef]:
    """Columns of this query's relations that stand outside aggregates and grouped expressions."""
    if expr in groups or (isinstance(expr, Fragment) and expr.is_aggregate):
        return []
    if isinstance(expr, ColumnRef):
        return [expr] if expr.relation in mine else []
    inner: Sequence[Expr] = ()
    if isinstance(expr, Call):
        inner = expr.args
    elif isinstance(expr, Fragment):
        inner = [p for p in expr.parts if not isinstance(p, str)]
    return [loose for part in inner for loose in ungrouped(part, groups, mine)]


def qualified(column: ColumnRef, scope: Scope) -> str:
    owner = next((r for r in scope.relations if (r.scan.number if r.scan else r.number) == column.relation), None)
    return f"{owner.name}.{column.name}" if owner else column.name


def renamed(outputs: Sequence[Output], names: Sequence[str], alias: str, offset: int) -> tuple[Output, ...]:
    if len(names) > len(outputs):
        message = f'table "{alias}" has {len(outputs)} columns available but {len(names)} columns specified'
        raise SqlError(INVALID_COLUMN_REFERENCE, message, offset)
    return tuple(Output(names[i] if i < len(names) else o.name, o.type) for i, o in enumerate(outputs))


def is_recursive(cte: Node) -> bool:
    """Whether a WITH query names itself."""
    return any(
        type(message).__name__ == "RangeVar" and message.relname == cte.ctename and not message.schemaname
        for _, message in walk_tree(cte.ctequery)
    )


def star_of(node: Node) -> str | None:
    """ "" for *, the qualifier for t.*, None for anything else."""
    if node.WhichOneof("node") != "column_ref":
        return None
    fields = node.column_ref.fields
    if fields[-1].WhichOneof("node") != "a_star":
        return None
    return str(fields[-2].string.sval) if len(fields) > 1 else ""


NO_NAME = ("?column?", 0)


def implied_name(node: Node) -> str:
    """The name PostgreSQL gives a column of a result that has none of its own."""
    return named(node)[0]


def named(node: Node) -> tuple[str, int]:
    """A name, and how strongly it suggests itself: 2 columns and functions, 1 casts and CASE, 0 nothing."""
    kind = node.WhichOneof("node")
    if kind == "column_ref":
        return str(node.column_ref.fields[-1].string.sval), 2
    if kind == "func_call":
        return str(node.func_call.funcname[-1].string.sval), 2
    if kind == "type_cast":
        inner = named(node.type_cast.arg)
        return inner if inner[1] > 1 else (str(node.type_cast.type_name.names[-1].string.sval), 1)
    if kind == "collate_clause":
        return named(node.collate_clause.arg)
    if kind == "a_expr" and pb.A_Expr_Kind.Name(node.a_expr.kind) == "AEXPR_NULLIF":
        return "nullif", 2
    if kind == "min_max_expr":
        return ("greatest" if node.min_max_expr.op == 1 else "least"), 2
    if kind == "coalesce_expr":
        return "coalesce", 2
    if kind == "sqlvalue_function":
        return pb.SQLValueFunctionOp.Name(node.sqlvalue_function.op).removeprefix("SVFOP_").lower(), 2
    if kind == "case_expr":
        inner = named(node.case_expr.defresult) if node.case_expr.HasField("defresult") else NO_NAME
        return inner if inner[1] else ("case", 1)
    if kind == "sub_link":
        return _named_subquery(node.sub_link)
    return NO_NAME


def _named_subquery(link: Node) -> tuple[str, int]:
    kind = pb.SubLinkType.Name(link.sub_link_type)
    if kind == "EXISTS_SUBLINK":
        return "exists", 2
    targets = link.subselect.select_stmt.target_list
    if kind != "EXPR_SUBLINK" or not len(targets):
        return NO_NAME
    target = targets[0].res_target
    return (str(target.name), 2) if target.name else named(target.val)
