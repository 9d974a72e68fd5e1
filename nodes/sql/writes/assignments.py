"""The table that a statement writes: its columns, what they are given, and RETURNING. A value that needs nothing but
its row, constants and parameters is understood here, for writes by key (`local`). Everything else PostgreSQL describes
(`questions`) and computes."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from postgast import pg_query_pb2 as pb
from postgast import walk as walk_tree

from catalog.descriptor import Descriptor
from catalog.elements import Column, ColumnId, State
from catalog.text.similar import perhaps
from catalog.text.sql_names import quoted
from catalog.values.arrays import OF_ONE_DIMENSION
from catalog.values.types import SqlType
from expressions.analysis.analyzer import Analyzer
from expressions.analysis.building import Parameters
from expressions.analysis.scopes import Relation, Scan, Scope, hidden_column, not_public, reference
from expressions.dates.zones import TimeStyle
from expressions.errors import NOT_IN_PREREQUISITE_STATE, PROGRAM_LIMIT, UNDEFINED_COLUMN, SqlError, unsupported
from expressions.functions.volatile import worked_out_here
from expressions.rows import parsed
from expressions.sqltypes import OF_SQL_TYPE, UNKNOWN, length_of_modifier, parameter_type
from expressions.typed import Call, ColumnRef, Expr, Literal, is_simple, modifier_of
from nodes.sql.column_names import implied_name, star_of
from nodes.sql.conditions.predicates import conjuncts
from nodes.sql.naming import SCHEMAS, ViewInUse, table_of
from nodes.sql.plans import Returning
from nodes.sql.statements import Statement
from nodes.sql.uses import shown_of
from nodes.sql.writes import typed
from nodes.sql.writes.others import Others, aliases, named_in
from nodes.sql.writes.pieces import ACTION as MERGE_ACTION
from nodes.sql.writes.pieces import ACTIONS, Piece, Pieces, Slice, assembled, listed
from nodes.sql.writes.questions import Described, Undescribed, columns_of, outputs_of
from nodes.sql.writes.source_text import Reading, SourceText, Within
from nodes.wire.columns import Columns, Output

Node = Any
ASKED = Call("asked", (), UNKNOWN)
"""What stands in a plan for a value that PostgreSQL computes."""
ACTION = ColumnId(-1)
"""As a column of a row, what merge_action() is: INSERT, UPDATE or DELETE."""
FIRST_BESIDE = -2
"""As columns of a row, those beside it that RETURNING shows have numbers from this one downwards."""
CHAR_OID, BETWEEN = 18, ('pg_catalog."char"', "\x02")
"""What stands between the columns of two relations: no column of a table has this type."""
ELEMENTS_ASSIGNED_MAX = 100
"""Of one column: each is an expression around the one before."""
COLUMNS_MAX = 1664
"""Entries of one list, as in PostgreSQL."""


@dataclass(eq=False)
class Assignments:
    catalog: Mapping[str, Descriptor]
    parameters: Parameters
    style: TimeStyle
    views: Mapping[str, ViewInUse]
    statement: Statement
    reading: Reading
    answers: Iterator[Described]
    within: Within | None = None
    known: Described | None = None
    """What the store says of the statement."""
    analyzer: Analyzer = field(init=False)

    def __post_init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """Understand expressions from here on with the types of parameters that are known now."""
        known = Parameters(list(self.parameters.types), self.parameters.count_max)
        self.analyzer = Analyzer(known, style=self.style)

    def settle(self) -> None:
        """All was understood here: parameters have the types that were found."""
        self.parameters.types[:] = self.analyzer.parameters.types

    def source_text(self, node: Node, descriptor: Descriptor) -> SourceText:
        return SourceText(self.reading, self.statement.text, self.statement.start, node, descriptor, self.within)

    def judged(self, pieces: Pieces = ()) -> Described:
        """The description of the statement by the store: of these pieces of it, or of all its text."""
        if self.known is None:
            whole = (Slice(0, len(self.statement.text.encode())),)
            self.known = self.described(pieces or (self.within.own if self.within is not None else ()) or whole)
            self.begin()
        return self.known

    def described(self, pieces: Sequence[Piece]) -> Described:
        """The description of a text of the statement's words. The types of parameters are noted.

        Raises `Undescribed` where it has not been asked.
        """
        found, types = next(self.answers, None), self.parameters.types
        if found is None:
            whole, start = assembled(self.statement.text, pieces), self.statement.start
            oids = tuple(0 if of is UNKNOWN else of.oid for of in types)
            raise Undescribed(whole, start, self.reading.admitted(whole, start), oids)
        for number, oid in enumerate(found.parameters, start=1):
            if self.parameters.type_of(number) is UNKNOWN:
                self.parameters.settle(number, parameter_type(oid))
        return found

    def is_view(self, relation: Node) -> bool:
        return relation.relname in self.views and relation.schemaname in SCHEMAS

    def written(self, relation: Node, words: str) -> Descriptor:
        """The table that a statement writes. Raises 55000 for a view."""
        if self.is_view(relation):
            message = f'cannot {words} view "{relation.relname}"'
            hint = "write to the tables that it reads"
            raise SqlError(NOT_IN_PREREQUISITE_STATE, message, detail="Views are read only here.", hint=hint)
        return table_of(self.catalog, relation)

    def scope(self, node: Node, descriptor: Descriptor) -> tuple[Scan, Scope]:
        """The table that is written, as a statement finds its rows and calls its columns."""
        scan = Scan(0, descriptor)
        alias = node.relation.alias.aliasname if node.relation.HasField("alias") else descriptor.name
        return scan, Scope(None, [Relation(scan.number, alias, scan=scan)])

    # -- columns --------------------------------------------------------------------------------------------------

    def set_columns(self, targets: Iterable[Node], descriptor: Descriptor) -> list[tuple[Column, Node]]:
        """The columns that SET names, each with its value."""
        found = []
        for item in targets:
            target = item.res_target
            column, node = column_named(descriptor, target.name, target.location), given_node(target.val)
            if column.identity and is_default(node):
                raise unsupported(f"SET {column.name} = DEFAULT, an identity column,", hint="give the number")
            found.append((column, node))
        return found

    # -- values that are understood here --------------------------------------------------------------------------

    def local(self, node: Node, column: Column, scope: Scope) -> Expr:
        """The value for a column, by the casts an assignment may use; `ASKED` for one that is not understood."""
        try:
            expr = self.analyzer.expr(node, scope)
            assigned = self.analyzer.coerce(expr, OF_SQL_TYPE[column.type], assignment=True)
            found = self.analyzer.of_length(assigned, column.length, is_explicit=False)
        except SqlError:
            return ASKED  # PostgreSQL says what is wrong
        return found if is_simple(found) else ASKED

    def local_values(
        self, columns: Sequence[tuple[Column, Node]], targets: Sequence[Node], descriptor: Descriptor, scope: Scope
    ) -> dict[ColumnId, Expr]:
        found: dict[ColumnId, Expr] = {}
        for (column, node), target in zip(columns, targets, strict=True):
            if len(target.res_target.indirection) or column.id in found or column.identity_always:
                found[column.id] = ASKED
            elif is_default(node):
                found[column.id] = self.defaults(descriptor).get(column.id, Literal(None, OF_SQL_TYPE[column.type]))
            else:
                found[column.id] = self.local(node, column, scope)
        return found

    def local_condition(self, node: Node, scope: Scope) -> Expr | None:
        try:
            found = self.analyzer.condition(node, scope, "WHERE")
        except SqlError:
            return None
        return found if all(map(is_simple, conjuncts(found))) else None

    def defaults(self, descriptor: Descriptor) -> dict[ColumnId, Expr]:
        """The defaults of the columns that an insert puts: public ones and write-only ones."""
        found: dict[ColumnId, Expr] = {}
        for column in descriptor.columns:
            if column.default is not None and column.state in (State.PUBLIC, State.WRITE_ONLY):
                found[column.id] = self._default(column, column.default)
        return found

    def _default(self, column: Column, text: str) -> Expr:
        try:
            expr = worked_out_here(self.analyzer.expr(parsed(text), Scope()))
            value = self.analyzer.coerce(expr, OF_SQL_TYPE[column.type], assignment=True)
            found = self.analyzer.of_length(value, column.length, is_explicit=False)
        except SqlError:
            return ASKED
        return found if is_simple(found) else ASKED

    # -- RETURNING ------------------------------------------------------------------------------------------------

    def plain_returning(self, node: Node, descriptor: Descriptor, *, is_alone: bool = True) -> Returning | None:
        """RETURNING of columns of the written row and constants; None for any other. `is_alone`: no other table is."""
        alias = node.relation.alias.aliasname if node.relation.HasField("alias") else descriptor.name
        scan, public = Scan(0, descriptor), descriptor.public_columns
        shown: list[tuple[str, ColumnRef | Literal]] = []
        for item in node.returning_clause.exprs:
            target, star = item.res_target, star_of(item.res_target.val)
            if star == alias or (star == "" and is_alone):
                shown += [(column.name, reference(scan, column)) for column in public]
                continue
            if target.val.HasField("a_const") and not target.val.a_const.HasField("bsval"):
                constant = self.analyzer.known(self.analyzer.expr(target.val, Scope()))
                assert isinstance(constant, Literal)
                shown.append((target.name or implied_name(target.val), constant))
                continue
            parts = [part.string.sval for part in target.val.column_ref.fields if part.HasField("string")]
            column = next((column for column in public if star is None and parts[-1:] == [column.name]), None)
            if column is None or parts[:-1] not in ([alias], [] if is_alone else [alias]):
                return None
            shown.append((target.name or column.name, reference(scan, column)))
        if len(shown) > COLUMNS_MAX:
            return None
        outputs = [Output(name, of.type, shown_of(of), modifier_of(of)) for name, of in shown]
        return Returning(Columns(outputs, self.style), tuple(of for _, of in shown))

    def returning(
        self, node: Node, descriptor: Descriptor, text: SourceText, items: Sequence[Node] = ()
    ) -> Returning | None:
        """RETURNING, described where it is not plain. `items`: those of FROM, beside the written table."""
        if not node.HasField("returning_clause"):
            return None
        relations = aliases(items)
        refuse_options(node, relations)
        plain = self.plain_returning(node, descriptor, is_alone=not items)
        if plain is not None:
            return plain
        columns, alias = columns_of(outputs_of(self.judged().columns), self.style), text.written.alias
        others = Others(items, self._columns_beside(text, relations))
        nodes = [item.res_target.val for item in node.returning_clause.exprs]
        names = {column.name: column.id for column in descriptor.public_columns}
        own = frozenset(names[name] for name in named_in(nodes, alias, names))
        named = {(a, o.name): o for a, some in others.columns.items() for o in some}
        beside: list[typed.Given] = []
        for place, (relation, name) in enumerate(others.named_in(nodes), -FIRST_BESIDE):
            output = named[relation, name]
            if output.type.sql_type is None:
                raise unsupported(f"RETURNING of {output.type}")
            length = length_of_modifier(output.type, output.modifier)
            beside.append(typed.Given(relation, name, output.type.sql_type, ColumnId(-place), length))
        mine, is_merge = [(alias, name) for name in names], node.DESCRIPTOR.name == "MergeStmt"
        if is_merge:
            beside.append(typed.Given(ACTIONS, MERGE_ACTION, SqlType.TEXT, ACTION))
        stars: list[tuple[tuple[str, str], ...] | None] = []
        for item in nodes:
            star = star_of(item)
            if star == "":
                theirs = others.star()
                stars.append(tuple([*theirs, *mine] if is_merge else [*mine, *theirs]))
            elif star is not None:
                stars.append(tuple(mine if star == alias else others.star_of(star)))
            else:
                stars.append(None)
        return Returning(columns, None, own, tuple(stars), tuple(beside))

    def _columns_beside(self, text: SourceText, relations: Sequence[str]) -> dict[str, tuple[Output, ...]]:
        """The columns of each of these relations beside the written table."""
        if not relations:
            return {}
        stars = ", ".join(f"NULL::{BETWEEN[0]} AS {quoted(BETWEEN[1])}, {quoted(name)}.*" for name in relations)
        found: list[list[Output]] = []
        for output in outputs_of(self.described((*text.before, f"SELECT {stars} FROM ", *listed(text.tables))).columns):
            if (output.type.oid, output.name) == (CHAR_OID, BETWEEN[1]):
                found.append([])
            else:
                found[-1].append(output)
        return dict(zip(relations, map(tuple, found), strict=True))


def column_named(descriptor: Descriptor, name: str, offset: int) -> Column:
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


def refuse_options(node: Node, relations: Sequence[str]) -> None:
    """Refuses RETURNING WITH (..), and old.a and new.a, which PostgreSQL 18 has there."""
    if len(node.returning_clause.options):
        raise unsupported("RETURNING WITH (..)")
    known = {*relations, node.relation.alias.aliasname or node.relation.relname}
    for item in node.returning_clause.exprs:
        parts = [part for _, part in walk_tree(item)]
        named = known | {part.aliasname for part in parts if isinstance(part, pb.Alias)}
        for part in parts:
            if isinstance(part, pb.ColumnRef) and len(part.fields) > 1 and part.fields[0].string.sval not in named:
                name = part.fields[0].string.sval
                if name in ("old", "new"):
                    hint = "it shows a row as it is written or was removed: read it before, in the same transaction"
                    raise unsupported(f"{name} in RETURNING", part.location, hint=hint)


def check_parts(targets: Sequence[Node], columns: Sequence[tuple[Column, Node]]) -> None:
    """Refuses SET of a part that no column has here."""
    whole, counts = "assign the whole column", Counter[ColumnId]()
    for item, (column, _) in zip(targets, columns, strict=True):
        target = item.res_target
        if not len(target.indirection):
            continue
        if column.type is SqlType.JSONB:
            raise unsupported(f"SET of a part of {column.name}", target.location, f"{whole}, with jsonb_set")
        if any(part.WhichOneof("node") != "a_indices" for part in target.indirection):
            raise unsupported(f"SET of a field of {column.name}", target.location, whole)
        if len(target.indirection) > 1:
            raise unsupported(f"SET of {column.name} as an array of arrays", target.location, OF_ONE_DIMENSION)
        counts[column.id] += 1
        if counts[column.id] > ELEMENTS_ASSIGNED_MAX:
            message = f'at most {ELEMENTS_ASSIGNED_MAX} elements of column "{column.name}" may be assigned at once'
            raise SqlError(PROGRAM_LIMIT, message, target.location, hint=whole)


def given_node(node: Node) -> Node:
    """The value of a column: also the one of SET (a, b) = (.., ..)."""
    several = node.multi_assign_ref
    if node.WhichOneof("node") != "multi_assign_ref" or not several.source.HasField("row_expr"):
        return node
    items = several.source.row_expr.args
    return items[several.colno - 1] if len(items) == several.ncolumns else node


def is_default(node: Node) -> bool:
    return bool(node.WhichOneof("node") == "set_to_default")
