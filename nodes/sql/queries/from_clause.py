"""FROM: tables, subqueries, functions and joins, each a relation of the scope under a name of ours."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from postgast import pg_query_pb2 as pb

from catalog.elements import ColumnId
from expressions.analysis.analyzer import Analyzer
from expressions.analysis.calls import REFUSED, SESSION_VALUES
from expressions.analysis.scopes import Merged, Relation, Scan, Scope
from expressions.analysis.tree import function_name
from expressions.errors import (
    DUPLICATE_ALIAS,
    INVALID_COLUMN_REFERENCE,
    PROGRAM_LIMIT,
    SqlError,
    unsupported,
)
from expressions.functions import allowed
from expressions.sqltypes import (
    DATE,
    INT4,
    INT8,
    INTEGERS,
    INTERVAL,
    JSON,
    JSONB,
    TEXT,
    TIMESTAMP,
    TIMESTAMPTZ,
    UNKNOWN,
)
from expressions.typed import Call, ColumnRef, Expr, Fragment, joined, walk
from nodes.catalog_views import relations
from nodes.sql.conditions.predicates import conjuncts, refuses_nulls
from nodes.sql.extent import JOINED_MAX, Extent
from nodes.sql.naming import SCHEMAS, Naming, ViewInUse, table_of
from nodes.sql.queries.query import Parts, Query
from nodes.sql.tables_in_place import no_sample
from nodes.wire.columns import Output

Node = Any
Star = tuple[str, Expr | None, Relation | None]
"""One column that * stands for: its name, and its expression or the relation that has it."""
Stars = list[Star]
PAIRS = {"json_each": JSON, "jsonb_each": JSONB, "json_each_text": TEXT, "jsonb_each_text": TEXT}
"""Functions that give rows of a name and a value, and the type of these."""


class Queries(Protocol):
    """The queries of one statement, as far as its FROM clauses need them (`nodes.sql.queries.selects`)."""

    @property
    def analyzer(self) -> Analyzer: ...

    @property
    def extent(self) -> Extent: ...

    @property
    def naming(self) -> Naming: ...

    def view(self, view: ViewInUse, place: tuple[int, ...]) -> Query: ...

    def find_cte(self, name: str, offset: int) -> tuple[str, Sequence[Output]] | None: ...

    def query(self, node: Node, parent: Scope | None = None) -> Query: ...

    def number(self) -> int: ...


@dataclass(frozen=True, slots=True)
class FromClause:
    """Analyses what stands in the FROM of the queries of one statement."""

    selects: Queries

    @property
    def analyzer(self) -> Analyzer:
        return self.selects.analyzer

    def item(self, node: Node, scope: Scope) -> tuple[Parts, Stars]:
        """One item of a FROM: its text, and what * means of it. Its tables come into the scope."""
        kind = node.WhichOneof("node")
        if kind == "range_var":
            return self._from_table(node.range_var, scope)
        if kind == "range_subselect":
            return self._from_subselect(node.range_subselect, scope)
        if kind == "join_expr":
            return self._from_join(node.join_expr, scope)
        if kind == "range_function":
            return self._from_function(node.range_function, scope)
        if kind == "range_table_sample":
            raise no_sample(node.range_table_sample.location)
        raise unsupported(f"{str(kind).replace('_', ' ')} in FROM")

    def _add(self, scope: Scope, relation: Relation, offset: int) -> Stars:
        if any(r.name == relation.name for r in scope.relations):
            raise SqlError(DUPLICATE_ALIAS, f'table name "{relation.name}" specified more than once', offset)
        if len(scope.relations) >= JOINED_MAX:
            raise SqlError(PROGRAM_LIMIT, f"a query may name at most {JOINED_MAX} tables in FROM", offset)
        scope.relations.append(relation)
        return [(name, None, relation) for name in relation.names()]

    def _from_table(self, node: Node, scope: Scope) -> tuple[Parts, Stars]:
        alias = node.alias.aliasname if node.HasField("alias") else node.relname
        renames = [a.string.sval for a in node.alias.colnames] if node.HasField("alias") else []
        cte = self.selects.find_cte(node.relname, node.location) if not node.schemaname else None
        if cte is not None:
            return self._derived(scope, alias, renamed(cte[1], renames, alias, node.location), (cte[0],), node.location)
        known = relations.key_of(node.schemaname, node.relname)
        if known is not None and not node.catalogname:
            what = "reading pg_catalog in a statement that writes"
            raise unsupported(what, node.location, hint="read it first, by itself")
        naming = self.selects.naming
        view = naming.views.get(node.relname) if node.schemaname in SCHEMAS and not node.catalogname else None
        if view is not None:
            query = self.selects.view(view, (*naming.place, node.location))
            known_then = query.outputs[: naming.widths.get(node.relname)]
            outputs = renamed(known_then, renames, alias, node.location)
            derived = self._derived(scope, alias, outputs, ("(", *query.parts, ")"), node.location)
            scope.relations[-1].view_of = seen_through(query, scope.relations[-1])
            return derived
        descriptor = table_of(naming.tables, node)
        self.selects.extent.relation(len(descriptor.public_columns), node.location)
        scan = Scan(len(self.analyzer.scans), descriptor, place=(*naming.place, node.location))
        self.analyzer.scans.append(scan)
        named = naming.columns_of(node.relname)
        if renames:
            named = _renamed_columns(named or {c.name: c.id for c in descriptor.public_columns}, renames, alias, node)
            scan.used.update(named[name] for name in renames)  # a view keeps the columns it uses: the first ones, so
        relation = Relation(scan.number, alias, scan=scan, named=named)
        return (scan.sql,), self._add(scope, relation, node.location)

    def _from_subselect(self, node: Node, scope: Scope) -> tuple[Parts, Stars]:
        query = self.selects.query(node.subquery.select_stmt, scope if node.lateral else scope.parent)
        alias = node.alias.aliasname if node.HasField("alias") else f"unnamed_subquery_{self.selects.number()}"
        outputs = renamed(query.outputs, [a.string.sval for a in node.alias.colnames], alias, -1)
        if node.lateral:
            self.selects.extent.subquery()
        lateral = "LATERAL " if node.lateral else ""
        return self._derived(scope, alias, outputs, (f"{lateral}(", *query.parts, ")"), -1)

    def _derived(
        self, scope: Scope, alias: str, outputs: Sequence[Output], source: Parts, offset: int
    ) -> tuple[Parts, Stars]:
        self.selects.extent.relation(len(outputs), offset)
        number = self.selects.number() + 1_000_000  # apart from scans
        name = f"s{number}"
        names = [o.name for o in outputs]
        columns: dict[str, Expr] = {
            o.name: ColumnRef(f"{name}.o{i}", o.type, o.name, number, origin=o.origin, modifier=o.modifier)
            for i, o in enumerate(outputs)
        }
        twice = frozenset(name for name, count in Counter(names).items() if count > 1)
        relation = Relation(number, alias, columns, duplicates=twice)
        self._add(scope, relation, offset)
        refs = [
            ColumnRef(f"{name}.o{i}", o.type, o.name, number, origin=o.origin, modifier=o.modifier)
            for i, o in enumerate(outputs)
        ]
        return (*source, f" AS {name}"), [(o.name, ref, relation) for o, ref in zip(outputs, refs, strict=True)]

    def _from_function(self, node: Node, scope: Scope) -> tuple[Parts, Stars]:
        items = [item.list.items[0] for item in node.functions]
        if len(items) == 1 and items[0].WhichOneof("node") != "func_call":  # CURRENT_DATE
            return self._one_row(node, items[0], items[0].sqlvalue_function, scope)
        calls = [item.func_call for item in items]
        name = function_name(calls[0])
        if name == "generate_series" and not node.ordinality and len(calls) == 1:
            return self._series(node, calls[0], scope)
        names = [function_name(call) for call in calls]
        if len(calls) == 1 and is_of_one_value(name):
            return self._one_row(node, items[0], calls[0], scope)
        unknown = next((n for n in names if n not in allowed.SETS and n not in PAIRS), None)
        if unknown is not None or (len(calls) > 1 and any(n in PAIRS for n in names)):
            shown = unknown or "of two columns beside others"
            hint = REFUSED.get(shown, "generate_series, unnest and generate_subscripts may stand there")
            raise unsupported(f"function {shown} in FROM", calls[0].location, hint=hint)
        if len(calls) > 1:
            return self._several(node, calls, names, scope)
        self.selects.extent.subquery(calls[0].location)
        given = [self.analyzer.expr(arg, scope) for arg in calls[0].args]
        several = name == "unnest" and len(given) > 1
        each = [[arg] for arg in given] if several else [given]
        is_pair = name in PAIRS
        if is_pair:
            lists = [Call(name, tuple(map(self.analyzer.known, given)), of) for of in (TEXT, PAIRS[name])]
        else:
            lists = [self.analyzer.set_of(name, args, calls[0].location) for args in each]
        alias = node.alias.aliasname if node.HasField("alias") else name
        named = "value" if "_array_elements" in name else alias  # PostgreSQL's name of what they give
        titles = ["key", "value"] if is_pair else [name if several else named] * len(lists)
        return self._unnested(node, calls[0], lists, titles, scope, alias)

    def _several(self, node: Node, calls: Sequence[Node], names: Sequence[str], scope: Scope) -> tuple[Parts, Stars]:
        """ROWS FROM (f(..), g(..)): their rows side by side."""
        lists = []
        for name, call in zip(names, calls, strict=True):
            self.selects.extent.subquery(call.location)
            given = [self.analyzer.expr(arg, scope) for arg in call.args]
            lists.append(self.analyzer.set_of(name, given, call.location))
        alias = node.alias.aliasname if node.HasField("alias") else names[0]
        return self._unnested(node, calls[0], lists, names, scope, alias)

    def _unnested(
        self, node: Node, call: Node, lists: Sequence[Call], titles: Sequence[str], scope: Scope, alias: str
    ) -> tuple[Parts, Stars]:
        """Lists as columns, the shorter ones with NULLs at their end, and the numbers of their rows where asked for."""
        outputs = [Output(title, rows.type) for title, rows in zip(titles, lists, strict=True)]
        columns: list[Parts] = [("unnest(", rows, f") AS o{place}") for place, rows in enumerate(lists)]
        if node.ordinality:
            longest = ("greatest(", *joined(("len(", rows, ")") for rows in lists), ")")
            columns.append(("unnest(range(1, 1 + ", *longest, f")) AS o{len(lists)}"))
            outputs.append(Output("ordinality", INT8))
        names = [a.string.sval for a in node.alias.colnames]
        source: Parts = ("LATERAL (SELECT ", *joined(columns), ")")
        return self._derived(scope, alias, renamed(outputs, names, alias, call.location), source, call.location)

    def _one_row(self, node: Node, item: Node, call: Node, scope: Scope) -> tuple[Parts, Stars]:
        """A function of one value: the table of that value."""
        self.selects.extent.subquery(call.location)
        value = self.analyzer.known(self.analyzer.expr(item, scope))
        is_call = item.WhichOneof("node") == "func_call"
        name = function_name(call) if is_call else pb.SQLValueFunctionOp.Name(call.op).removeprefix("SVFOP_").lower()
        alias = node.alias.aliasname if node.HasField("alias") else name
        outputs = [Output(alias, value.type)]
        columns: list[Parts] = [(value, " AS o0")]
        if node.ordinality:
            outputs.append(Output("ordinality", INT8))
            columns.append(("CAST(1 AS BIGINT) AS o1",))
        named = renamed(outputs, [a.string.sval for a in node.alias.colnames], alias, call.location)
        return self._derived(scope, alias, named, ("LATERAL (SELECT ", *joined(columns), ")"), call.location)

    def _series(self, node: Node, call: Node, scope: Scope) -> tuple[Parts, Stars]:
        args = [self.analyzer.expr(arg, scope) for arg in call.args]
        if len(args) == 3 and args[0].type in (DATE, TIMESTAMP, TIMESTAMPTZ):
            return self._times(node, call, args, scope)
        if len(args) not in (2, 3) or any(a.type not in (*INTEGERS, UNKNOWN) for a in args):
            raise unsupported("generate_series over anything but integers and timestamps", call.location)
        of = INT8 if any(a.type is INT8 for a in args) else INT4
        whole = joined((self.analyzer.coerce(arg, of),) for arg in args)
        parts = ("(SELECT g AS o0 FROM generate_series(", *whole, ") AS t(g))")
        alias = node.alias.aliasname if node.HasField("alias") else "generate_series"
        column = node.alias.colnames[0].string.sval if len(node.alias.colnames) else alias
        return self._derived(scope, alias, (Output(column, of),), parts, call.location)

    def _times(self, node: Node, call: Node, args: Sequence[Expr], scope: Scope) -> tuple[Parts, Stars]:
        """generate_series over timestamps, each the one before and a step."""
        of = TIMESTAMP if args[0].type is args[1].type is TIMESTAMP else TIMESTAMPTZ
        if args[0].type is TIMESTAMP and args[1].type is UNKNOWN:
            of = TIMESTAMP
        start, stop = (self.analyzer.coerce(arg, of) for arg in args[:2])
        step = self.analyzer.coerce(args[2], INTERVAL)
        source: Parts = ("(SELECT g AS o0 FROM generate_series(", start, ", ", stop, ", ", step, ") AS t(g))")
        alias = node.alias.aliasname if node.HasField("alias") else "generate_series"
        column = node.alias.colnames[0].string.sval if len(node.alias.colnames) else alias
        return self._derived(scope, alias, (Output(column, of),), source, call.location)

    def _from_join(self, node: Node, scope: Scope) -> tuple[Parts, Stars]:
        left_count = len(scope.relations)
        left, left_stars = self.item(node.larg, scope)
        middle = len(scope.relations)
        right, right_stars = self.item(node.rarg, scope)
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
            sides = frozenset((*left_relations, *right_relations))
            return self._using(scope, sides, word, (left, left_stars), (right, right_stars), using)
        if not node.HasField("quals"):
            return ("(", *left, " CROSS JOIN ", *right, ")"), [*left_stars, *right_stars]
        visible = Scope(scope.parent, [*left_relations, *right_relations], scope.merged)
        condition = self.analyzer.condition(node.quals, visible, "JOIN/ON")
        if word == "JOIN":
            note_conditions(condition, visible)
        return ("(", *left, f" {word} ", *right, " ON ", condition, ")"), [*left_stars, *right_stars]

    def _using(
        self,
        scope: Scope,
        relations: frozenset[Relation],
        word: str,
        left: tuple[Parts, Any],
        right: tuple[Parts, Any],
        using: Sequence[str],
    ) -> tuple[Parts, Stars]:
        tests: list[Expr] = []
        merged: list[Star] = []
        sides = [by_name(stars) for _, stars in (left, right)]
        for name in using:
            a, b = (self._side(side.get(name, ()), name) for side in sides)
            tests.append(self.analyzer.operator("=", (a, b), -1))
            (x, y), of = self.analyzer.common((a, b), "JOIN/USING")
            both: Expr = x if word in ("JOIN", "LEFT JOIN") else y
            if word == "FULL JOIN":
                both = Call("coalesce", (x, y), of, strict=False)
            scope.merge(Merged(name, both, relations))
            merged.append((name, both, None))
        condition = joined(((test,) for test in tests), " AND ")
        shared = frozenset(using)
        rest = [s for s in (*left[1], *right[1]) if s[0] not in shared]
        return ("(", *left[0], f" {word} ", *right[0], " ON ", *condition, ")"), [*merged, *rest]

    def _side(self, found: Sequence[Star], name: str) -> Expr:
        if len(found) != 1:
            how = "does not exist in" if not found else "appears more than once in"
            raise SqlError(
                "42703" if not found else "42702", f'column "{name}" specified in USING clause {how} one table'
            )
        _, expr, relation = found[0]
        if expr is not None:
            return expr
        assert relation is not None
        return relation.column(name)


def is_of_one_value(name: str) -> bool:
    return name not in allowed.SETS and (name in allowed.FUNCTIONS or name in (*SESSION_VALUES, "pg_backend_pid"))


def by_name(stars: Stars) -> dict[str, Stars]:
    """The columns of each name."""
    found: dict[str, Stars] = {}
    for star in stars:
        found.setdefault(star[0], []).append(star)
    return found


def note_conditions(condition: Expr, scope: Scope) -> None:
    """Conditions that every row of the result meets bound the scans of the tables they name."""
    for conjunct in conjuncts(condition):
        numbers = {e.relation for e in walk(conjunct) if isinstance(e, ColumnRef)}
        for relation in scope.relations:
            if numbers != {relation.number} or (relation.is_nullable and not refuses_nulls(conjunct)):
                continue
            if relation.scan is not None:
                relation.scan.conditions.append(conjunct)
            elif relation.view_of is not None:
                scan, columns = relation.view_of
                below = of_columns(conjunct, columns)
                scan.conditions += [] if below is None else [below]


def seen_through(query: Query, relation: Relation) -> tuple[Scan, Mapping[str, ColumnRef]] | None:
    """The table of a view that selects from one alone, and those of its columns that are columns of that table."""
    if query.simple is None:
        return None
    columns = {f"s{relation.number}.o{i}": e for i, e in enumerate(query.simple.targets) if isinstance(e, ColumnRef)}
    return query.simple.scan, columns


def of_columns(expr: Expr, columns: Mapping[str, ColumnRef]) -> Expr | None:
    """The expression over other columns; None when one of its own is none of these, or it is more than a call."""
    if isinstance(expr, ColumnRef):
        return columns.get(expr.sql)
    if not isinstance(expr, Call):
        return None if isinstance(expr, Fragment) else expr
    args = [of_columns(arg, columns) for arg in expr.args]
    return None if None in args else replace(expr, args=tuple(arg for arg in args if arg is not None))


def _renamed_columns(
    columns: Mapping[str, ColumnId], names: Sequence[str], alias: str, node: Node
) -> dict[str, ColumnId]:
    """The columns of a table under the names that an alias gives them, the first ones first."""
    if len(names) > len(columns):
        message = f'table "{alias}" has {len(columns)} columns available but {len(names)} columns specified'
        raise SqlError(INVALID_COLUMN_REFERENCE, message, node.location)
    called = [*names, *list(columns)[len(names) :]]
    if len(set(called)) < len(called):
        raise unsupported("an alias that gives two columns one name", node.location)
    return dict(zip(called, columns.values(), strict=True))


def renamed(outputs: Sequence[Output], names: Sequence[str], alias: str, offset: int) -> tuple[Output, ...]:
    """The columns under the names that an alias gives them, the first ones first."""
    if len(names) > len(outputs):
        message = f'table "{alias}" has {len(outputs)} columns available but {len(names)} columns specified'
        raise SqlError(INVALID_COLUMN_REFERENCE, message, offset)
    return tuple(replace(o, name=names[i]) if i < len(names) else o for i, o in enumerate(outputs))
