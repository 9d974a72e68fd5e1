"""A SELECT beside statements that write, from its parse tree: the types and names of its columns.

Every name is replaced by one of ours: tables are r0, r1, .. with columns c<id>, subqueries s0, s1, ..
with columns o0, o1, .. So two names that differ only in case stay two. The columns of each table, and the conditions
that bound it, are gathered on the way.
"""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import Any

from expressions.analysis.aggregates import aggregates_in, windows_in
from expressions.analysis.analyzer import Analyzer
from expressions.analysis.scopes import Scope
from expressions.errors import SYNTAX_ERROR, UNDEFINED_TABLE, SqlError, unsupported
from expressions.sqltypes import NUMBERED, SHOWN, Type
from expressions.typed import Expr, Fragment, Literal, Parameter, joined, refuse_unsorted, walk
from nodes.sql.column_names import implied_name, star_of
from nodes.sql.extent import Extent
from nodes.sql.naming import NO_VIEWS, Naming, ViewInUse, naming_of, style_of
from nodes.sql.queries.clauses import Clauses, Limit, Places, ordered_by, positions
from nodes.sql.queries.from_clause import FromClause, Star, note_conditions
from nodes.sql.queries.grouping import check_groups
from nodes.sql.queries.grouping_sets import Groups
from nodes.sql.queries.query import Parts, Query, SimpleSelect, Target, refuse_wide
from nodes.sql.queries.set_operations import SetOperations
from nodes.sql.queries.with_queries import WithQueries
from nodes.sql.statements import parse
from nodes.wire.columns import Output

Node = Any


@dataclass(eq=False)
class Selects:
    """Analyses the queries of one statement."""

    analyzer: Analyzer
    extent: Extent = field(default_factory=Extent)
    views: Mapping[str, ViewInUse] = field(default_factory=lambda: NO_VIEWS)
    naming: Naming = field(init=False)
    named: WithQueries = field(init=False)
    clauses: Clauses = field(init=False)
    _serial: int = 0

    def __post_init__(self) -> None:
        self.named, self.clauses = WithQueries(self), Clauses(self.analyzer)
        self.analyzer.subquery = self._subquery
        self.naming = Naming(self.analyzer.catalog, self.views)

    # -- whole queries ------------------------------------------------------------------------------------------

    def query(self, node: Node, parent: Scope | None = None, *, loose: bool = False) -> Query:
        """A SELECT, VALUES or set operation, with its WITH. `loose`: types that are still unknown may stay so."""
        with self.queries_before(node, parent) as before:
            body = self._body(node, parent, loose=loose)
            return Query((*before, *body.parts), body.outputs, loose=body.loose) if before else body

    def queries_before(self, node: Node, parent: Scope | None = None) -> AbstractContextManager[Parts]:
        """The WITH of a statement, whose queries may be named meanwhile."""
        return self.named.before(node, parent)

    def find_cte(self, name: str, offset: int) -> tuple[str, tuple[Output, ...]] | None:
        """The WITH query that a name means here: our name for it, and its columns."""
        return self.named.find(name, offset)

    def _body(self, node: Node, parent: Scope | None, *, loose: bool) -> Query:
        if node.HasField("into_clause"):
            raise unsupported("SELECT INTO")
        if len(node.values_lists):
            return SetOperations(self).values(node, parent)
        if node.op not in (0, 1):  # SETOP_UNDEFINED, SETOP_NONE
            return SetOperations(self).united(node, parent)
        return self._select(node, parent, loose=loose)

    def asked(self, node: Node, scope: Scope) -> Query:
        """A query that an expression asks."""
        self.extent.subquery()
        return self.query(node, scope)

    def _subquery(self, node: Node, scope: Scope) -> tuple[Parts, list[Type]]:
        query = self.asked(node, scope)
        return query.parts, [o.type for o in query.outputs]

    def shown(self, query: Query) -> Query:
        """The query as its client gets it: oids with names are shown by these."""
        if any(o.type is NUMBERED for o in query.outputs):
            raise unsupported("a whole row as a value", hint="name its fields, as in (keys).x")
        outputs = tuple(replace(o, type=SHOWN.get(o.type, o.type)) for o in query.outputs)
        return Query(query.parts, outputs)

    def view(self, view: ViewInUse, place: tuple[int, ...]) -> Query:
        """The query of a view that is named there, with the names that it was made with; its columns are the view's."""
        [statement] = parse(view.definition.query)
        naming, named, windows, constants = self.naming, self.named, self.analyzer.windows, self.analyzer.constants
        self.naming, self.named, self.analyzer.windows = naming_of(view, place), WithQueries(self), {}
        self.analyzer.constants = style_of(view.definition)
        try:
            query = self.query(statement.node)
        except SqlError as error:
            error.offset = -1  # its place is one of another text
            error.where = f'view "{view.definition.name}"'
            raise
        finally:
            self.naming, self.named, self.analyzer.windows = naming, named, windows
            self.analyzer.constants = constants
        named_outputs = zip(query.outputs, view.outputs(), strict=True)
        outputs = tuple(replace(output, name=name, origin=origin) for output, (name, origin) in named_outputs)
        return Query(query.parts, outputs, query.simple)

    def number(self) -> int:
        """One that no other relation of the statement has."""
        self._serial += 1
        return self._serial

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
        groups = self.clauses.groups(node, scope, places)
        having = None
        if node.HasField("having_clause"):
            having = self.analyzer.boolean(self.analyzer.expr(node.having_clause, scope), "HAVING")
        order = self.clauses.order(node, scope, places)
        distinct = self.clauses.distinct(node, scope, places, order)
        check_groups(scope, targets, groups, having, order)
        if len(node.locking_clause) or self.named.repeated:
            self._refuse_aggregates(node, targets, having, order)
        self.analyzer.windows = windows
        limit = self.clauses.limit(node)
        if limit.has_ties and distinct:
            raise unsupported("DISTINCT with FETCH .. WITH TIES", hint="select the distinct rows in a subquery")
        outputs = tuple(t.output for t in targets)
        parts = self._assemble(distinct, targets, from_parts, where, groups, having, order, limit)
        simple = None if loose else self._simple(node, scope, targets, where)
        return Query(parts, outputs, simple, tuple(t.expr for t in targets))

    def _refuse_aggregates(
        self, node: Node, targets: Sequence[Target], having: Expr | None, order: Sequence[tuple[Expr | int, str]]
    ) -> None:
        """Refuses groups where rows are locked, and aggregates where a query reads what it has found itself."""
        exprs = [t.expr for t in targets] + [key for key, _ in order if not isinstance(key, int)]
        exprs += [] if having is None else [having]
        found = next((part for expr in exprs for part in aggregates_in(expr)), None)
        grouping = found is not None or having is not None
        if self.named.reads_itself(node) and grouping:
            message = "aggregate functions are not allowed in a recursive query's recursive term"
            raise SqlError("42P19", message, -1 if found is None else found.offset)
        if not len(node.locking_clause):
            return
        what = {
            "DISTINCT clause": len(node.distinct_clause), "GROUP BY clause": len(node.group_clause),
            "HAVING clause": having is not None, "aggregate functions": found is not None,
            "window functions": any(True for expr in exprs for _ in windows_in(expr)),
        }  # fmt: skip
        refused = next((words for words, stands in what.items() if stands), None)
        if refused is not None:
            raise SqlError("0A000", f"FOR UPDATE is not allowed with {refused}")

    def _assemble(
        self,
        distinct: Parts,
        targets: Sequence[Target],
        from_parts: Sequence["str | Expr"],
        where: Expr | None,
        groups: Groups | None,
        having: Expr | None,
        order: Sequence[tuple[Expr | int, str]],
        limit: Limit,
    ) -> Parts:
        for group in groups.exprs if groups is not None else ():
            refuse_unsorted(group)
        group_by = () if groups is None else (" GROUP BY ", *groups.parts(groups.exprs))
        shown = joined((target.expr, f" AS o{number}") for number, target in enumerate(targets))
        if limit.has_ties:
            ranked = [(targets[key - 1].expr if isinstance(key, int) else key, direction) for key, direction in order]
            shown = [*(shown or ["NULL::INTEGER AS nothing"]), ", ", *positions(ranked)]
        parts = ["SELECT ", *distinct, *(shown or ["NULL::INTEGER AS nothing"])]
        parts += [" FROM ", *from_parts] if from_parts else []
        parts += [" WHERE ", where] if where is not None else []
        parts += [*group_by, *([" HAVING ", having] if having is not None else [])]
        if limit.has_ties:
            return limit.with_ties(tuple(parts), len(targets))
        return (*parts, *ordered_by(order), *limit.parts)

    def _simple(self, node: Node, scope: Scope, targets: Sequence[Target], where: Expr | None) -> SimpleSelect | None:
        """The query as one of one table, when it is a plain selection from it."""
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
                targets += self.star(star, scope, stars, target.location)
                refuse_wide(len(targets), target.location)
                continue
            expr = self.analyzer.expr(target.val, scope)
            expr = expr if loose and isinstance(expr, Literal | Parameter) else self.analyzer.known(expr)
            targets.append(Target(target.name or implied_name(target.val), expr, target.location))
        return targets

    def star(self, qualifier: str, scope: Scope, stars: Sequence[Star], offset: int) -> list[Target]:
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
