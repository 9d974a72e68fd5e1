"""The table that a statement writes: its columns, what is assigned to them, and RETURNING.

Types, names and states are checked here; values are checked where rows are made.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from postgast import pg_query_pb2 as pb
from postgast import walk as walk_tree

from catalog.descriptor import Descriptor
from catalog.elements import Column, ColumnId, State
from catalog.text.similar import perhaps
from catalog.values.arrays import OF_ONE_DIMENSION
from catalog.values.types import SqlType
from expressions.analysis.aggregates import refuse_aggregates
from expressions.analysis.analyzer import Analyzer
from expressions.analysis.array_elements import element_assigned, slice_assigned
from expressions.analysis.building import Parameters
from expressions.analysis.scopes import Relation, Scan, Scope, hidden_column, not_public
from expressions.dates.zones import PLAIN, TimeStyle
from expressions.errors import (
    DATATYPE_MISMATCH,
    NOT_IN_PREREQUISITE_STATE,
    PROGRAM_LIMIT,
    SYNTAX_ERROR,
    UNDEFINED_COLUMN,
    SqlError,
    unsupported,
)
from expressions.functions.casts import is_assigned
from expressions.functions.volatile import worked_out_here
from expressions.rows import parsed
from expressions.sqltypes import OF_SQL_TYPE, TEXT, UNKNOWN, Type
from expressions.typed import Call, ColumnRef, Expr, Fragment, Literal, replaced, walk
from nodes.sql.column_names import implied_name, star_of
from nodes.sql.naming import NO_VIEWS, SCHEMAS, ViewInUse, table_of
from nodes.sql.plans import Beside, Returning, Source
from nodes.sql.queries.from_clause import Star, Stars
from nodes.sql.queries.query import Target, refuse_wide
from nodes.sql.queries.selects import Selects
from nodes.sql.writes.identity import refuse_assigned
from nodes.sql.writes.pieces import ACTION as MERGE_ACTION
from nodes.sql.writes.pieces import ACTIONS
from nodes.wire.columns import Columns

Node = Any
ACTION = ColumnRef("", TEXT, MERGE_ACTION, column_id=-1)
"""What merge_action() stands for in RETURNING: INSERT, UPDATE or DELETE."""
FIRST_BESIDE = -2
"""As columns of a row, those beside it that RETURNING shows have numbers from this one downwards."""
ELEMENTS_ASSIGNED_MAX = 100
"""Of one column: each is an expression around the one before."""


@dataclass(eq=False)
class Assignments:
    """The assignments and the RETURNING of one INSERT, UPDATE or DELETE."""

    catalog: Mapping[str, Descriptor]
    parameters: Parameters
    style: TimeStyle = PLAIN
    views: Mapping[str, ViewInUse] = field(default_factory=lambda: NO_VIEWS)
    source: Source | None = None
    """The query of an INSERT, where PostgreSQL has described it."""
    analyzer: Analyzer = field(init=False)
    selects: Selects = field(init=False)

    def __post_init__(self) -> None:
        self.analyzer = Analyzer(self.catalog, self.parameters, style=self.style)
        self.selects = Selects(self.analyzer, views=self.views)

    def is_view(self, relation: Node) -> bool:
        return relation.relname in self.views and relation.schemaname in SCHEMAS

    def written(self, relation: Node, words: str) -> Descriptor:
        """The table that a statement writes. Raises 55000 for a view."""
        if self.is_view(relation):
            message = f'cannot {words} view "{relation.relname}"'
            hint = "write to the tables that it reads"
            raise SqlError(NOT_IN_PREREQUISITE_STATE, message, detail="Views are read only here.", hint=hint)
        return table_of(self.catalog, relation)

    def _target(self, node: Node, descriptor: Descriptor) -> tuple[Scan, Scope]:
        """The table that is written, as a statement finds its rows and calls its columns."""
        scan = Scan(len(self.analyzer.scans), descriptor)
        self.analyzer.scans.append(scan)
        alias = node.relation.alias.aliasname if node.relation.HasField("alias") else descriptor.name
        return scan, Scope(None, [Relation(scan.number, alias, scan=scan)])

    def _assignments(self, targets: Iterable[Node], descriptor: Descriptor, scope: Scope) -> dict[ColumnId, Expr]:
        assignments: dict[ColumnId, Expr] = {}
        parts: Counter[ColumnId] = Counter()
        for item in targets:
            target = item.res_target
            column = self.column(descriptor, target.name, target.location)
            is_part = len(target.indirection) > 0
            if column.id in assignments and not (is_part and column.id in parts):
                message = f'multiple assignments to same column "{column.name}"'
                raise SqlError(SYNTAX_ERROR, message, target.location)
            if is_part:
                parts[column.id] += 1
                if parts[column.id] > ELEMENTS_ASSIGNED_MAX:
                    message = (
                        f'at most {ELEMENTS_ASSIGNED_MAX} elements of column "{column.name}" may be assigned at once'
                    )
                    raise SqlError(PROGRAM_LIMIT, message, target.location, hint="assign the whole column")
                assignments[column.id] = self._with_part(target, column, assignments.get(column.id), scope)
                continue
            expr = self._assigned(target.val, column, scope, "UPDATE")
            refuse_assigned(column, expr)
            if expr is None:
                expr = self.defaults(descriptor).get(column.id, Literal(None, OF_SQL_TYPE[column.type]))
            assignments[column.id] = expr
        return assignments

    def _with_part(self, target: Node, column: Column, array: Expr | None, scope: Scope) -> Expr:
        """SET a[2] = .. or a[2:3] = ..: the array with other elements; `array` is what the column is given so far."""
        (first, *more), whole = target.indirection, "assign the whole column"
        if column.type.element is None:
            if column.type is SqlType.JSONB:
                raise unsupported(f"SET of a part of {column.name}", target.location, f"{whole}, with jsonb_set")
            message = f"cannot subscript type {column.type_name} because it does not support subscripting"
            raise SqlError(DATATYPE_MISMATCH, message, target.location)
        if any(item.WhichOneof("node") != "a_indices" for item in target.indirection):
            raise unsupported(f"SET of a field of {column.name}", target.location, whole)
        if more:
            raise unsupported(f"SET of {column.name} as an array of arrays", target.location, OF_ONE_DIMENSION)
        if is_default(target.val):
            raise SqlError("0A000", "cannot set an array element to DEFAULT", target.location)
        is_slice = first.a_indices.is_slice
        bounds = self.analyzer.bounds(first.a_indices, scope)
        part = column if is_slice else replace(column, type=column.type.element)
        try:
            value = self._assigned(target.val, part, scope, "UPDATE")
        except SqlError as error:
            if error.sqlstate == DATATYPE_MISMATCH:
                error.offset = target.location
            raise
        assert value is not None
        array = scope.relations[0].column(column.name) if array is None else array
        if is_slice:
            return slice_assigned(array, bounds, value, target.location)
        number = bounds[1]
        assert number is not None
        return element_assigned(array, number, value, target.location)

    def _given(self, node: Node, scope: Scope) -> Expr:
        """The expression that is assigned to a column: also one of SET (a, b) = (.., ..) or = (SELECT .., ..)."""
        if node.WhichOneof("node") != "multi_assign_ref":
            return self.analyzer.expr(node, scope)
        several = node.multi_assign_ref
        kind, place = several.source.WhichOneof("node"), several.colno - 1
        if kind == "row_expr":
            items = several.source.row_expr.args
            self._refuse_uneven(several.ncolumns, len(items), several.source.row_expr.location)
            return self.analyzer.expr(items[place], scope)
        if kind != "sub_link":
            raise unsupported("SET (..) = this", hint="assign each column by itself")
        link = several.source.sub_link
        query = self.selects.asked(link.subselect.select_stmt, scope)
        self._refuse_uneven(several.ncolumns, len(query.outputs), link.location)
        parts = (f"(SELECT o{place} FROM (", *query.parts, ") AS given)")
        return Fragment(parts, query.outputs[place].type, is_query=True, offset=link.location)

    def _refuse_uneven(self, columns: int, values: int, offset: int) -> None:
        if columns != values:
            raise SqlError(SYNTAX_ERROR, "number of columns does not match number of values", offset)

    # -- pieces -------------------------------------------------------------------------------------------------

    def column(self, descriptor: Descriptor, name: str, offset: int) -> Column:
        """The public column a statement writes to. Raises 42703, with its state when it has one."""
        for column in descriptor.public_columns:
            if column.name == name:
                return column
        hidden = hidden_column(descriptor, name)
        if hidden is not None:
            raise not_public(descriptor, hidden, offset)
        message = f'column "{name}" of relation "{descriptor.name}" does not exist'
        hint = perhaps("column", name, (one.name for one in descriptor.public_columns))
        raise SqlError(UNDEFINED_COLUMN, message, offset, hint=hint, column=name)

    def _assigned(self, node: Node, column: Column, scope: Scope, clause: str) -> Expr | None:
        """The value for a column, by the casts an assignment may use; None for DEFAULT."""
        if is_default(node):
            return None
        expr = self._given(node, scope)
        refuse_aggregates(expr, clause)
        refuse_sets(expr, clause)
        if expr.type is not UNKNOWN:
            self._refuse_type(column, expr.type, expr.offset)
        assigned = self.analyzer.coerce(expr, OF_SQL_TYPE[column.type], assignment=True)
        return self.analyzer.of_length(assigned, column.length, is_explicit=False)

    def _refuse_type(self, column: Column, given: Type, offset: int) -> None:
        wanted = OF_SQL_TYPE[column.type]
        if given is not wanted and not is_assigned(given, wanted):
            raise SqlError(
                DATATYPE_MISMATCH,
                f'column "{column.name}" is of type {wanted} but expression is of type {given}',
                offset,
                hint="you will need to rewrite or cast the expression",
            )

    def defaults(self, descriptor: Descriptor) -> dict[ColumnId, Expr]:
        """The defaults of the columns that an insert puts: public ones and write-only ones."""
        found: dict[ColumnId, Expr] = {}
        for column in descriptor.columns:
            if column.default is not None and column.state in (State.PUBLIC, State.WRITE_ONLY):
                expr = worked_out_here(self.analyzer.expr(parsed(column.default), Scope()))
                value = self.analyzer.coerce(expr, OF_SQL_TYPE[column.type], assignment=True)
                found[column.id] = self.analyzer.of_length(value, column.length, is_explicit=False)
        return found

    def _returning(
        self, node: Node, scope: Scope, others: Sequence[Star] = (), *, others_first: bool = False
    ) -> Returning | None:
        if not node.HasField("returning_clause"):
            return None
        if len(node.returning_clause.options):
            raise unsupported("RETURNING WITH (..)")
        (table, *_) = scope.relations
        own: Stars = [(name, None, table) for name in table.names()]
        stars: Stars = [*others, *own] if others_first else [*own, *others]
        refuse_wide(len(node.returning_clause.exprs))
        targets: list[Target] = []
        widths: list[int] = []
        for item in node.returning_clause.exprs:
            target = item.res_target
            _refuse_other_versions(target.val, scope)
            star = star_of(target.val)
            if star is not None:
                targets += self.selects.star(star, scope, stars, target.location)
                refuse_wide(len(targets), target.location)
                widths.append(len(targets) - sum(widths))
                continue
            expr = self.analyzer.known(self.analyzer.expr(target.val, scope))
            refuse_aggregates(expr, "RETURNING")
            refuse_sets(expr, "RETURNING")
            targets.append(Target(target.name or implied_name(target.val), expr, target.location))
            widths.append(1)
        exprs, columns = tuple(t.expr for t in targets), Columns([t.output for t in targets], self.style)
        return Returning(exprs, columns, tuple(widths))


def with_beside(
    returning: Returning, own: Scan, relations: Sequence[Relation], *, is_of_merge: bool = False
) -> Returning:
    """RETURNING over a row of the written table and, beside it, the columns that it names of other relations."""
    names = {r.scan.number if r.scan else r.number: r.name for r in relations}
    found: dict[ColumnRef, Beside] = {}

    def column(ref: ColumnRef) -> Expr:
        if ref.relation == own.number or ref.relation not in names:
            return ref
        number = ColumnId(FIRST_BESIDE - len(found))
        one = found.setdefault(ref, Beside(names[ref.relation], ref.name, ref.type, number))
        return ColumnRef("", ref.type, ref.name, column_id=one.number, modifier=ref.modifier, origin=ref.origin)

    targets = tuple(replaced(target, column) for target in returning.targets)
    action = [Beside(ACTIONS, ACTION.name, ACTION.type, ColumnId(ACTION.column_id))] if is_of_merge else []
    return replace(returning, targets=targets, beside=(*found.values(), *action))


def _refuse_other_versions(node: Node, scope: Scope) -> None:
    """Refuses old.a and new.a, which PostgreSQL 18 has in RETURNING."""
    parts = [part for _, part in walk_tree(node)]
    named = {part.aliasname for part in parts if isinstance(part, pb.Alias)}
    for part in parts:
        if not isinstance(part, pb.ColumnRef) or len(part.fields) < 2:
            continue
        name = part.fields[0].string.sval
        if name in ("old", "new") and name not in named and scope.relation(name) is None:
            hint = "it shows a row as it is written or was removed: read it before, in the same transaction"
            raise unsupported(f"{name} in RETURNING", part.location, hint=hint)


def is_default(node: Node) -> bool:
    """True for DEFAULT, also as one of SET (a, b) = (.., ..)."""
    if node.WhichOneof("node") == "multi_assign_ref":
        several = node.multi_assign_ref
        items = several.source.row_expr.args if several.source.WhichOneof("node") == "row_expr" else ()
        return several.colno <= len(items) and is_default(items[several.colno - 1])
    return bool(node.WhichOneof("node") == "set_to_default")


def refuse_sets(expr: Expr, clause: str) -> None:
    """Refuses a function that gives rows where one value is wanted."""
    for part in walk(expr):
        if isinstance(part, Call) and part.name == "unnest":
            raise SqlError("0A000", f"set-returning functions are not allowed in {clause}", part.offset)
