"""Rows of the catalog about views: stored queries, whose columns have no table of their own."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import postgast

from catalog.descriptor import Descriptor
from catalog.elements import Column, ColumnId, State
from catalog.view_definition import TableUse, ViewColumn, ViewDefinition
from expressions import grammar
from expressions.sqltypes import PARAMETER_OIDS, TEXT, TEXTUAL, Type, length_of_modifier
from expressions.values.object_names import DEFINITIONS, OBJECTS, VIEW, spelled
from nodes.catalog_views.fixed import ALIGNMENTS, BY_VALUE, TYPE_NAMES
from nodes.catalog_views.standard import SCHEMA, described, named
from nodes.catalog_views.texts import quoted
from nodes.catalog_views.values import DATABASE_NAME, DEFAULT_COLLATION, OWNER, OWNER_NAME, PUBLIC, Row
from nodes.wire.oids import table_oid, view_number

Tables = Mapping[int, Descriptor]
PG_CLASS, PG_REWRITE = 1259, 2618


def oid_of(view: ViewDefinition) -> int:
    return table_oid(view_number(view.view_id))


def rule_oid(view: ViewDefinition) -> int:
    """The oid of what PostgreSQL keeps a view's query by."""
    return oid_of(view) + 1


def _type(column: ViewColumn) -> Type:
    return PARAMETER_OIDS.get(column.type_oid, TEXT)


def _classes(views: Sequence[ViewDefinition], tables: Tables) -> Iterator[Row]:
    for view in views:
        yield {
            "oid": oid_of(view), "relname": view.name, "relnamespace": PUBLIC, "relowner": OWNER, "relkind": "v",
            "relpersistence": "p", "relispopulated": True, "relhasrules": True, "relreplident": "n",
            "relnatts": len(view.columns),
        }  # fmt: skip


def _attributes(views: Sequence[ViewDefinition], tables: Tables) -> Iterator[Row]:
    for view in views:
        for number, column in enumerate(view.columns, start=1):
            of = _type(column)
            is_text = of in TEXTUAL
            yield {
                "attrelid": oid_of(view), "attname": column.name, "attnum": number, "attidentity": "",
                "atttypid": column.type_oid, "attlen": of.typlen, "atttypmod": column.modifier,
                "attbyval": of.typlen in BY_VALUE, "attalign": ALIGNMENTS.get(of.typlen, "c"), "attcompression": "",
                "attgenerated": "", "attstorage": "x" if is_text else "p", "attislocal": True,
                "attcollation": DEFAULT_COLLATION if is_text else 0, "attstattarget": None,
            }  # fmt: skip


def _rules(views: Sequence[ViewDefinition], tables: Tables) -> Iterator[Row]:
    for view in views:
        yield {
            "oid": rule_oid(view), "rulename": "_RETURN", "ev_class": oid_of(view), "ev_type": "1",
            "ev_enabled": "O", "is_instead": True,
        }  # fmt: skip


def _dependencies(views: Sequence[ViewDefinition], tables: Tables) -> Iterator[Row]:
    """A view's rule goes with it, and needs the columns that it reads."""
    for view in views:
        rule: Row = {"classid": PG_REWRITE, "objid": rule_oid(view), "refclassid": PG_CLASS}
        yield {**rule, "refobjid": oid_of(view), "deptype": "i"}
        for use in view.tables:
            table = tables.get(use.table_id)
            numbers = [] if table is None else [table.column(column).number for column in use.columns.values()]
            for number in numbers or (0,):
                yield {**rule, "refobjid": table_oid(use.table_id), "refobjsubid": number, "deptype": "n"}


def _views(views: Sequence[ViewDefinition], tables: Tables) -> Iterator[Row]:
    for view in views:
        definition = query_of(view, views, tables)
        yield {"schemaname": "public", "viewname": view.name, "viewowner": OWNER_NAME, "definition": definition}


def _standard_tables(views: Sequence[ViewDefinition], tables: Tables) -> Iterator[Row]:
    for view in views:
        yield {**named("table", view.name), "table_type": "VIEW", "is_insertable_into": "NO", "is_typed": "NO"}


def _standard_columns(views: Sequence[ViewDefinition], tables: Tables) -> Iterator[Row]:
    for view in views:
        for number, column in enumerate(view.columns, start=1):
            yield {
                **named("table", view.name), "column_name": column.name, "ordinal_position": number,
                "is_nullable": "YES", **_described(number, column), "udt_catalog": DATABASE_NAME,
                "udt_schema": "pg_catalog", "udt_name": TYPE_NAMES.get(column.type_oid, _type(column).name),
                "dtd_identifier": str(number), "is_self_referencing": "NO", "is_identity": "NO",
                "identity_cycle": "NO", "is_generated": "NEVER", "is_updatable": "NO",
            }  # fmt: skip


def _described(number: int, column: ViewColumn) -> Row:
    """The type of a column; one that no column of a table has by its name alone."""
    of = _type(column)
    if of.sql_type is None:
        return {"data_type": "ARRAY" if of.element else of.name}
    length = length_of_modifier(of, column.modifier)
    return described(Column(ColumnId(number), column.name, of.sql_type, State.PUBLIC, length=length))


def _standard_views(views: Sequence[ViewDefinition], tables: Tables) -> Iterator[Row]:
    for view in views:
        yield {
            **named("table", view.name), "view_definition": query_of(view, views, tables), "check_option": "NONE",
            "is_updatable": "NO", "is_insertable_into": "NO", "is_trigger_updatable": "NO",
            "is_trigger_deletable": "NO", "is_trigger_insertable_into": "NO",
        }  # fmt: skip


def _tables_used(views: Sequence[ViewDefinition], tables: Tables) -> Iterator[Row]:
    by_id = {view.view_id: view.name for view in views}
    for view in views:
        read = [tables[use.table_id].name for use in view.tables if use.table_id in tables]
        for name in (*read, *(by_id[use.view_id] for use in view.views if use.view_id in by_id)):
            yield {**named("view", view.name), **named("table", name)}


def _columns_used(views: Sequence[ViewDefinition], tables: Tables) -> Iterator[Row]:
    for view in views:
        for use in view.tables:
            table = tables.get(use.table_id)
            for column in () if table is None else table.public_columns:
                if table is not None and column.id in use.columns.values():
                    yield {**named("view", view.name), **named("table", table.name), "column_name": column.name}


def _objects(views: Sequence[ViewDefinition], tables: Tables) -> Iterator[Row]:
    for view in views:
        for found_by in (spelled(view.name), f"public.{spelled(view.name)}"):
            yield {"kind": "c", "oid": oid_of(view), "shown": quoted(view.name), "spelled": found_by}


def _definitions(views: Sequence[ViewDefinition], tables: Tables) -> Iterator[Row]:
    for view in views:
        definition = query_of(view, views, tables)
        for is_pretty in (False, True):
            yield {"kind": VIEW, "oid": oid_of(view), "part": 0, "is_pretty": is_pretty, "definition": definition}


def query_of(view: ViewDefinition, views: Sequence[ViewDefinition], tables: Tables) -> str:
    """The query with the names that tables, columns and views have now: run again, it means the same."""
    tree = grammar.parse(view.query)
    query = tree.stmts[0].stmt
    uses = {use.name: use for use in view.tables}
    others = {use.name: use.view_id for use in view.views}
    names = {one.view_id: one.name for one in views}
    words = _Words.of(query)
    for place in list(_places(query)):
        node = place.range_var
        use = uses.get(node.relname)
        if use is not None and use.table_id in tables:
            _name_table(place, use, tables[use.table_id], words)
        elif node.relname in others and names.get(others[node.relname], node.relname) != node.relname:
            _alias(node, node.relname)
            node.relname = names[others[node.relname]]
    return f" {postgast.deparse(tree)};"


@dataclass(frozen=True)
class _Words:
    """Words of a query that do not name the table they mean: names of columns alone, and all columns there are."""

    columns: frozenset[str]
    names_all: bool

    @classmethod
    def of(cls, query: Any) -> "_Words":
        found, names_all = set[str](), False
        for _, message in postgast.walk(query):
            kind = message.DESCRIPTOR.name
            names_all = names_all or kind == "A_Star" or (kind == "JoinExpr" and message.is_natural)
            if kind == "ColumnRef" and len(message.fields) == 1:
                found.add(message.fields[0].string.sval)
        return cls(frozenset(found), names_all)


def _places(query: Any) -> Iterator[Any]:
    """The places in FROM that name a table or a view, and not a query of WITH."""
    pending: list[tuple[Any, frozenset[str]]] = [(query, frozenset())]
    while pending:
        message, hidden = pending.pop()
        if message.DESCRIPTOR.name == "Node" and message.WhichOneof("node") == "range_var":
            if message.range_var.schemaname or message.range_var.relname not in hidden:
                yield message
            continue
        if message.DESCRIPTOR.name == "SelectStmt" and message.HasField("with_clause"):
            clause = message.with_clause
            named = [item.common_table_expr.ctename for item in clause.ctes]
            for count, item in enumerate(clause.ctes):
                pending.append((item, hidden | frozenset(named if clause.recursive else named[:count])))
            hidden |= frozenset(named)
        for field, value in message.ListFields():
            if field.message_type is not None and field.name != "with_clause":
                pending += [(inner, hidden) for inner in (value if field.is_repeated else (value,))]


def _name_table(place: Any, use: TableUse, table: Descriptor, words: _Words) -> None:
    """A table by its name of now; where its columns would mean something else by now, as a query of those it had."""
    called = {column_id: name for name, column_id in use.columns.items()}
    others = {column.name for column in table.public_columns if column.id not in called}
    renamed = any(called.get(column.id, column.name) != column.name for column in table.public_columns)
    node = place.range_var
    if table.name != use.name:
        _alias(node, use.name)
        node.relname = table.name
    if not renamed and not others & words.columns and not (others and words.names_all):
        return
    _alias(node, use.name)
    now = {column.id: column.name for column in table.public_columns}
    listed = ", ".join(f"{quoted(now[c])} AS {quoted(name)}" for name, c in use.columns.items() if c in now)
    source = grammar.parse(f"SELECT 1 FROM (SELECT {listed} FROM {quoted(table.name)}) AS x").stmts[0].stmt
    subselect = source.select_stmt.from_clause[0].range_subselect
    subselect.alias.CopyFrom(node.alias)
    place.range_subselect.CopyFrom(subselect)


def _alias(node: Any, name: str) -> None:
    if not node.alias.aliasname:
        node.alias.aliasname = name


MADE: dict[str, Callable[[Sequence[ViewDefinition], Tables], Iterator[Row]]] = {
    "pg_class": _classes,
    "pg_attribute": _attributes,
    "pg_rewrite": _rules,
    "pg_depend": _dependencies,
    "pg_views": _views,
    f"{SCHEMA}.tables": _standard_tables,
    f"{SCHEMA}.columns": _standard_columns,
    f"{SCHEMA}.views": _standard_views,
    f"{SCHEMA}.view_table_usage": _tables_used,
    f"{SCHEMA}.view_column_usage": _columns_used,
    OBJECTS: _objects,
    DEFINITIONS: _definitions,
}
