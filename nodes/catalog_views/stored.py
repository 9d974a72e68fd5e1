"""Rows of the catalog about views: stored queries, whose columns have no table of their own."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from catalog.descriptor import Descriptor
from catalog.elements import Column, ColumnId, State
from catalog.view_definition import ViewColumn, ViewDefinition
from expressions.sqltypes import PARAMETER_OIDS, TEXT, TEXTUAL, Type, length_of_modifier
from expressions.values.object_names import DEFINITIONS, OBJECTS, VIEW, spelled
from nodes.catalog_views.fixed import ALIGNMENTS, BY_VALUE, TYPE_NAMES
from nodes.catalog_views.standard import SCHEMA, described, named
from nodes.catalog_views.values import DATABASE_NAME, DEFAULT_COLLATION, OWNER, OWNER_NAME, PUBLIC, Row
from nodes.wire.oids import table_oid, view_number
from storage.shadow.names import quoted
from storage.shadow.view_queries import query_of

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
