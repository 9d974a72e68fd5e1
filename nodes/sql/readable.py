"""SELECTs that PostgreSQL answers in place, and their texts for it. Pure. A text is made once for a plan; the queries
of its tables are written anew for each execution, since key ranges follow from its values."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from types import MappingProxyType
from typing import Any

from postgast import pg_query_pb2 as pb

from catalog.descriptor import Descriptor
from catalog.elements import Column
from catalog.text.sql_names import quoted
from catalog.values.types import SqlType
from expressions.analysis.building import Parameters
from expressions.analysis.scopes import Scan
from expressions.dates.zones import PLAIN, TimeStyle
from expressions.errors import INSUFFICIENT_PRIVILEGE, UNDEFINED_COLUMN, UNDEFINED_TABLE, SqlError, unsupported
from nodes.catalog_queries.compiled import Facts, replaced
from nodes.sql.admission import Admitted, FunctionNames, admitted
from nodes.sql.edits import Compiled, Replacement, in_brackets
from nodes.sql.moments import MARKER, replaced_moments
from nodes.sql.naming import ViewInUse
from nodes.sql.standing_alone import FUNCTIONS as STANDING_ALONE
from nodes.sql.statements import Statement
from nodes.sql.tables_in_place import Columns as ColumnNames
from nodes.sql.tables_in_place import Table, compiled
from nodes.sql.uses import Columns, Named, Place, followed, literals_of, tables_of, widths_of

Node = Any
MARKED = re.compile("\x00[^\x00]*\x00")

OF_SESSION = frozenset({
    "version", "current_setting", "set_config", "current_database", "current_schemas", "current_schema", "current_user",
    "session_user", "user", "current_role", "current_catalog", "pg_backend_pid",
    "pg_is_in_recovery", "pg_client_encoding", "getdatabaseencoding",
})  # fmt: skip
"""Functions that answer for the client's session: the store would answer for the node's."""
REFUSED = {
    **dict.fromkeys(("inet_client_addr", "inet_client_port", "inet_server_addr", "inet_server_port", "current_query",
        "row_security_active")),
    "setseed": "what random() gives cannot be repeated: keep numbers that are to stay the same in a table",
}  # fmt: skip
"""Functions that act on more than the rows of a query, or tell of the store."""
NO_WIDTHS: Mapping[str, int | None] = MappingProxyType({})
INCOMPARABLE = frozenset({SqlType.JSON, SqlType.JSON_ARRAY})
ROW_ID = "\x02"
"""The name of a hidden key column, in texts of the node's own."""


@dataclass(frozen=True, slots=True)
class Use:
    """One use of a table in the text: its scan, and the columns that the text may mean, by its names for them."""

    scan: Scan
    columns: Mapping[str, Column]
    is_written: bool = False
    """It is of the table that the statement writes."""

    @property
    def marker(self) -> str:
        return f"\x00{self.scan.number}\x00"


@dataclass(frozen=True, slots=True)
class InPlace:
    """A statement for PostgreSQL, in which a marker stands for the query of each use of a table."""

    template: Compiled
    uses: tuple[Use, ...]
    shift: int
    """Bytes of the client's text before the statement."""
    is_of_session: bool = False
    sets: tuple[tuple[str, str | None, bool], ...] = ()
    """Settings that it sets where its answer has a row: name, value, whether for the transaction."""
    may_take_long: bool = True
    """It computes rows; not so `SELECT 1`."""
    columns: Columns = None
    """Those of its result, as far as their names say what they are."""
    refusals: Mapping[int, SqlError] = field(default_factory=dict)
    """Why a name at this byte of the statement means nothing, if PostgreSQL says so."""
    origin: Callable[[int], int] = int
    """The byte of the statement that a byte of the template's text comes from, where that is not the statement."""

    @property
    def needs_moment(self) -> bool:
        return MARKER in self.template.text

    def filled(self, queries: Mapping[int, str], moment: str = "") -> Compiled:
        """The text, with the queries of the scans of these numbers, and the parameter for the transaction's time."""
        put = {use.marker: queries[use.scan.number] for use in self.uses} | {MARKER: moment}

        def fill(text: str) -> str:
            return MARKED.sub(lambda found: put[found.group()], text)

        done = tuple(replace(one, text=fill(one.text)) for one in self.template.replacements)
        return Compiled(self.template.original, fill(self.template.text), done)

    def offset(self, done: Compiled, position: int) -> int:
        character = done.position(position)
        return self.shift + self.origin(len(done.original[: character - 1].encode()))

    def explained(self, error: SqlError) -> SqlError:
        """PostgreSQL's error, with what the node knows of a column that it does not find: perhaps its state."""
        own = self.refusals.get(error.offset - self.shift) if error.sqlstate == UNDEFINED_COLUMN else None
        if own is None:
            return error
        if own.column is None:
            return SqlError(own.sqlstate, own.message, error.offset, hint=own.hint)
        error.column = own.column
        return error


def in_place(
    statement: Statement,
    tables: Mapping[str, Descriptor],
    views: Mapping[str, ViewInUse],
    functions: FunctionNames | None,
    parameters: Parameters | None = None,
    facts: Facts | None = None,
    style: TimeStyle = PLAIN,
) -> InPlace:
    """The statement for PostgreSQL, asked in this style. Raises `SqlError`, `postgast.PgQueryError`."""
    text, start = _asked(statement, functions)
    try:
        query = admitted(text, functions)
        if query.stmt.WhichOneof("node") != "select_stmt":
            raise unsupported("a statement that reads no rows")
        found = followed(query.stmt.select_stmt, tables, views, parameters, style)
        place = over_tables(query, start, found.scans, views, functions, style, facts=facts)
    except SqlError as error:
        error.offset += start if error.offset >= 0 else 0
        name = {at: name for name, at in statement.asks.tables}.get(error.offset, "")
        is_bare = bool(name) and text.encode()[error.offset - start :].startswith(name.encode())
        if error.sqlstate == INSUFFICIENT_PRIVILEGE and is_bare and name not in tables and name not in views:
            message = f'relation "{name}" does not exist'
            raise SqlError(UNDEFINED_TABLE, message, error.offset, table=name) from None
        raise
    # a query without FROM has one row, but for a call that gives many
    relations = query.of_kinds("RangeVar", "RangeFunction", "RangeSubselect", "CommonTableExpr")
    called = (one.funcname[-1].string.sval for one in query.of_kinds("FuncCall"))
    makes_rows = any(True for _ in relations) or "generate_series" in called
    return replace(place, may_take_long=makes_rows, columns=found.columns, refusals=found.refusals)


def over_tables(
    query: Admitted,
    start: int,
    scans: "Mapping[Place, Scan]",
    views: Mapping[str, ViewInUse],
    functions: FunctionNames | None,
    style: TimeStyle = PLAIN,
    keyed: Scan | None = None,
    facts: Facts | None = None,
) -> InPlace:
    """A SELECT over these tables, by the places where its text names them. Raises `SqlError`. `start`: bytes of the
    client's text before it. The use of `keyed` shows the key of its rows. With `facts` the text may ask for values of
    the session, and is this session's then (`InPlace.is_of_session`)."""
    compiling = _Compiling(functions, style, scans, keyed, facts)
    tables = {scan.descriptor.name: Named(scan.descriptor) for scan in scans.values()}
    template = compiling.query(query, (), tables, views)
    uses = tuple(compiling.uses)
    if {use.scan.number for use in uses} != {scan.number for scan in scans.values()}:
        raise unsupported("a table that is not read")
    return InPlace(template, uses, start, compiling.is_of_session, () if facts is None else tuple(facts.sets))


def _asked(statement: Statement, functions: FunctionNames | None) -> tuple[str, int]:
    text, start = statement.text, statement.start
    if statement.node.DESCRIPTOR.name != "CopyStmt":
        return text, start
    admitted(text, functions)
    if not statement.node.HasField("query"):
        names = ", ".join(quoted(item.string.sval) for item in statement.node.attlist) or "*"
        return f"SELECT {names} FROM {quoted(statement.node.relation.relname)}", start
    text, begin = in_brackets(text)
    return text, start + begin


def refuse_calls(query: Admitted) -> None:
    """Raises `SqlError` for a function that no query and no statement that writes calls."""
    for one in query.of_kinds("FuncCall"):
        name = one.funcname[-1].string.sval
        if name in STANDING_ALONE:
            raise unsupported(f"{name} within a query", one.location, f"SELECT {name}(..) stands alone")
        if name in REFUSED:
            raise unsupported(f"{name} in a query", one.location, REFUSED[name])


@dataclass
class _Compiling:
    functions: FunctionNames | None
    style: TimeStyle
    scans: Mapping[Place, Scan]
    keyed: Scan | None = None
    facts: Facts | None = None
    uses: list[Use] = field(default_factory=list)
    is_of_session: bool = False

    def query(
        self,
        query: Admitted,
        at: Place,
        tables: Mapping[str, Named],
        views: Mapping[str, ViewInUse],
        widths: Mapping[str, int | None] = NO_WIDTHS,
        more: Sequence[Replacement] = (),
    ) -> Compiled:
        """A query over these tables and views; `at` is where the view is named whose query it is."""
        more = [*more, *replaced_moments(query)]
        refuse_calls(query)
        called = {pb.SQLValueFunctionOp.Name(one.op)[6:].lower() for one in query.of_kinds("SQLValueFunction")}
        called |= {one.funcname[-1].string.sval for one in query.of_kinds("FuncCall")}
        if not called.isdisjoint(OF_SESSION):
            if self.facts is None:
                raise unsupported("a value of the session")
            self.is_of_session = True
            more += replaced(query.words, query.stmt.select_stmt, self.facts)
        placed = {name: self._table(table, at) for name, table in tables.items()}
        placed |= {name: Table(partial(self._view, at, view, widths.get(name))) for name, view in views.items()}
        return compiled(query, placed, more)

    def _table(self, named: Named, at: Place) -> Table:
        version = named.version
        columns = {c.name: c for c in version.public_columns}
        if named.columns is not None:
            columns = {name: version.column(column_id) for name, column_id in named.columns.items()}
        called = {column.id: name for name, column in columns.items()}
        key = tuple(called.get(column_id, "") for column_id in version.declared_key)
        groupable = tuple(n for n, c in columns.items() if c.type not in INCOMPARABLE and n not in key)
        return Table(partial(self._use, columns, at), () if "" in key else key, groupable)

    def _use(self, columns: Mapping[str, Column], at: Place, location: int, named: ColumnNames) -> str:
        scan = self.scans.get((*at, location))
        if scan is None:
            raise unsupported("a table that was not analysed", location)
        if scan is self.keyed:
            columns = {**{c.name or ROW_ID: c for c in scan.descriptor.key_columns}, **columns}
        use = Use(scan, {name: c for name, c in columns.items() if named is None or name in named}, scan is self.keyed)
        self.uses.append(use)
        return use.marker

    def _view(self, at: Place, view: ViewInUse, width: int | None, location: int, _: ColumnNames) -> str:
        definition = view.definition
        style, own = self.style, (definition.zone, definition.order, definition.intervals)
        is_styled = own != (style.zone.name, style.order, style.intervals)
        more = [Replacement(*one) for one in literals_of(view, style)] if is_styled else []
        query = admitted(definition.query, self.functions)
        inner = self.query(query, (*at, location), tables_of(view), view.views, widths_of(view), more)
        names = [quoted(column.name) for column in definition.columns]
        return f"SELECT {', '.join(names[:width])} FROM ({inner.text}) AS v ({', '.join(names)})"
