"""Questions about a statement that writes: the types of its parts, and what is wrong with them. Pure.

    UPDATE t SET a = b + 1 FROM u WHERE t.id = u.id RETURNING u.c
    SELECT b + 1, u.id FROM t, u WHERE (t.id = u.id) AND ROW(b + 1) IS NULL     SET, keys
    SELECT u.c FROM t, u WHERE ROW(u.c) IS NULL                                 RETURNING
    SELECT u.* FROM t, u                                                        columns that it may name

The store parses these texts and does nothing (`nodes.execution.describing`), so names, types, parameters and mistakes
are PostgreSQL's. ROW(..) IS NULL has it refuse aggregates and functions that give rows, as a WHERE does. A constant or
parameter without a type of its own is cast to that of its column.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from postgast import pg_query_pb2 as pb

from catalog.elements import Column
from catalog.text.sql_names import quoted
from catalog.values.types import SqlType, type_name
from expressions.analysis.building import Parameters
from expressions.analysis.scopes import Scan
from expressions.dates.zones import TimeStyle
from expressions.errors import DATATYPE_MISMATCH, SYNTAX_ERROR, SqlError, unsupported
from expressions.functions.casts import is_assigned
from expressions.sqltypes import OF_SQL_TYPE, PARAMETER_OIDS, TEXT, UNKNOWN, Type, parameter_type
from nodes.sql.admission import nodes_in
from nodes.sql.column_names import star_of
from nodes.sql.readable import InPlace
from nodes.sql.statements import first_query
from nodes.sql.uses import Columns, shown_of
from nodes.sql.writes.joins import Condition
from nodes.sql.writes.pieces import ACTION, PartOfArray, Piece, Pieces, SetTo, Slice, assembled, listed
from nodes.sql.writes.source_text import SourceText, When
from nodes.wire.columns import Columns as Results
from nodes.wire.columns import Output
from nodes.wire.messages import Field

Node = Any
Given = tuple[Column, SetTo, Node]
"""A column, the value that it is given, and where that stands in the tree."""
Guarded = Sequence[tuple[Slice, str]]
"""Parts of the statement, and what PostgreSQL calls the places where they stand."""
ITEMS_MAX = 1600
"""Columns of one question."""


@dataclass(frozen=True, slots=True)
class Described:
    """The types of the parameters of a text, and the columns of its result, as the store describes them."""

    parameters: Sequence[int]
    columns: Sequence[Field]


@dataclass(eq=False)
class Undescribed(Exception):
    """A text of which the store has to say what it is, with these types of parameters (0: open)."""

    place: InPlace
    oids: tuple[int, ...]
    clauses: Guarded = ()
    more: "Sequence[Undescribed]" = ()
    """Texts behind it, whose answers do not depend on its own."""

    def explained(self, error: SqlError) -> SqlError:
        """PostgreSQL's error in the words that it has for the statement itself."""
        error = self.place.explained(error)
        at = error.offset - self.place.shift
        clause = next((clause for part, clause in self.clauses if part.start <= at < part.end), None)
        if clause is not None and error.message.endswith(IN_WHERE):
            error.message = f"{error.message.removesuffix(IN_WHERE)} in {clause}"
        return error


IN_WHERE = " in WHERE"


@dataclass(frozen=True, slots=True)
class Answer:
    """The columns of a question, and the tables that it reads; `written` is the one that the statement writes."""

    outputs: tuple[Output, ...]
    scans: tuple[Scan, ...]
    written: Scan | None


@dataclass(frozen=True, slots=True)
class Item:
    """A value for a column, or for a part of it that is `of` this type; of no type of its own it is cast already."""

    pieces: Pieces
    node: Node
    column: Column
    of: SqlType
    offset: int
    is_cast: bool = False


@dataclass(eq=False)
class Questions(SourceText):
    """The questions about one statement. Raises `Undescribed` for the first that has no answer."""

    parameters: Parameters = field(default_factory=Parameters)
    """The statement's, as far as their types are known."""
    answers: Iterator[Described] = field(default_factory=lambda: iter(()))
    """The store's, in their order."""

    # -- statements -----------------------------------------------------------------------------------------------

    def change(self, given: Sequence[Given], compared: Sequence[Condition]) -> Answer:
        """UPDATE and DELETE: checks what SET gives. The answer has what is compared."""
        return self._checked(given, self.tables, self.written.condition(), "UPDATE", compared)

    def set_by_conflict_of(self, given: Sequence[Given], condition: Pieces) -> None:
        """Checks what ON CONFLICT DO UPDATE gives, and its WHERE."""
        proposed = f'(SELECT * FROM public.{quoted(self.descriptor.name)}) AS "excluded"'
        self._checked(given, [(self.table,), (proposed,)], condition, "UPDATE")

    def values(self, given: Sequence[tuple[Column, Pieces, Node]]) -> None:
        """Checks values of VALUES."""
        items = [self._item(pieces, node, column) for column, pieces, node in given]
        some = [items[place : place + ITEMS_MAX] for place in range(0, len(items), ITEMS_MAX)]
        answers = self.ask_all(["VALUES (", *listed([item.pieces for item in part]), ")"] for part in some)
        outputs = [output for answer in answers for output in answer.outputs]
        for item, output in zip(items, outputs, strict=True):
            refuse_type(item.column, None if item.is_cast else output.type, item.offset)

    def source(self, columns: Sequence[Column]) -> tuple[Answer, list[tuple[Type | None, int]]]:
        """The query of an INSERT, with the type of each column and its place; None is one without a type.

        `columns` are those that it may fill.
        """
        select = self.node.select_stmt.select_stmt
        items = [] if select.HasField("larg") else [item.res_target.val for item in select.target_list]
        if any(star_of(item) is not None for item in items):
            items = []
        are_open = [self._is_open(item) for item in items]
        casts = {
            self.written.clauses.index(place_of(item)): type_name(column.type, None)
            for item, column, is_open in zip(items, columns, are_open, strict=False)
            if is_open
        }
        query = [one for piece in self.query_of_source() for one in self._with_casts(piece, casts)]
        answer = self.ask(["SELECT * FROM (", *query, ") AS given"])
        if len(items) != len(answer.outputs):
            return answer, [(output.type, -1) for output in answer.outputs]
        found = zip(items, are_open, answer.outputs, strict=True)
        return answer, [(None if is_open else output.type, place_of(item)) for item, is_open, output in found]

    def _with_casts(self, piece: Piece, casts: Mapping[int, str]) -> Iterator[Piece]:
        """A piece, in which these words are cast."""
        at = piece.start if isinstance(piece, Slice) else 0
        for word, of in sorted(casts.items()) if isinstance(piece, Slice) else ():
            token = self.written.clauses.words.tokens[word]
            if at <= token.start < piece.end:  # type: ignore[union-attr]
                yield from ([Slice(at, token.start)] if at < token.start else [])
                yield from ("(", Slice(token.start, token.end), f")::{of}")
                at = token.end
        if not isinstance(piece, Slice) or at < piece.end:
            yield Slice(at, piece.end) if isinstance(piece, Slice) else piece

    def query(self, first: int) -> Answer:
        """The SELECT behind others in a WITH, from this word on."""
        assert self.within is not None
        return self.ask((self.within.clauses.slice(first, self.within.end),))

    def joined(self, compared: Sequence[Condition]) -> Answer:
        """The source of a MERGE and its ON. The answer has what is compared."""
        source, on = self.source_of_merge()
        joined: Pieces = (*source, " JOIN ", self.table, " ON (", self.written.clauses.slice(*on), ")")
        return self._checked((), [joined], (), "MERGE", compared)

    def act(self, when: When, given: Sequence[Given]) -> None:
        """Checks a WHEN of a MERGE; it sees one side alone unless rows match."""
        kind, source = when.node.match_kind, self.source_of_merge()[0]
        tables: list[Pieces] = [] if kind == pb.MERGE_WHEN_NOT_MATCHED_BY_SOURCE else [source]
        tables += [] if kind == pb.MERGE_WHEN_NOT_MATCHED_BY_TARGET else [(self.table,)]
        condition: Pieces = () if when.condition is None else (" WHERE (", *when.condition, ")")
        is_update = pb.CmdType.Name(when.node.command_type) == "CMD_UPDATE"
        clauses = [(part, "MERGE WHEN conditions") for part in condition if isinstance(part, Slice)]
        if given or condition:
            self._checked(given, tables, condition, "UPDATE" if is_update else "VALUES", clauses=clauses)

    def shown(self, relations: Sequence[str]) -> list[tuple[Output, ...]]:
        """The columns of RETURNING, and those of each of these relations beside the written table."""
        written, clauses = self.written, self.written.clauses
        parts = clauses.split(written.returning + 1, written.end)
        nodes = [item.res_target.val for item in self.node.returning_clause.exprs]
        action = f"(SELECT NULL::text AS {ACTION})"
        items = zip(nodes, written.shown(), strict=True)
        guarded = [tuple(written.with_action(*words, action)) for node, words in items if _is_guarded(node)]
        where = [(part, "RETURNING") for pieces in guarded for part in pieces if isinstance(part, Slice)]
        shown = listed([tuple(written.with_action(*part, action)) for part in parts])
        stars: list[Pieces] = [(f"{quoted(name)}.*",) for name in relations]
        tables = (" FROM ", *listed(self.tables))
        questions = [["SELECT ", *items, *tables] for items in (shown, *stars)]
        questions[0] += _guard(guarded, is_first=True)
        return [answer.outputs for answer in self.ask_all(questions, where)]

    def kept(self) -> None:
        """WHERE of COPY FROM."""
        condition = self.written.condition()
        clauses = [(part, "COPY FROM WHERE conditions") for part in condition if isinstance(part, Slice)]
        self.ask(["SELECT FROM ", self.table, *condition], clauses)

    # -- pieces -----------------------------------------------------------------------------------------------------

    def ask_all(self, questions: Iterable[Sequence[Piece]], clauses: Guarded = ()) -> list[Answer]:
        """The answers to questions that do not depend on each other."""
        found, lacking = list[Answer](), list[Undescribed]()
        for question in questions:
            try:
                found.append(self.ask(question, clauses))
            except Undescribed as one:
                lacking.append(one)
                if 0 in one.oids:  # the next ones need the types of its parameters
                    break
        if lacking:
            lacking[0].more = lacking[1:]
            raise lacking[0]
        return found

    def ask(self, pieces: Sequence[Piece], clauses: Guarded = ()) -> Answer:
        """The answer to a question of these pieces. The types of parameters are noted."""
        whole, types = assembled(self.statement, (*self.before, *pieces)), self.parameters.types
        place = self.reading.place(whole, self.start, types)
        found = next(self.answers, None)
        named = place.parameters
        if found is None:
            count = max((len(types), *named))
            known = [*types, *[UNKNOWN] * (count - len(types))]
            oids = [of.oid if of is not UNKNOWN else 0 if n in named else TEXT.oid for n, of in enumerate(known, 1)]
            raise Undescribed(place, tuple(oids), clauses)
        for number in sorted(named):
            if self.parameters.type_of(number) is UNKNOWN:
                self.parameters.settle(number, parameter_type(found.parameters[number - 1]))
        scans = tuple(use.scan for use in place.uses)
        at = whole.targets[0] if whole.targets else -1
        written = next((scan for scan in scans if scan.place == (at,)), None)
        return Answer(outputs_of(found.columns, place.columns), scans, written)

    def _checked(
        self,
        given: Sequence[Given],
        tables: Sequence[Pieces],
        condition: Pieces,
        clause: str,
        compared: Sequence[Condition] = (),
        clauses: Guarded = (),
    ) -> Answer:
        """Checks values over these tables. The answer has what is compared."""
        items: list[Item] = []
        for column, value, node in given:
            items += self._parts(column, value, node)
        beside = [self._item((one.other,), one.node, one.column) for one in compared if one.other and one.column]
        guarded = [item.pieces for item in items if _is_guarded(item.node)]
        parts = [(part, clause) for pieces in guarded for part in pieces if isinstance(part, Slice)]
        shown = listed([item.pieces for item in (*items, *beside)])
        guard = _guard(guarded, is_first=not condition)
        answer = self.ask(["SELECT ", *shown, " FROM ", *listed(tables), *condition, *guard], [*parts, *clauses])
        for item, output in zip(items, answer.outputs, strict=False):
            if not item.is_cast:
                refuse_type(item.column, output.type, item.offset, item.of)
        return Answer(answer.outputs[len(items) :], answer.scans, answer.written)

    def _parts(self, column: Column, value: SetTo, node: Node) -> Iterator[Item]:
        """The values that are given to a column: of an array's part its bounds, too."""
        if isinstance(value, PartOfArray):
            first, place = node.indirection[0].a_indices, node.location
            bounds = [bound for bound in (first.lidx, first.uidx) if bound.WhichOneof("node")]
            for pieces, bound in zip(value.bounds, bounds, strict=True):
                yield replace(self._item(pieces, bound, column, SqlType.INTEGER), offset=place)
            part = part_of(column, value).type
            yield replace(self._item(value.value, given_node(node.val), column, part), offset=place)
        elif value is not None:
            yield self._item(value, node, column)

    def _item(self, pieces: Pieces, node: Node, column: Column, of: SqlType | None = None) -> Item:
        of, place = of or column.type, place_of(node)
        if not self._is_open(node):
            return Item(pieces, node, column, of, place)
        return Item(("(", *pieces, f")::{type_name(of, None)}"), node, column, of, place, is_cast=True)

    def _is_open(self, node: Node) -> bool:
        """True for a quoted constant, NULL or parameter without a type: it takes that of its column."""
        if node.HasField("a_const"):
            return bool(node.a_const.isnull) or node.a_const.HasField("sval")
        return node.HasField("param_ref") and self.parameters.type_of(node.param_ref.number) is UNKNOWN


def given_node(node: Node) -> Node:
    """The value of a column: also the one of SET (a, b) = (.., ..), and the query of SET (a, b) = (SELECT ..)."""
    if node.WhichOneof("node") != "multi_assign_ref":
        return node
    several = node.multi_assign_ref
    kind = several.source.WhichOneof("node")
    if kind == "row_expr":
        items = several.source.row_expr.args
        _refuse_uneven(several.ncolumns, len(items), several.source.row_expr.location)
        return items[several.colno - 1]
    if kind != "sub_link":
        raise unsupported("SET (..) = this", hint="assign each column by itself")
    select = first_query(several.source.sub_link.subselect.select_stmt)
    rows = [item.list.items for item in select.values_lists[:1]]
    items = rows[0] if rows else [item.res_target.val for item in select.target_list]
    if items and all(star_of(item) is None for item in items):
        _refuse_uneven(several.ncolumns, len(items), several.source.sub_link.location)
    return several.source


def _refuse_uneven(columns: int, values: int, offset: int) -> None:
    if columns != values:
        raise SqlError(SYNTAX_ERROR, "number of columns does not match number of values", offset)


def part_of(column: Column, part: PartOfArray) -> Column:
    """The column that a part of an array would be by itself: an array for a slice, else an element."""
    return column if part.is_slice else replace(column, type=column.type.element or column.type)


def refuse_type(column: Column, given: Type | None, offset: int, of: SqlType | None = None) -> None:
    """Raises 42804 for a value that an assignment does not take; None is one without a type."""
    wanted = OF_SQL_TYPE[of or column.type]
    if given is not None and given is not wanted and not is_assigned(given, wanted):
        raise SqlError(
            DATATYPE_MISMATCH,
            f'column "{column.name}" is of type {wanted} but expression is of type {given}',
            offset,
            hint="you will need to rewrite or cast the expression",
        )


def outputs_of(columns: Sequence[Field], known: Columns) -> tuple[Output, ...]:
    """Described columns, with those of tables that they show. One of a type that a node has not has only its name."""
    shown = list(known) if known is not None and len(known) == len(columns) else [("", None)] * len(columns)
    found = []
    for column, (_, expr) in zip(columns, shown, strict=True):
        of = PARAMETER_OIDS.get(column.oid) or Type(f"oid {column.oid}", column.oid, column.typlen, UNKNOWN.category)
        origin = shown_of(expr) if expr is not None and expr.type is of else (0, 0)
        found.append(Output(column.name, of, origin, column.modifier))
    return tuple(found)


def columns_of(outputs: Sequence[Output], style: TimeStyle) -> Results:
    """The columns of a result. Raises 0A000 for one of a type that a node has not."""
    for output in outputs:
        if output.type.category == UNKNOWN.category:
            raise unsupported(f'column "{output.name}" of this type in a statement that writes', hint="cast it to text")
    return Results(outputs, style)


def place_of(node: Node) -> int:
    """The place where an expression begins."""
    places = (part.location for part in nodes_in(node) if "location" in part.DESCRIPTOR.fields_by_name)
    return min((place for place in places if place >= 0), default=-1)


def _guard(items: Sequence[Pieces], *, is_first: bool) -> Pieces:
    """A condition in which these values stand."""
    return (" WHERE " if is_first else " AND ", "ROW(", *listed(items), ") IS NULL") if items else ()


def _is_guarded(node: Node) -> bool:
    """True for an expression that may be an aggregate, or give rows; a query in it is not asked twice."""
    names = {part.DESCRIPTOR.name for part in nodes_in(node)}
    return star_of(node) is None and "FuncCall" in names and "SubLink" not in names
