"""Plans of statements, once their tables are known: made from the parse tree under one version of each table.

A plan holds typed expressions and no data, so it serves every execution of its text until a table has
another version. Assignments are checked here (types, names, states); values are checked where rows are made.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from postgast import pg_query_pb2 as pb

from catalog.descriptor import Descriptor
from catalog.elements import Column, ColumnId, Index, State
from expressions.analysis import Analyzer
from expressions.building import Parameters
from expressions.dates.zones import PLAIN, TimeStyle
from expressions.errors import (
    DATATYPE_MISMATCH,
    DUPLICATE_COLUMN,
    INVALID_COLUMN_REFERENCE,
    SYNTAX_ERROR,
    UNDEFINED_COLUMN,
    SqlError,
    unsupported,
)
from expressions.rows import compiled, parsed
from expressions.scopes import Relation, Scan, Scope, hidden_column, not_public
from expressions.sqltypes import OF_SQL_TYPE, TEXT, TEXTUAL, UNKNOWN, Type
from expressions.typed import ColumnRef, Context, Expr, Literal, Parameter, walk
from nodes.copy.incoming import CopyIn
from nodes.copy.outgoing import CopyOut
from nodes.sql.column_names import implied_name, star_of
from nodes.sql.from_clause import table_of
from nodes.sql.identity import overridden, refuse_assigned
from nodes.sql.implication import is_implied
from nodes.sql.predicates import conjuncts
from nodes.sql.query import Output, Query, Target, refuse_wide
from nodes.sql.row_rules import Rules, rules_of
from nodes.sql.selects import Selects
from nodes.sql.statements import Statement
from nodes.wire.columns import Columns

Node = Any
EXCLUDED = 999_999
"""The relation number of `excluded` in ON CONFLICT."""


@dataclass(frozen=True, slots=True)
class Returning:
    targets: tuple[Expr, ...]
    columns: Columns


@dataclass(frozen=True, slots=True)
class SelectPlan:
    query: Query
    scans: tuple[Scan, ...]
    outputs: tuple[Output, ...]
    columns: Columns
    needs_no_engine: bool = False
    relations: frozenset[str] = frozenset()
    """Those of pg_catalog that it reads."""
    copy: CopyOut | None = None
    """How its rows are sent, when it is a COPY."""


@dataclass(frozen=True, slots=True)
class Conflict:
    """ON CONFLICT: which uniqueness counts (None: any), and what to do then (no assignments: nothing)."""

    is_primary: bool
    index: Index | None
    assignments: Mapping[ColumnId, Expr] | None
    where: Expr | None


@dataclass(frozen=True, slots=True)
class InsertPlan:
    descriptor: Descriptor
    columns: tuple[Column, ...]
    rows: tuple[tuple[Expr | None, ...], ...]
    source: SelectPlan | None
    defaults: Mapping[ColumnId, Expr]
    rules: Rules
    conflict: Conflict | None
    returning: Returning | None
    scan: Scan
    copy: CopyIn | None = None
    """How its rows come, when it is a COPY."""


@dataclass(frozen=True, slots=True)
class UpdatePlan:
    descriptor: Descriptor
    scan: Scan
    assignments: Mapping[ColumnId, Expr]
    where: Expr | None
    scans: tuple[Scan, ...]
    rules: Rules
    returning: Returning | None


@dataclass(frozen=True, slots=True)
class DeletePlan:
    descriptor: Descriptor
    scan: Scan
    where: Expr | None
    scans: tuple[Scan, ...]
    returning: Returning | None


@dataclass(frozen=True, slots=True)
class TruncatePlan:
    descriptors: tuple[Descriptor, ...]


Plan = SelectPlan | InsertPlan | UpdatePlan | DeletePlan | TruncatePlan


@dataclass(eq=False)
class Planner:
    """Makes the plan of one statement."""

    catalog: Mapping[str, Descriptor]
    parameters: Parameters
    style: TimeStyle = PLAIN
    analyzer: Analyzer = field(init=False)
    selects: Selects = field(init=False)

    def __post_init__(self) -> None:
        self.analyzer = Analyzer(self.catalog, self.parameters, style=self.style)
        self.selects = Selects(self.analyzer)

    def plan(self, kind: str, node: Node) -> Plan:
        plan = self._plan(kind, node)
        if self.analyzer.relations and not isinstance(plan, SelectPlan):
            raise unsupported("reading pg_catalog in a statement that writes", hint="read it first, by itself")
        return plan

    def _plan(self, kind: str, node: Node) -> Plan:
        match kind:
            case "select":
                return self.select(node)
            case "insert":
                return self.insert(node)
            case "update":
                return self.update(node)
            case "delete":
                return self.delete(node)
            case "truncate":
                return self.truncate(node)
        raise unsupported(kind)

    def select(self, node: Node) -> SelectPlan:
        query = self.selects.shown(self.selects.query(node))
        is_local = query.simple is not None and query.simple.is_local
        columns = Columns(query.outputs, self.style)
        scans, relations = tuple(self.analyzer.scans), frozenset(self.analyzer.relations)
        return SelectPlan(query, scans, query.outputs, columns, needs_no_engine=is_local, relations=relations)

    # -- INSERT -------------------------------------------------------------------------------------------------

    def insert(self, node: Node) -> InsertPlan:
        self._refuse_with(node)
        descriptor = table_of(self.analyzer, node.relation)
        columns = self._insert_columns(node, descriptor)
        rows: list[tuple[Expr | None, ...]] = []
        source, given = None, node.select_stmt.select_stmt
        if not node.HasField("select_stmt"):
            rows, columns = [()], ()
        elif len(given.values_lists) and not given.HasField("with_clause"):
            rows = [self._insert_row(item.list.items, columns, node) for item in given.values_lists]
            if len({len(row) for row in rows}) > 1:
                raise SqlError(SYNTAX_ERROR, "VALUES lists must all be the same length")
            columns = columns[: len(rows[0])]
        else:
            source, columns = self._insert_source(node, columns)
        rows = overridden(node, columns, rows, has_source=source is not None)
        scan, scope = self._target(node, descriptor)
        conflict = self._conflict(node, descriptor, scope) if node.HasField("on_conflict_clause") else None
        defaults, rules, returning = self.defaults(descriptor), rules_of(descriptor), self._returning(node, scope)
        return InsertPlan(descriptor, columns, tuple(rows), source, defaults, rules, conflict, returning, scan)

    def _insert_columns(self, node: Node, descriptor: Descriptor) -> tuple[Column, ...]:
        if not len(node.cols):
            return descriptor.public_columns
        columns = []
        for item in node.cols:
            if len(item.res_target.indirection):
                raise unsupported("a part of a column", item.res_target.location)
            column = self.column(descriptor, item.res_target.name, item.res_target.location)
            if column in columns:
                raise SqlError(
                    DUPLICATE_COLUMN, f'column "{column.name}" specified more than once', item.res_target.location
                )
            columns.append(column)
        return tuple(columns)

    def _insert_row(self, items: Sequence[Node], columns: Sequence[Column], node: Node) -> tuple[Expr | None, ...]:
        if len(items) > len(columns):
            place = _place(items[len(columns)])
            raise SqlError(SYNTAX_ERROR, "INSERT has more expressions than target columns", place)
        if len(items) < len(columns) and len(node.cols):
            place = node.cols[len(items)].res_target.location
            raise SqlError(SYNTAX_ERROR, "INSERT has more target columns than expressions", place)
        return tuple(self._assigned(item, column, Scope()) for item, column in zip(items, columns, strict=False))

    def _insert_source(self, node: Node, columns: tuple[Column, ...]) -> tuple[SelectPlan, tuple[Column, ...]]:
        query = self.selects.query(node.select_stmt.select_stmt, loose=True)
        if len(query.outputs) > len(columns):
            raise SqlError(SYNTAX_ERROR, "INSERT has more expressions than target columns")
        if len(query.outputs) < len(columns) and len(node.cols):
            raise SqlError(SYNTAX_ERROR, "INSERT has more target columns than expressions")
        columns = columns[: len(query.outputs)]
        query = query.settled([OF_SQL_TYPE[c.type] for c in columns], self.analyzer.coerce)
        for column, output in zip(columns, query.outputs, strict=True):
            self._refuse_type(column, output.type, -1)
        return SelectPlan(query, tuple(self.analyzer.scans), query.outputs, Columns()), columns

    def _conflict(self, node: Node, descriptor: Descriptor, target: Scope) -> Conflict:
        clause = node.on_conflict_clause
        is_primary, index = self._arbiter(clause, descriptor, target)
        if clause.action == 2:  # DO NOTHING
            return Conflict(is_primary, index, None, None)
        if not is_primary and index is None:
            message = "ON CONFLICT DO UPDATE requires inference specification or constraint name"
            raise SqlError(SYNTAX_ERROR, message, clause.location, hint="for example, ON CONFLICT (column_name)")
        proposed: dict[str, Expr] = {
            c.name: ColumnRef(f"x.c{c.id}", OF_SQL_TYPE[c.type], c.name, EXCLUDED, -c.id)
            for c in descriptor.public_columns
        }
        scope = ConflictScope(None, [*target.relations, Relation(EXCLUDED, "excluded", proposed)])
        assignments = self._assignments(clause.target_list, descriptor, scope)
        has_where = clause.HasField("where_clause")
        where = self.analyzer.condition(clause.where_clause, scope, "WHERE") if has_where else None
        return Conflict(is_primary, index, assignments, where)

    def _arbiter(self, clause: Node, descriptor: Descriptor, target: Scope) -> tuple[bool, Index | None]:
        """The uniqueness that ON CONFLICT means: (the primary key, an index); neither is any."""
        if not clause.HasField("infer"):
            return False, None
        if clause.infer.conname:
            name = clause.infer.conname
            if name == f"{descriptor.name}_pkey" and not descriptor.has_hidden_key:
                return True, None
            found = next((i for i in descriptor.public_indexes if i.name == name and i.unique), None)
            if found is None:
                message = f'constraint "{name}" for table "{descriptor.name}" does not exist'
                raise SqlError("42704", message, clause.infer.location)
            return False, found
        names = {item.index_elem.name for item in clause.infer.index_elems}
        ids = {self.column(descriptor, name, clause.infer.location).id for name in names}
        if ids == set(descriptor.primary_key):
            return True, None
        conditions = self._arbiter_conditions(clause.infer, descriptor, target)
        for index in sorted(descriptor.public_indexes, key=lambda i: i.where is not None):
            if index.unique and set(index.column_ids) == ids and _arbitrates(descriptor, index, conditions):
                return False, index
        message = "there is no unique or exclusion constraint matching the ON CONFLICT specification"
        raise SqlError(INVALID_COLUMN_REFERENCE, message)

    def _arbiter_conditions(self, infer: Node, descriptor: Descriptor, target: Scope) -> list[Expr]:
        """The conditions of ON CONFLICT (..) WHERE on the rows it is about."""
        if not infer.HasField("where_clause"):
            return []
        scope = Scope(None, [replace(target.relations[0], name=descriptor.name)])
        found = conjuncts(self.analyzer.condition(infer.where_clause, scope, "WHERE"))
        return [c for c in found if not any(isinstance(part, Parameter) for part in walk(c))]

    # -- UPDATE and DELETE --------------------------------------------------------------------------------------

    def update(self, node: Node) -> UpdatePlan:
        self._refuse_with(node)
        if len(node.from_clause):
            raise unsupported("UPDATE .. FROM", hint="use a subquery in WHERE or SET")
        descriptor = table_of(self.analyzer, node.relation)
        scan, scope = self._target(node, descriptor)
        assignments = self._assignments(node.target_list, descriptor, scope)
        where, scans = self._where(node, scope, scan), tuple(self.analyzer.scans)
        returning = self._returning(node, scope)
        return UpdatePlan(descriptor, scan, assignments, where, scans, rules_of(descriptor), returning)

    def delete(self, node: Node) -> DeletePlan:
        self._refuse_with(node)
        if len(node.using_clause):
            raise unsupported("DELETE .. USING", hint="use a subquery in WHERE")
        descriptor = table_of(self.analyzer, node.relation)
        scan, scope = self._target(node, descriptor)
        where = self._where(node, scope, scan)
        return DeletePlan(descriptor, scan, where, tuple(self.analyzer.scans), self._returning(node, scope))

    def truncate(self, node: Node) -> TruncatePlan:
        if pb.DropBehavior.Name(node.behavior) == "DROP_CASCADE":
            raise unsupported("TRUNCATE .. CASCADE", hint="name the tables that refer to these, too")
        return TruncatePlan(tuple(table_of(self.analyzer, item.range_var) for item in node.relations))

    def _target(self, node: Node, descriptor: Descriptor) -> tuple[Scan, Scope]:
        """The table that is written, as a statement finds its rows and calls its columns."""
        scan = Scan(len(self.analyzer.scans), descriptor)
        self.analyzer.scans.append(scan)
        alias = node.relation.alias.aliasname if node.relation.HasField("alias") else descriptor.name
        return scan, Scope(None, [Relation(scan.number, alias, scan=scan)])

    def _where(self, node: Node, scope: Scope, scan: Scan) -> Expr | None:
        if not node.HasField("where_clause"):
            return None
        where = self.analyzer.condition(node.where_clause, scope, "WHERE")
        scan.conditions += conjuncts(where)
        return where

    def _assignments(self, targets: Iterable[Node], descriptor: Descriptor, scope: Scope) -> dict[ColumnId, Expr]:
        assignments: dict[ColumnId, Expr] = {}
        for item in targets:
            target = item.res_target
            column = self.column(descriptor, target.name, target.location)
            if column.id in assignments:
                message = f'multiple assignments to same column "{column.name}"'
                raise SqlError(SYNTAX_ERROR, message, target.location)
            expr = self._assigned(self._one_of_many(target.val), column, scope)
            refuse_assigned(column, expr)
            if expr is None:
                expr = self.defaults(descriptor).get(column.id, Literal(None, OF_SQL_TYPE[column.type]))
            assignments[column.id] = expr
        return assignments

    def _one_of_many(self, node: Node) -> Node:
        """The expression of one column in SET (a, b) = (.., ..)."""
        if node.WhichOneof("node") != "multi_assign_ref":
            return node
        multi = node.multi_assign_ref
        if multi.source.WhichOneof("node") != "row_expr":
            raise unsupported("SET (..) = (SELECT ..)", hint="assign each column by itself")
        return multi.source.row_expr.args[multi.colno - 1]

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
        raise SqlError(UNDEFINED_COLUMN, message, offset, column=name)

    def _assigned(self, node: Node, column: Column, scope: Scope) -> Expr | None:
        """The value for a column, by the casts an assignment may use; None for DEFAULT."""
        if node.WhichOneof("node") == "set_to_default":
            return None
        expr = self.analyzer.expr(node, scope)
        if expr.type is not UNKNOWN:
            self._refuse_type(column, expr.type, expr.offset)
        assigned = self.analyzer.coerce(expr, OF_SQL_TYPE[column.type], assignment=True)
        return self.analyzer.of_length(assigned, column.length, is_explicit=False)

    def _refuse_type(self, column: Column, given: Type, offset: int) -> None:
        from expressions.functions import ASSIGNMENT

        wanted = OF_SQL_TYPE[column.type]
        if given is not wanted and (given, wanted) not in ASSIGNMENT and wanted not in TEXTUAL:
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
                expr = self.analyzer.expr(parsed(column.default), Scope())
                value = self.analyzer.coerce(expr, OF_SQL_TYPE[column.type], assignment=True)
                found[column.id] = self.analyzer.of_length(value, column.length, is_explicit=False)
        return found

    def _returning(self, node: Node, scope: Scope) -> Returning | None:
        if not node.HasField("returning_clause"):
            return None
        if len(node.returning_clause.options):
            raise unsupported("RETURNING WITH (..)")
        (relation,) = scope.relations
        refuse_wide(len(node.returning_clause.exprs))
        targets: list[Target] = []
        for item in node.returning_clause.exprs:
            target = item.res_target
            star = star_of(target.val)
            if star is not None:
                targets += [Target(name, relation.column(name), target.location) for name in relation.names()]
                refuse_wide(len(targets), target.location)
                continue
            expr = self.analyzer.known(self.analyzer.expr(target.val, scope))
            targets.append(Target(target.name or implied_name(target.val), expr, target.location))
        return Returning(tuple(t.expr for t in targets), Columns([t.output for t in targets], self.style))

    def _refuse_with(self, node: Node) -> None:
        if node.HasField("with_clause"):
            raise unsupported("WITH before INSERT, UPDATE or DELETE", node.with_clause.location)


class ConflictScope(Scope):
    """In DO UPDATE an unqualified name is the table's column; `excluded` must be written out."""

    def find(self, name: str, offset: int) -> Expr | None:
        return Scope(None, self.relations[:1]).find(name, offset)


def _arbitrates(descriptor: Descriptor, index: Index, conditions: Sequence[Expr]) -> bool:
    """True if a unique index decides about all rows that ON CONFLICT is about."""
    return index.where is None or is_implied(descriptor, compiled(descriptor, index.where), conditions, Context())


def _place(node: Node) -> int:
    kind = node.WhichOneof("node")
    return int(getattr(getattr(node, kind), "location", -1)) if kind else -1


def make_plan(
    statement: Statement,
    catalog: Mapping[str, Descriptor],
    parameters: Parameters,
    style: TimeStyle = PLAIN,
    planner: type[Planner] = Planner,
) -> Plan:
    """The statement's plan for these versions; kept with the statement. `parameters` get their types."""
    key = (tuple([(d.table_id, d.version) for d in catalog.values()]), tuple([t.name for t in parameters.types]), style)
    known = statement.plans.get(key)
    if known is not None and len(known[1]) <= parameters.count_max:
        plan, types = known
        parameters.types[:] = types
        return plan  # type: ignore[no-any-return]
    plan = planner(catalog, parameters, style).plan(statement.kind, statement.node)
    settled = [TEXT if t is UNKNOWN else t for t in parameters.types]
    parameters.types[:] = settled
    statement.remember(key, (plan, settled))
    return plan
