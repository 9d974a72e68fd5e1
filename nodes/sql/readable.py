"""SELECTs that PostgreSQL answers in place, and their texts for it. Pure.

    SELECT f.id FROM flights f WHERE f.id > $1
                     (SELECT .. over pair views ..) f

Made once for a plan; the queries of its tables are written anew for each execution, since key ranges follow from its
values. A text that speaks of its session, the catalog or views goes the way of the query engine.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import postgast

from catalog.descriptor import Descriptor
from catalog.elements import Column, ColumnId
from catalog.text.sql_names import quoted
from catalog.values.types import SqlType
from expressions.analysis.scopes import Scan
from expressions.dates.zones import PLAIN, TimeStyle
from expressions.errors import SqlError, unsupported
from nodes.sql.admission import FunctionNames, admitted, nodes_in
from nodes.sql.edits import Compiled, in_brackets
from nodes.sql.moments import MARKER, replaced_moments
from nodes.sql.naming import ViewInUse
from nodes.sql.pair_queries import is_readable
from nodes.sql.plans import SelectPlan
from nodes.sql.statements import Statement
from nodes.sql.tables_in_place import Columns, Table, compiled

Node = Any

OF_SESSION = frozenset({
    "statement_timestamp", "clock_timestamp", "timeofday", "age", "version",
    "current_setting", "set_config", "current_database", "current_schema", "current_schemas", "current_user", "user",
    "session_user", "current_role", "current_catalog", "nextval", "currval", "lastval", "setval", "inet_client_addr",
    "inet_client_port", "inet_server_addr", "inet_server_port", "txid_current", "txid_current_if_assigned",
    "to_regclass", "to_regtype", "to_regproc", "to_regnamespace", "to_regrole", "format_type", "obj_description",
    "col_description", "setseed", "current_query", "shobj_description", "row_security_active", "pg_typeof",
})  # fmt: skip
"""Functions that answer for the client's session, or about the catalog: the store would answer for the node's."""
INCOMPARABLE = frozenset({SqlType.JSON, SqlType.JSON_ARRAY})
SYSTEM_COLUMNS = frozenset({"tableoid", "ctid", "xmin", "xmax", "cmin", "cmax"})


@dataclass(frozen=True, slots=True)
class Use:
    """One use of a table in the text: its scan, and the columns that the text may mean, by its names for them."""

    scan: Scan
    columns: Mapping[str, Column]

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

    @property
    def needs_moment(self) -> bool:
        return MARKER in self.template.text

    def filled(self, queries: Mapping[int, str], moment: str = "") -> Compiled:
        """The text, with the queries of the scans of these numbers, and the parameter for the transaction's time."""

        def fill(text: str) -> str:
            text = text.replace(MARKER, moment)
            for use in self.uses:
                text = text.replace(use.marker, queries[use.scan.number])
            return text

        done = tuple(replace(one, text=fill(one.text)) for one in self.template.replacements)
        return Compiled(self.template.original, fill(self.template.text), done)

    def offset(self, done: Compiled, position: int) -> int:
        """The byte of the client's text that a character of the compiled one comes from."""
        character = done.position(position)
        return self.shift + len(done.original[: character - 1].encode())


def in_place(
    statement: Statement, plan: SelectPlan, functions: FunctionNames | None, style: TimeStyle = PLAIN
) -> InPlace | None:
    """The statement for PostgreSQL, asked in this style; None for one that goes the other way."""
    if plan.relations or plan.is_correlated:
        return None
    try:
        text, start, scans = _asked(statement, plan, functions)
        return over_tables(text, start, scans, plan.views, functions, style)
    except (SqlError, postgast.PgQueryError):
        return None


def over_tables(
    text: str,
    start: int,
    scans: "Mapping[Place, Scan]",
    views: Mapping[str, ViewInUse],
    functions: FunctionNames | None,
    style: TimeStyle = PLAIN,
    keyed: Scan | None = None,
) -> InPlace:
    """A SELECT over these tables, by the places where its text names them. Raises `SqlError`, `postgast.PgQueryError`.

    `start`: bytes of the client's text before it. The use of `keyed` shows the key of its rows, hidden or not.
    """
    compiling = _Compiling(functions, style, scans, keyed)
    tables = {scan.descriptor.name: Named(scan.descriptor) for scan in scans.values()}
    template = compiling.query(text, (), tables, views)
    uses = tuple(compiling.uses)
    if {use.scan.number for use in uses} != {scan.number for scan in scans.values()}:
        raise unsupported("a table that is not read")
    if not all(is_readable(use.scan.descriptor, use.columns.values()) for use in uses):
        raise unsupported("a key as wide as this")
    return InPlace(template, uses, start)


Place = tuple[int, ...]


def _asked(
    statement: Statement, plan: SelectPlan, functions: FunctionNames | None
) -> tuple[str, int, Mapping[Place, Scan]]:
    """The query of a statement: its text, the byte of the client's where that begins, its scans by their places."""
    text, start = statement.text, statement.start
    node = admitted(text, functions)
    if node.WhichOneof("node") == "copy_stmt":
        if not node.copy_stmt.HasField("query"):
            names = ", ".join(quoted(item.string.sval) for item in node.copy_stmt.attlist) or "*"
            [scan] = plan.scans
            before = f"SELECT {names} FROM "
            return before + quoted(node.copy_stmt.relation.relname), start, {(len(before.encode()),): scan}
        text, begin = in_brackets(text)
        start += begin
    return text, start, {(scan.place[0] - start, *scan.place[1:]): scan for scan in plan.scans}


def _is_of_rows_alone(node: Node) -> bool:
    """True if nothing in it speaks of the session, the catalog, or places of rows."""
    for one in nodes_in(node):
        kind = one.DESCRIPTOR.name
        if kind in ("RangeTableSample", "CurrentOfExpr"):
            return False
        if kind == "FuncCall":
            name = one.funcname[-1].string.sval
            if name in OF_SESSION or name.startswith(("pg_", "has_")):
                return False
        if kind == "ColumnRef" and one.fields[-1].string.sval in SYSTEM_COLUMNS:
            return False
    return True


@dataclass(frozen=True, slots=True)
class Named:
    """A table with the names that a view gives its columns; None: its own."""

    version: Descriptor
    columns: Mapping[str, ColumnId] | None = None


@dataclass
class _Compiling:
    """Makes the text of one statement, and those of the views that it reads."""

    functions: FunctionNames | None
    style: TimeStyle
    scans: Mapping[Place, Scan]
    keyed: Scan | None = None
    uses: list[Use] = field(default_factory=list)

    def query(self, text: str, at: Place, tables: Mapping[str, Named], views: Mapping[str, ViewInUse]) -> Compiled:
        """A query over these tables and views; `at` is where the view is named whose query it is."""
        node = admitted(text, self.functions)
        if node.WhichOneof("node") != "select_stmt" or not _is_of_rows_alone(node):
            raise unsupported("what is not of rows alone")
        if not {"\x00", MARKER}.isdisjoint(text):
            raise unsupported("a character that marks a place")
        moments = replaced_moments(text, node.select_stmt)
        if moments is None:
            raise unsupported("the time, said so")
        placed = {name: self._table(table, at) for name, table in tables.items()}
        placed |= {name: Table(partial(self._view, at, view)) for name, view in views.items()}
        return compiled(text, node.select_stmt, placed, moments)

    def _table(self, named: Named, at: Place) -> Table:
        version = named.version
        columns = {c.name: c for c in version.public_columns}
        if named.columns is not None:
            columns = {name: version.column(column_id) for name, column_id in named.columns.items()}
        called = {column.id: name for name, column in columns.items()}
        key = tuple(called.get(column_id, "") for column_id in version.declared_key)
        groupable = tuple(n for n, c in columns.items() if c.type not in INCOMPARABLE and n not in key)
        return Table(partial(self._use, columns, at), () if "" in key else key, groupable)

    def _use(self, columns: Mapping[str, Column], at: Place, location: int, named: Columns) -> str:
        scan = self.scans.get((*at, location))
        if scan is None:
            raise unsupported("a table that was not analysed", location)
        if scan is self.keyed:
            columns = {**{c.name: c for c in scan.descriptor.key_columns}, **columns}
        use = Use(scan, {name: c for name, c in columns.items() if named is None or name in named})
        self.uses.append(use)
        return use.marker

    def _view(self, at: Place, view: ViewInUse, location: int, _: Columns) -> str:
        """The query of a view. Its constants were read in the style of its maker."""
        definition = view.definition
        if (definition.zone, definition.order) != (self.style.zone.name, self.style.order):
            raise unsupported("a view from a session in another style", location)
        uses = {use.name: use.columns for use in definition.tables}
        tables = {name: Named(version, uses[name]) for name, version in view.tables.items()}
        widths = {use.name: use.columns for use in definition.views}
        if any(widths[name] != len(inner.definition.columns) for name, inner in view.views.items()):
            raise unsupported("a view whose columns were fewer", location)
        inner = self.query(definition.query, (*at, location), tables, view.views)
        names = ", ".join(quoted(column.name) for column in definition.columns)
        return f"SELECT * FROM ({inner.text}) AS v ({names})"
