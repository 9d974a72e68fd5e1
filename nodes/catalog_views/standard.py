"""Rows of information_schema: tables, columns and constraints as the SQL standard describes them."""

from collections.abc import Callable, Iterator, Sequence

from catalog.descriptor import Descriptor
from catalog.elements import CHECK, FOREIGN_KEY, RESTRICT, Column, Constraint, State
from catalog.values.numerics import precision_and_scale
from catalog.values.types import INT_LIMITS, MOMENTS, TEXTS, WHOLE, SqlType
from expressions.sqltypes import OF_SQL_TYPE
from nodes.catalog_views import texts
from nodes.catalog_views.fixed import SCHEMAS, TYPE_NAMES
from nodes.catalog_views.values import DATABASE_NAME, OWNER_NAME, Row
from storage.shadow.keys import Key, is_shown_as_constraint, keys_of, required_columns
from storage.shadow.names import quoted

SCHEMA = "information_schema"
_DIGITS = {SqlType.SMALLINT: 16, SqlType.INTEGER: 32, SqlType.BIGINT: 64, SqlType.REAL: 24, SqlType.DOUBLE: 53}
_FRACTION = {SqlType.DATE: 0, SqlType.TIMESTAMP: 6, SqlType.TIMESTAMPTZ: 6, SqlType.TIME: 6, SqlType.INTERVAL: 6}
TEXT_BYTES = 2**30


def named(what: str, name: str) -> Row:
    """An object of ours: its database, schema and name."""
    return {f"{what}_catalog": DATABASE_NAME, f"{what}_schema": "public", f"{what}_name": name}


def _schemata(_: Sequence[Descriptor]) -> Iterator[Row]:
    for name in SCHEMAS.values():
        yield {"catalog_name": DATABASE_NAME, "schema_name": name, "schema_owner": OWNER_NAME}


def _catalog_name(_: Sequence[Descriptor]) -> Iterator[Row]:
    yield {"catalog_name": DATABASE_NAME}


def _tables(tables: Sequence[Descriptor]) -> Iterator[Row]:
    for table in tables:
        yield {
            **named("table", table.name), "table_type": "BASE TABLE", "is_insertable_into": "YES", "is_typed": "NO",
        }  # fmt: skip


def _columns(tables: Sequence[Descriptor]) -> Iterator[Row]:
    for table in tables:
        required = required_columns(table)
        for column in table.public_columns:
            yield {
                **named("table", table.name), "column_name": column.name, "ordinal_position": column.number,
                "column_default": None if column.default is None else texts.default_of(column),
                "is_nullable": "NO" if column.id in required else "YES", **described(column),
                "udt_catalog": DATABASE_NAME, "udt_schema": "pg_catalog",
                "udt_name": TYPE_NAMES[column.type.oid], "dtd_identifier": str(column.number),
                "is_self_referencing": "NO", **_identity(column), "is_generated": "NEVER", "is_updatable": "YES",
            }  # fmt: skip


def described(column: Column) -> Row:
    """The type of a column, spelled out."""
    of = column.type
    digits = _DIGITS.get(of)
    return {
        "data_type": "ARRAY" if of.element else OF_SQL_TYPE[of].name, "character_octet_length": _bytes(column),
        "character_maximum_length": column.length if of in TEXTS else None,
        "numeric_precision": digits, "numeric_precision_radix": 2 if digits else None,
        "numeric_scale": 0 if of in WHOLE else None, **_precision(column),
        "datetime_precision": _FRACTION.get(of) if column.length is None or of not in MOMENTS else column.length,
    }  # fmt: skip


def _precision(column: Column) -> Row:
    """Digits of a numeric, in tens."""
    if column.type is not SqlType.NUMERIC:
        return {}
    if column.length is None:
        return {"numeric_precision_radix": 10}
    precision, scale = precision_and_scale(column.length)
    return {"numeric_precision": precision, "numeric_precision_radix": 10, "numeric_scale": scale}


def _bytes(column: Column) -> int | None:
    """The bytes that a text may have, four for each character."""
    if column.type not in TEXTS:
        return None
    return TEXT_BYTES if column.length is None else column.length * 4


def _identity(column: Column) -> Row:
    if not column.identity:
        return {"is_identity": "NO", "identity_cycle": "NO"}
    return {
        "is_identity": "YES", "identity_generation": "ALWAYS" if column.identity_always else "BY DEFAULT",
        "identity_start": str(column.identity_start), "identity_increment": "1",
        "identity_maximum": str(INT_LIMITS[column.type] - 1), "identity_minimum": "1", "identity_cycle": "NO",
    }  # fmt: skip


def _sequences(tables: Sequence[Descriptor]) -> Iterator[Row]:
    for table in tables:
        for column in table.public_columns:
            if column.identity:
                yield {
                    **named("sequence", table.sequence_name(column)), "data_type": column.type.value,
                    "numeric_precision": _DIGITS[column.type], "numeric_precision_radix": 2, "numeric_scale": 0,
                    "start_value": str(column.identity_start), "minimum_value": "1",
                    "maximum_value": str(INT_LIMITS[column.type] - 1),
                    "increment": "1", "cycle_option": "NO",
                }  # fmt: skip


def _keys(table: Descriptor) -> Iterator[Key]:
    return (key for key in keys_of(table) if is_shown_as_constraint(key))


def _rules(table: Descriptor, rule: str) -> Iterator[Constraint]:
    return (c for c in table.constraints if c.rule == rule and c.state is State.PUBLIC)


def _links(tables: Sequence[Descriptor]) -> Iterator[tuple[Descriptor, Constraint, Descriptor]]:
    """The foreign keys between public tables."""
    by_id = {table.table_id: table for table in tables}
    for table in tables:
        for constraint in _rules(table, FOREIGN_KEY):
            if constraint.references in by_id:
                yield table, constraint, by_id[constraint.references]


def _table_constraints(tables: Sequence[Descriptor]) -> Iterator[Row]:
    def row(table: Descriptor, name: str, kind: str) -> Row:
        return {
            **named("constraint", name), **named("table", table.name), "constraint_type": kind,
            "is_deferrable": "NO", "initially_deferred": "NO", "enforced": "YES",
            "nulls_distinct": "YES" if kind == "UNIQUE" else None,
        }  # fmt: skip

    for table in tables:
        for key in _keys(table):
            yield row(table, key.name, "PRIMARY KEY" if key.primary else "UNIQUE")
        for constraint in _rules(table, CHECK):
            yield row(table, constraint.name, "CHECK")
        required = required_columns(table)
        for column in table.public_columns:
            if column.id in required:
                yield row(table, table.not_null_name(column), "CHECK")
    for table, constraint, _ in _links(tables):
        yield row(table, constraint.name, "FOREIGN KEY")


def _check_constraints(tables: Sequence[Descriptor]) -> Iterator[Row]:
    for table in tables:
        for constraint in _rules(table, CHECK):
            clause = texts.condition_of(table, constraint.expression)
            yield {**named("constraint", constraint.name), "check_clause": clause}
        required = required_columns(table)
        for column in table.public_columns:
            if column.id in required:
                clause = f"{quoted(column.name)} IS NOT NULL"
                yield {**named("constraint", table.not_null_name(column)), "check_clause": clause}


def _key_column_usage(tables: Sequence[Descriptor]) -> Iterator[Row]:
    for table in tables:
        for key in _keys(table):
            for number, part in enumerate(key.columns, start=1):
                yield {
                    **named("constraint", key.name), **named("table", table.name),
                    "column_name": table.column(part.column).name, "ordinal_position": number,
                }  # fmt: skip
    for table, constraint, other in _links(tables):
        places = _places(constraint, other)
        for number, column in enumerate(constraint.columns, start=1):
            yield {
                **named("constraint", constraint.name), **named("table", table.name),
                "column_name": table.column(column).name, "ordinal_position": number,
                "position_in_unique_constraint": places[number - 1],
            }  # fmt: skip


def _places(constraint: Constraint, other: Descriptor) -> list[int]:
    """The place of each referenced column in the key that holds it unique."""
    key = next(key for key in keys_of(other) if key.id == constraint.index)
    order = [part.column for part in key.columns]
    return [order.index(column) + 1 for column in constraint.reference_columns]


def _referential_constraints(tables: Sequence[Descriptor]) -> Iterator[Row]:
    for _, constraint, other in _links(tables):
        key = next(key for key in keys_of(other) if key.id == constraint.index)
        unique: Row = {f"unique_{word}": value for word, value in named("constraint", key.name).items()}
        yield {
            **named("constraint", constraint.name), **unique, "match_option": "NONE",
            "update_rule": "RESTRICT" if constraint.on_update == RESTRICT else "NO ACTION",
            "delete_rule": "RESTRICT" if constraint.on_delete == RESTRICT else "NO ACTION",
        }  # fmt: skip


def _constraint_columns(tables: Sequence[Descriptor]) -> Iterator[Row]:
    """The columns that a constraint needs: of a foreign key, those it refers to."""
    for table in tables:
        for key in _keys(table):
            for part in key.columns:
                yield _column(table, table.column(part.column), key.name)
        for constraint in _rules(table, CHECK):
            for column_id in texts.columns_of(table, constraint):
                yield _column(table, table.column(column_id), constraint.name)
        required = required_columns(table)
        for column in table.public_columns:
            if column.id in required:
                yield _column(table, column, table.not_null_name(column))
    for _, constraint, other in _links(tables):
        for column_id in constraint.reference_columns:
            yield _column(other, other.column(column_id), constraint.name)


def _column(table: Descriptor, column: Column, constraint: str) -> Row:
    return {**named("table", table.name), "column_name": column.name, **named("constraint", constraint)}


def _constraint_tables(tables: Sequence[Descriptor]) -> Iterator[Row]:
    for table in tables:
        for key in _keys(table):
            yield {**named("table", table.name), **named("constraint", key.name)}
    for _, constraint, other in _links(tables):
        yield {**named("table", other.name), **named("constraint", constraint.name)}


MADE: dict[str, Callable[[Sequence[Descriptor]], Iterator[Row]]] = {
    f"{SCHEMA}.{name}": made
    for name, made in {
        "schemata": _schemata,
        "information_schema_catalog_name": _catalog_name,
        "tables": _tables,
        "columns": _columns,
        "sequences": _sequences,
        "table_constraints": _table_constraints,
        "check_constraints": _check_constraints,
        "key_column_usage": _key_column_usage,
        "referential_constraints": _referential_constraints,
        "constraint_column_usage": _constraint_columns,
        "constraint_table_usage": _constraint_tables,
    }.items()
}
