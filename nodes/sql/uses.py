"""Uses of tables in a query, and which of its conditions bound the rows of each. Pure.

    SELECT .. FROM flights f JOIN crews c ON c.id = f.crew
    WHERE f.id = 7 AND EXISTS (SELECT 1 FROM delays d WHERE d.flight = f.id)

    f    f.id = 7           a condition: a constant bounds its key
    c    c.id = f.crew      a link to a table beside it
    d    d.flight = f.id    a link to a relation of a query around it

A condition that is not understood bounds nothing: PostgreSQL checks all of them again.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from postgast import pg_query_pb2 as pb

from catalog.descriptor import Descriptor
from catalog.elements import Column, ColumnId
from catalog.text.sql_names import quoted
from catalog.values.types import SqlType
from expressions.analysis.analyzer import Analyzer
from expressions.analysis.building import Parameters
from expressions.analysis.scopes import Merged, Relation, Scan, Scope
from expressions.dates.zones import PLAIN, TimeStyle
from expressions.errors import FEATURE_NOT_SUPPORTED, PROGRAM_LIMIT, UNDEFINED_COLUMN, SqlError, unsupported
from expressions.literals import reading, respelled
from expressions.sqltypes import INT4, INT8, PARAMETER_OIDS, TEXT, UNKNOWN, VARCHAR
from expressions.typed import Call, ColumnRef, Expr, modifier_of, modifier_of_all, walk
from nodes.catalog_queries.asks import key_of
from nodes.sql.admission import nodes_in
from nodes.sql.column_names import implied_name, star_of
from nodes.sql.conditions.predicates import conjuncts, refuses_nulls
from nodes.sql.edits import text_of
from nodes.sql.extent import JOINED_MAX, Extent
from nodes.sql.naming import SCHEMAS, ViewInUse, check_public, not_there, style_of
from nodes.sql.statements import parse
from nodes.sql.tables_in_place import no_sample
from storage.sql_values import can_encode

Node = Any
Place = tuple[int, ...]
"""Where a table's name stands in the text; of a view's table, where the view's does, then where it is in the view."""
Columns = tuple[tuple[str, Expr | None], ...] | None
"""Names of columns with what is known of each; None where not even the names are."""
INNER, LEFT, FULL, RIGHT = pb.JOIN_INNER, pb.JOIN_LEFT, pb.JOIN_FULL, pb.JOIN_RIGHT
LOOKED_AT = ("from_clause", "with_clause", "where_clause")
DERIVED = 1_000_000
"""Numbers of relations that are no tables begin here."""


@dataclass(frozen=True, slots=True)
class Named:
    """A table with the names that a view gives its columns; None: its own."""

    version: Descriptor
    columns: Mapping[str, ColumnId] | None = None


def tables_of(view: ViewInUse) -> dict[str, Named]:
    columns = {use.name: use.columns for use in view.definition.tables}
    return {name: Named(version, columns[name]) for name, version in view.tables.items()}


def widths_of(view: ViewInUse) -> dict[str, int | None]:
    return {use.name: use.columns for use in view.definition.views}


@dataclass(frozen=True, slots=True)
class Link:
    """`column = expression`: of a relation of a query around this one, or of a table beside it."""

    column: Column
    sql: str
    """The expression, with the name of its relation; that of a table beside is given when its query is made."""
    of: SqlType
    other: int
    """The number of the other relation."""
    source: Column | None = None
    """The column of a table beside."""


@dataclass(eq=False)
class LinkedScan(Scan):
    links: list[Link] = field(default_factory=list)
    is_joined: bool = False
    """PostgreSQL can join it, though it stands in a subquery: EXISTS and IN among the conditions."""
    is_repeated: bool = False
    """It is read for each row of a query around it."""


def is_searched(scan: Scan) -> bool:
    """True for a table that is read for each row around, where no lookup finds its rows."""
    return isinstance(scan, LinkedScan) and scan.is_repeated and not scan.is_joined


@dataclass(eq=False)
class _Source(Relation):
    """An item of FROM. The type of a column may be unknown; `is_opaque`: not even the names are known."""

    order: tuple[str, ...] = ()
    """The names of all of its columns, also of those that share one."""
    is_opaque: bool = False
    below: Mapping[str, ColumnRef] = field(default_factory=dict)
    """Columns of a plain subquery or view that are columns of its tables, by their names for this level."""

    def names(self) -> list[str]:
        return list(self.order)

    def has(self, name: str) -> bool:
        return name in self.order or super().has(name)

    def column(self, name: str) -> Expr:
        if name not in self.columns:
            raise unsupported("a column of a type that is not known")
        return super().column(name)


@dataclass(eq=False)
class _Level(Scope):
    def find(self, name: str, offset: int) -> Expr | None:
        is_here = any(m.name == name for m in self.merged) or any(r.has(name) for r in self.relations)
        if not is_here and any(isinstance(r, _Source) and r.is_opaque for r in self.relations):
            raise unsupported("a name that may be of a relation with unknown columns", offset)
        return super().find(name, offset)

    def numbered(self, number: int) -> Relation | None:
        found = next((r for r in self.relations if r.number == number), None)
        return found or (self.parent.numbered(number) if isinstance(self.parent, _Level) else None)


@dataclass(frozen=True, slots=True)
class _Found:
    columns: Columns
    below: tuple[ColumnRef | None, ...] = ()


@dataclass(frozen=True, slots=True)
class Followed:
    """The meaning of the names of a SELECT, as far as it follows from the text alone."""

    scans: Mapping[Place, LinkedScan]
    """The uses of tables by their places, in the order in which they are met."""
    columns: Columns
    refusals: Mapping[int, SqlError]
    """Why a name at this place of the text means nothing, if PostgreSQL says so, too."""
    views: Mapping[str, ViewInUse]
    """The views that the text itself names."""
    loose: frozenset[str]
    """Names in the text that may be columns of any of its tables."""


def scans_in(
    select: Node,
    tables: Mapping[str, Descriptor],
    views: Mapping[str, ViewInUse],
    parameters: Parameters | None = None,
    style: TimeStyle = PLAIN,
) -> dict[Place, LinkedScan]:
    """The uses of tables in a SELECT, by their places, in the order in which they are met. Raises `SqlError`."""
    return dict(followed(select, tables, views, parameters, style).scans)


def followed(
    select: Node,
    tables: Mapping[str, Descriptor],
    views: Mapping[str, ViewInUse],
    parameters: Parameters | None = None,
    style: TimeStyle = PLAIN,
) -> Followed:
    """Finds the meaning of the names of a SELECT. Raises `SqlError` for a relation that is not there."""
    analyzer = Analyzer(parameters or Parameters(), style=style)
    walk_ = _Walk(analyzer, {name: Named(table) for name, table in tables.items()}, views)
    columns = walk_.query(select, None, {}).columns
    return Followed(walk_.scans, columns, walk_.refusals, walk_.read, frozenset(walk_.loose))


def literals_of(view: ViewInUse, style: TimeStyle) -> list[tuple[int, int, str]]:
    """Constants in the query of a view that `style` reads otherwise than its maker: where they stand, and in UTC."""
    definition = view.definition
    walk_ = _Walk(Analyzer(Parameters()), {}, {})
    with reading(style_of(definition), style) as read:
        walk_.within(view, 0)
    return respelled(definition.query, read)


@dataclass(eq=False)
class _Walk:
    analyzer: Analyzer
    tables: Mapping[str, Named]
    views: Mapping[str, ViewInUse]
    widths: Mapping[str, int | None] = field(default_factory=dict)
    """The number of columns of views that the query of a view knows; more may have been added since."""
    place: Place = ()
    scans: dict[Place, LinkedScan] = field(default_factory=dict)
    by_number: dict[int, LinkedScan] = field(default_factory=dict)
    refusals: dict[int, SqlError] = field(default_factory=dict)
    read: dict[str, ViewInUse] = field(default_factory=dict)
    loose: set[str] = field(default_factory=set)
    extent: Extent = field(default_factory=Extent)
    _serial: int = DERIVED

    # -- queries ------------------------------------------------------------------------------------------------

    def query(self, node: Node, parent: _Level | None, ctes: Mapping[str, Columns]) -> _Found:
        ctes = self._with(node, parent, ctes) if node.HasField("with_clause") else ctes
        level = _Level(parent)
        if node.op not in (0, 1):
            left, right = (self.query(side, parent, ctes).columns for side in (node.larg, node.rarg))
            self._inside(node, level, ctes, "sort_clause", "limit_count", "limit_offset")
            return _Found(_united(left, right))
        if len(node.values_lists):
            self._inside(node, level, ctes, "values_lists")
            rows = [item.list.items for item in node.values_lists]
            return _Found(
                tuple((f"column{n}", self._shared(column)) for n, column in enumerate(zip(*rows, strict=False), 1))
            )
        for item in node.from_clause:
            self._item(item, level, ctes)
        if node.HasField("where_clause"):
            self._note(node.where_clause, level, level.relations)
            self._conditions(node.where_clause, level, ctes)
        if node.HasField("having_clause"):
            self._expr(node.having_clause, level)
        others = (one.name for one, _ in node.ListFields() if one.name not in LOOKED_AT)
        self._inside(node, level, ctes, *others)
        columns = self._targets(node, level)
        if columns is None or not _is_plain(node):
            return _Found(columns)
        return _Found(columns, tuple(_below(expr, level.relations) for _, expr in columns))

    def _with(self, node: Node, parent: _Level | None, around: Mapping[str, Columns]) -> dict[str, Columns]:
        ctes = dict(around)
        items = [item.common_table_expr for item in node.with_clause.ctes]
        if node.with_clause.recursive:
            ctes |= dict.fromkeys([item.ctename for item in items])
        for item in items:
            if item.ctequery.WhichOneof("node") != "select_stmt":
                message = "WITH clause containing a data-modifying statement must be at the top level"
                raise SqlError(FEATURE_NOT_SUPPORTED, message, item.location)
            self.extent.with_query(item.location)
            columns = self.query(item.ctequery.select_stmt, parent, ctes).columns
            ctes[item.ctename] = _renamed(columns, [name.string.sval for name in item.aliascolnames])
        return ctes

    def _inside(self, node: Node, level: _Level, ctes: Mapping[str, Columns], *fields: str) -> None:
        for name in fields:
            value = getattr(node, name)
            for part in [value] if hasattr(value, "DESCRIPTOR") else value if hasattr(value, "__len__") else ():
                for inner in _outermost(part):
                    if inner.DESCRIPTOR.name == "SelectStmt":
                        self._subquery(inner, level, ctes)
                    else:
                        self._resolved(inner, level)

    def _subquery(self, node: Node, level: _Level, ctes: Mapping[str, Columns], *, is_joined: bool = False) -> _Found:
        """A query that sees the names of `level`; notes which tables it reads anew for each of its rows."""
        self.extent.subquery()
        before, known, level.is_reached = level.is_reached, len(self.scans), False
        found = self.query(node, level, ctes)
        for scan in list(self.scans.values())[known:]:
            scan.is_repeated = scan.is_repeated or level.is_reached
            scan.is_joined = scan.is_joined or is_joined
        level.is_reached = level.is_reached or before
        return found

    def _conditions(self, condition: Node, level: _Level, ctes: Mapping[str, Columns]) -> None:
        for conjunct in _conjuncts(condition):
            inner = conjunct
            while inner.WhichOneof("node") == "bool_expr" and inner.bool_expr.boolop == pb.NOT_EXPR:
                inner = inner.bool_expr.args[0]
            link = inner.sub_link if inner.WhichOneof("node") == "sub_link" else None
            if link is not None and link.sub_link_type in (pb.EXISTS_SUBLINK, pb.ANY_SUBLINK):
                self._inside(link, level, ctes, "testexpr")
                self._subquery(link.subselect.select_stmt, level, ctes, is_joined=True)
                continue
            for part in _outermost(conjunct):
                if part.DESCRIPTOR.name == "SelectStmt":
                    self._subquery(part, level, ctes)
                else:
                    self._resolved(part, level)

    # -- FROM ---------------------------------------------------------------------------------------------------

    def _item(self, node: Node, level: _Level, ctes: Mapping[str, Columns]) -> None:
        kind = node.WhichOneof("node")
        item = getattr(node, kind)
        if len(level.relations) >= JOINED_MAX:
            raise SqlError(PROGRAM_LIMIT, f"a query may name at most {JOINED_MAX} tables in FROM")
        if kind == "range_var":
            self._relation(item, level, ctes)
        elif kind == "range_subselect":
            inside = self._subquery if item.lateral else self.query
            found = inside(item.subquery.select_stmt, level if item.lateral else level.parent, ctes)  # type: ignore[arg-type]
            self._add(item, found, level)
        elif kind == "join_expr":
            self._join(item, level, ctes)
        elif kind == "range_function":
            self._function(item, level, ctes)
        elif kind == "range_table_sample":
            raise no_sample(item.location)
        else:
            for part in _outermost(item):
                if part.DESCRIPTOR.name == "SelectStmt":
                    self._subquery(part, level, ctes)
            level.relations.append(_Source(self._number(), item.alias.aliasname, is_opaque=True))

    def _relation(self, node: Node, level: _Level, ctes: Mapping[str, Columns]) -> None:
        name, alias = node.relname, node.alias.aliasname or node.relname
        renames = [one.string.sval for one in node.alias.colnames]
        if not node.schemaname and name in ctes:
            self._add(node, _Found(ctes[name]), level)
        elif node.schemaname in SCHEMAS and name in self.views:
            if not self.place:
                self.read[name] = self.views[name]
            self._add(node, self._view(self.views[name], node.location, self.widths.get(name)), level)
        elif node.schemaname in SCHEMAS and name in self.tables:
            named = self.tables[name]
            place = (*self.place, node.location)
            scan = LinkedScan(len(self.scans), named.version, place=place)
            self.scans[place] = self.by_number[scan.number] = scan
            columns = named.columns or {c.name: c.id for c in named.version.public_columns}
            shown = dict(zip([*renames, *list(columns)[len(renames) :]], columns.values(), strict=False))
            check_public(named.version, node)
            self.extent.relation(len(columns), node.location)
            scan.used.update([*columns.values()][: len(renames)])  # a view keeps the columns that it renames
            level.relations.append(Relation(scan.number, alias, scan=scan, named=shown))
        elif key_of(node) is not None:
            level.relations.append(_Source(self._number(), alias, is_opaque=True))
        else:
            raise not_there(node)

    def _view(self, view: ViewInUse, location: int, width: int | None) -> _Found:
        """A view, of which the query that names it knows so many columns. Its columns are shown as its own."""
        found = self.within(view, location)
        columns = []
        known = found.columns or [("", None)] * len(view.definition.columns)
        for (_, expr), (name, origin), about in zip(known, view.outputs(), view.definition.columns, strict=True):
            of = PARAMETER_OIDS.get(about.type_oid) if expr is None else expr.type
            ref = None if of is None else ColumnRef("", of, name, origin=origin, modifier=about.modifier)
            columns.append((name, ref))
        return _Found(tuple(columns[:width]), found.below)

    def within(self, view: ViewInUse, location: int) -> _Found:
        definition = view.definition
        [statement] = parse(definition.query)
        outside = self.tables, self.views, self.widths, self.place, self.analyzer.constants
        self.tables, self.views, self.widths = tables_of(view), view.views, widths_of(view)
        self.place, self.analyzer.constants = (*self.place, location), style_of(definition)
        try:
            return self.query(statement.node, None, {})
        except SqlError as error:
            error.offset = -1  # of a text that the client has not written
            raise
        finally:
            self.tables, self.views, self.widths, self.place, self.analyzer.constants = outside

    def _add(self, node: Node, found: _Found, level: _Level) -> None:
        alias = node.alias.aliasname or getattr(node, "relname", "")
        columns = _renamed(found.columns, [one.string.sval for one in node.alias.colnames])
        number = self._number()
        self.extent.relation(len(columns or ()), getattr(node, "location", -1))
        if columns is None:
            level.relations.append(_Source(number, alias, is_opaque=True))
            return
        typed: dict[str, Expr] = {}
        below: dict[str, ColumnRef] = {}
        for place, (name, expr) in enumerate(columns):
            if expr is None or expr.type is UNKNOWN:
                continue
            origin, modifier = shown_of(expr), modifier_of(expr)
            sql = f"s{number}.o{place}"
            typed[name] = ColumnRef(sql, expr.type, name, number, origin=origin, modifier=modifier)
            table = found.below[place] if place < len(found.below) else None
            if table is not None:
                below[f"s{number}.o{place}"] = table
        names = tuple(name for name, _ in columns)
        twice = frozenset(name for name, count in Counter(names).items() if count > 1)
        level.relations.append(_Source(number, alias, typed, duplicates=twice, order=names, below=below))

    def _function(self, node: Node, level: _Level, ctes: Mapping[str, Columns]) -> None:
        self.extent.relation(0, -1)
        self._inside(node, level, ctes, "functions")
        items = [item.list.items[0] for item in node.functions]
        call = items[0].func_call if items[0].WhichOneof("node") == "func_call" else None
        name = "" if call is None else call.funcname[-1].string.sval
        alias = node.alias.aliasname or name
        source = _Source(self._number(), alias, is_opaque=True)
        if call is not None and name == "generate_series" and len(items) == 1 and not node.ordinality:
            types = {None if one is None else one.type for one in (self._expr(arg, level) for arg in call.args)}
            if types <= {INT4, INT8}:
                column = node.alias.colnames[0].string.sval if len(node.alias.colnames) else alias
                of = INT8 if INT8 in types else INT4
                source.columns = {column: ColumnRef(f"s{source.number}.o0", of, column, source.number)}
                source.order, source.is_opaque = (column,), False
        level.relations.append(source)

    def _join(self, node: Node, level: _Level, ctes: Mapping[str, Columns]) -> None:
        if node.HasField("alias"):
            hidden = _Level(level.parent)
            self._sides(node, hidden, ctes)
            level.relations.append(_Source(self._number(), node.alias.aliasname, is_opaque=True))
        else:
            self._sides(node, level, ctes)

    def _sides(self, node: Node, level: _Level, ctes: Mapping[str, Columns]) -> None:
        first = len(level.relations)
        self._item(node.larg, level, ctes)
        middle = len(level.relations)
        self._item(node.rarg, level, ctes)
        left, right = level.relations[first:middle], level.relations[middle:]
        bounded = {INNER: [*left, *right], LEFT: right, RIGHT: left}.get(node.jointype, [])
        visible = _Level(level.parent, [*left, *right], level.merged)
        if node.HasField("quals"):
            self._note(node.quals, visible, bounded)
        for one in (
            *(right if node.jointype in (LEFT, FULL) else ()),
            *(left if node.jointype in (RIGHT, FULL) else ()),
        ):
            one.is_nullable = True
        if len(node.using_clause) or node.is_natural:
            self._merge([name.string.sval for name in node.using_clause], node, level, visible, (left, right), bounded)
        if node.HasField("quals"):
            self._conditions(node.quals, visible, ctes)
            level.is_reached = level.is_reached or visible.is_reached

    def _merge(
        self,
        names: Sequence[str],
        node: Node,
        level: _Level,
        visible: _Level,
        sides: Sequence[Sequence[Relation]],
        bounded: Sequence[Relation],
    ) -> None:
        if node.is_natural:
            here = [{name for relation in side for name in relation.names()} for side in sides]
            names = sorted(here[0] & here[1])
        for name in names:
            columns = [self._of_side(name, side, level) for side in sides]
            if columns[0] is None or columns[1] is None:
                continue
            column = columns[node.jointype == RIGHT] or columns[0]
            if node.jointype == FULL and isinstance(column, ColumnRef):
                column = replace(column, origin=(0, 0))  # it may be of either side
            level.merge(Merged(name, column, frozenset((*sides[0], *sides[1]))))
            self._link(columns[0], columns[1], visible, bounded)

    def _of_side(self, name: str, side: Sequence[Relation], level: _Level) -> Expr | None:
        try:
            return _Level(None, list(side), level.merged).find(name, -1)
        except SqlError:
            return None

    def _number(self) -> int:
        self._serial += 1
        return self._serial

    # -- conditions ---------------------------------------------------------------------------------------------

    def _note(self, condition: Node, level: _Level, bounded: Sequence[Relation]) -> None:
        """Has conditions that every row meets bound the tables, among `bounded`, that they name."""
        for conjunct in _conjuncts(condition):
            for left, right in _equals(conjunct):
                for one, other in ((left, right), (right, left)):
                    if one.HasField("column_ref") and not other.HasField("column_ref"):
                        self._link_to(self._resolved(one.column_ref, level), other, level, bounded)
                if left.HasField("column_ref") and right.HasField("column_ref"):
                    found = self._resolved(left.column_ref, level), self._resolved(right.column_ref, level)
                    self._link(*found, level, bounded)
            analyse = partial(self.analyzer.condition, conjunct, level, "WHERE")
            expr = self._analysed(conjunct, level, analyse)
            for part in () if expr is None else conjuncts(expr):
                self._bound(part, bounded)

    def _bound(self, condition: Expr, bounded: Sequence[Relation]) -> None:
        """A row of nothing but NULLs, which an outer join may add here or below, has to fail the condition."""
        relation = next((one for one in bounded if _relations(condition) == {one.number}), None)
        is_below = isinstance(relation, _Source)
        if relation is None or ((relation.is_nullable or is_below) and not refuses_nulls(condition)):
            return
        below = _of_columns(condition, relation.below) if isinstance(relation, _Source) else condition
        numbers = _relations(below)
        if below is not None and len(numbers) == 1 and (scan := self.by_number.get(numbers.pop())) is not None:
            scan.conditions.append(below)

    def _link(self, left: Expr | None, right: Expr | None, level: _Level, bounded: Sequence[Relation]) -> None:
        for mine, other in ((left, right), (right, left)):
            if not isinstance(mine, ColumnRef) or not isinstance(other, ColumnRef):
                continue
            relation = next((one for one in bounded if one.number == mine.relation), None)
            found = None if relation is None else self._stored(mine, relation)
            of = other.type.sql_type
            if found is None or of is None or not can_encode(found[1], of):
                continue
            scan, column = found
            beside = next((one for one in level.relations if one.number == other.relation), None)
            if beside is None:
                outside = level.numbered(other.relation)
                if outside is not None and outside.name and level.relation(outside.name) is outside:
                    sql = f"{quoted(outside.name)}.{quoted(other.name)}"
                    scan.links.append(Link(column, sql, of, other.relation))
                continue
            source = self._stored(other, beside)
            is_seen = source is not None and (not isinstance(beside, _Source) or not source[0].links)
            if source is not None and is_seen and source[0] is not scan:  # what a LATERAL query sees is not seen here
                scan.links.append(Link(column, "", of, source[0].number, source[1]))

    def _link_to(self, mine: Expr | None, node: Node, level: _Level, bounded: Sequence[Relation]) -> None:
        """Notes that a column is equal to an expression over relations around, if it may be computed at any time."""
        expr = self._expr(node, level)
        relation = next((r for r in bounded if isinstance(mine, ColumnRef) and r.number == mine.relation), None)
        if relation is None or expr is None or not _never_fails(node):
            return
        found, of = self._stored(mine, relation), expr.type.sql_type  # type: ignore[arg-type]
        others, here = _relations(expr), {one.number for one in level.relations}
        if found is None or of is None or not can_encode(found[1], of) or not others or others & here:
            return
        value = pb.Node()
        value.CopyFrom(node)
        for column in [one for one in nodes_in(value) if one.DESCRIPTOR.name == "ColumnRef"]:
            resolved = self._resolved(column, level)
            relation = level.numbered(resolved.relation) if isinstance(resolved, ColumnRef) else None
            if relation is None or not relation.name or level.relation(relation.name) is not relation:
                return
            del column.fields[:-1]
            column.fields.insert(0, pb.Node(string=pb.String(sval=relation.name)))
        found[0].links.append(Link(found[1], f"({text_of(value)})", of, min(others)))

    def _stored(self, column: ColumnRef, relation: Relation) -> tuple[LinkedScan, Column] | None:
        if isinstance(relation, _Source):
            below = relation.below.get(column.sql)
            if below is None:
                return None
            column = below
        scan = self.by_number.get(column.relation)
        return (
            None
            if scan is None or column.column_id is None
            else (scan, scan.descriptor.column(ColumnId(column.column_id)))
        )

    def _expr(self, node: Node, level: _Level) -> Expr | None:
        call = node.func_call
        if node.HasField("func_call") and call.funcname[-1].string.sval in ONE_OF_THE_ROWS:
            arg = self._expr(call.args[0], level) if len(call.args) == 1 else None
            if arg is None or arg.type is UNKNOWN:
                return None
            # of the type of x: the latest row of each group is found by it
            return Call(call.funcname[-1].string.sval, (arg,), TEXT if arg.type is VARCHAR else arg.type)
        return self._analysed(node, level, lambda: self.analyzer.expr(node, level), nodes_max=EXPR_NODES_MAX)

    def _resolved(self, node: Node, level: _Level) -> Expr | None:
        parts = [part.string.sval for part in node.fields if part.WhichOneof("node") == "string"]
        if len(parts) < len(node.fields):
            self.loose |= {c.name for r in level.relations if r.scan for c in r.scan.descriptor.public_columns}
            return None

        def resolve() -> Expr:
            try:
                return level.resolve(parts, node.location)
            except SqlError as error:
                if error.sqlstate == UNDEFINED_COLUMN and not self.place:
                    self.refusals[node.location] = error
                raise

        found = self._analysed(None, level, resolve)
        if found is None:
            self.loose.update(parts)
        return found

    def _analysed(
        self, node: Node, level: _Level, analyse: Callable[[], Expr], *, nodes_max: int | None = None
    ) -> Expr | None:
        """An expression without subqueries; None, and no trace of the attempt, for one that is not understood."""
        for count, one in enumerate(nodes_in(node) if node is not None else (), start=1):
            if one.DESCRIPTOR.name == "SubLink" or (nodes_max is not None and count > nodes_max):
                return None
        types, reached = list(self.analyzer.parameters.types), list[tuple[Scope, bool]]()
        around: Scope | None = level
        while around is not None:
            reached.append((around, around.is_reached))
            around = around.parent
        try:
            return analyse()
        except SqlError:
            self.analyzer.parameters.types[:] = types
            for one, was in reached:
                one.is_reached = was
            return None

    # -- columns ------------------------------------------------------------------------------------------------

    def _targets(self, node: Node, level: _Level) -> Columns:
        """The columns of a SELECT; None where a star stands for columns that are not known."""
        columns: list[tuple[str, Expr | None]] = []
        for item in node.target_list:
            target = item.res_target
            star = star_of(target.val)
            if star is None:
                columns.append((target.name or implied_name(target.val), self._expr(target.val, level)))
                continue
            if star:
                relations = [one for one in level.relations if one.name == star]
                meant = _all_of(relations[0]) if relations else None
            else:
                left = iter(level.relations)
                sides = [_starred(item, left) for item in node.from_clause]
                meant = None if None in sides else [one for side in sides for one in side or ()]
            if meant is None:
                return None
            columns += [(name, None if relation is None else _column(relation, name)) for name, relation in meant]
        return tuple(columns)

    def _shared(self, column: Sequence[Node]) -> Expr | None:
        exprs = [self._expr(value, _Level()) for value in column[:VALUES_MAX]]
        types = {None if expr is None else expr.type for expr in exprs}
        return exprs[0] if len(types) == 1 and len(column) <= VALUES_MAX else None


ONE_OF_THE_ROWS = frozenset({"max", "min"})
"""Aggregates that give a value of a row."""
VALUES_MAX = 100
"""Rows of VALUES whose types are looked at."""
EXPR_NODES_MAX = 2_000
"""A value of more nodes is not looked at: the store says its type, and names of columns are found without it."""


def _below(expr: Expr | None, relations: Sequence[Relation]) -> ColumnRef | None:
    relation = next((r for r in relations if isinstance(expr, ColumnRef) and r.number == expr.relation), None)
    if relation is None or not isinstance(expr, ColumnRef):
        return None
    return relation.below.get(expr.sql) if isinstance(relation, _Source) else expr


Starred = list[tuple[str, Relation | None]]
"""Columns that * stands for, each with the relation that has it; without one for a column of either side of a join."""


def _all_of(relation: Relation) -> Starred | None:
    if isinstance(relation, _Source) and relation.is_opaque:
        return None
    return [(name, relation) for name in relation.names()]


def _starred(node: Node, relations: Iterator[Relation]) -> Starred | None:
    """The columns that * means of an item of FROM, merged ones first. `relations` come in the order of FROM."""
    if node.WhichOneof("node") != "join_expr" or node.join_expr.HasField("alias"):
        return _all_of(next(relations))
    join = node.join_expr
    left, right = _starred(join.larg, relations), _starred(join.rarg, relations)
    if left is None or right is None:
        return None
    there = {name for name, _ in right}
    names = [name for name, _ in left if name in there] if join.is_natural else []
    names = names or [name.string.sval for name in join.using_clause]
    of = dict(right if join.jointype == RIGHT else left)
    merged = [(name, None if join.jointype == FULL else of.get(name)) for name in names]
    return [*merged, *((name, one) for side in (left, right) for name, one in side if name not in names)]


def shown_of(expr: Expr) -> tuple[int, int]:
    """The column of a table or view that an expression is, by the ids of both."""
    return expr.origin if isinstance(expr, ColumnRef) else (0, 0)


def _column(relation: Relation, name: str) -> Expr | None:
    try:
        return relation.column(name)
    except SqlError:
        return None


def _relations(expr: Expr | None) -> set[int]:
    return set() if expr is None else {part.relation for part in walk(expr) if isinstance(part, ColumnRef)}


def _conjuncts(condition: Node) -> Iterator[Node]:
    if condition.WhichOneof("node") == "bool_expr" and condition.bool_expr.boolop == pb.AND_EXPR:
        for arg in condition.bool_expr.args:
            yield from _conjuncts(arg)
    else:
        yield condition


def _equals(condition: Node) -> Iterator[tuple[Node, Node]]:
    if condition.WhichOneof("node") != "a_expr" or condition.a_expr.kind != pb.AEXPR_OP:
        return
    compared = condition.a_expr
    if [part.string.sval for part in compared.name] != ["="]:
        return
    sides = (compared.lexpr, compared.rexpr)
    left, right = ([*side.row_expr.args] if side.HasField("row_expr") else [side] for side in sides)
    yield from zip(left, right, strict=False)


NEVER_FAILING = frozenset({"lower", "upper", "||", "+", "-"})
"""Functions and operators that a lookup may compute although another condition keeps its row out."""


def _never_fails(node: Node) -> bool:
    """True for an expression over columns and constants that has a value for each row, but for an overflow."""
    for one in nodes_in(node):
        kind = one.DESCRIPTOR.name
        if kind == "FuncCall" and (len(one.funcname) > 1 or one.funcname[0].string.sval not in NEVER_FAILING):
            return False
        if kind == "A_Expr" and (one.kind != pb.AEXPR_OP or one.name[-1].string.sval not in NEVER_FAILING):
            return False
        if kind not in ("FuncCall", "A_Expr", "ColumnRef", "A_Const", "Node", "String", "Integer", "Float"):
            return False
    return True


def _outermost(node: Node) -> Iterator[Node]:
    pending = [node]
    while pending:
        message = pending.pop()
        if message.DESCRIPTOR.name in ("SelectStmt", "ColumnRef"):
            yield message
            continue
        for one, value in message.ListFields():
            if one.message_type is not None:
                pending += value if one.is_repeated else [value]


def _is_plain(node: Node) -> bool:
    """True if a SELECT has the rows of its FROM that meet its WHERE, and no others: a condition may go below it."""
    clauses = ("group_clause", "distinct_clause", "window_clause", "locking_clause", "sort_clause")
    if any(len(getattr(node, name)) for name in clauses):
        return False
    if node.HasField("having_clause") or node.HasField("limit_count") or node.HasField("limit_offset"):
        return False
    calls = (one for item in node.target_list for one in nodes_in(item))
    return all(one.DESCRIPTOR.name not in ("FuncCall", "SubLink") for one in calls)


def _united(left: Columns, right: Columns) -> Columns:
    if left is None or right is None or len(left) != len(right):
        return None if left is None else tuple((name, None) for name, _ in left)
    return tuple((name, _either(a, b)) for (name, a), (_, b) in zip(left, right, strict=True))


def _either(left: Expr | None, right: Expr | None) -> Expr | None:
    if left is None or right is None or left.type is not right.type or not isinstance(left, ColumnRef):
        return left if left is not None and right is not None and left.type is right.type else None
    return replace(left, origin=(0, 0), modifier=modifier_of_all((left, right)))


def _renamed(columns: Columns, names: Sequence[str]) -> Columns:
    if columns is None:
        return None
    return tuple((names[n] if n < len(names) else name, expr) for n, (name, expr) in enumerate(columns))


def _of_columns(expr: Expr, columns: Mapping[str, ColumnRef]) -> Expr | None:
    """The expression over other columns; None when one of its own is none of these, or it is more than a call."""
    if isinstance(expr, ColumnRef):
        return columns.get(expr.sql)
    if not isinstance(expr, Call):
        return expr
    args = [_of_columns(arg, columns) for arg in expr.args]
    return None if None in args else replace(expr, args=tuple(arg for arg in args if arg is not None))
