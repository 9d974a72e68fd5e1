"""Reads column definitions: the type, the default and the constraints. A constant default is written canonically in the
column's type (DEFAULT '2020-1-1' of a date: '2020-01-01'::date), so that no two nodes read it differently."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from catalog.values.arrays import OF_ARRAYS
from catalog.values.errors import BadValue
from catalog.values.types import (
    ARRAY_OF,
    LENGTHS,
    MOMENTS,
    TEXTS,
    WHOLE,
    SqlType,
    Value,
    fitted,
    precision_named,
    to_text,
)
from changes.ddl.actions import Name, NewCheck, NewColumn, NewForeignKey, NewUnique, Sql
from changes.ddl.constraints import kind_of, read_constraint
from changes.ddl.errors import INVALID_TABLE_DEFINITION, SYNTAX_ERROR, UNDEFINED_OBJECT, DdlError, unsupported
from changes.ddl.identity import Numbers, check_numbers, read_numbers
from changes.ddl.placing import placed
from changes.ddl.references import JUDGED_AT_ONCE
from changes.ddl.source import Source
from changes.planning.alter.defaults import has_one_value, typed_default
from expressions.analysis.tree import is_of_all_digits, length_of_name, numbers_of
from expressions.sqltypes import OF_SQL_TYPE
from expressions.typed import Context, evaluate

Node = Any

OF_DEFERRAL = ("CONSTR_ATTR_DEFERRABLE", "CONSTR_ATTR_NOT_DEFERRABLE", "CONSTR_ATTR_DEFERRED", "CONSTR_ATTR_IMMEDIATE")
"""The items that the grammar makes of DEFERRABLE and INITIALLY behind a column, after the constraint."""

TYPES = {of.typname: of for of in SqlType if not of.element}
SERIALS = {
    "smallserial": SqlType.SMALLINT,
    "serial2": SqlType.SMALLINT,
    "serial": SqlType.INTEGER,
    "serial4": SqlType.INTEGER,
    "bigserial": SqlType.BIGINT,
    "serial8": SqlType.BIGINT,
}

INSTEAD = {
    "char": "text",
    "name": "text",
    "citext": "text",
    "xml": "text",
    "inet": "text",
    "bit": "text",
    "varbit": "text",
    "oid": "bigint",
    "money": "numeric",
    "timetz": "time, or timestamptz",
}


@dataclass(frozen=True, slots=True)
class ColumnDef:
    """A column and its constraints; `is_key`: PRIMARY KEY stands behind it."""

    column: NewColumn
    is_key: bool
    checks: tuple[NewCheck, ...] = ()
    uniques: tuple[NewUnique, ...] = ()
    foreign_keys: tuple[NewForeignKey, ...] = ()

    @property
    def constraints(self) -> tuple[NewCheck | NewUnique | NewForeignKey, ...]:
        return (*self.checks, *self.uniques, *self.foreign_keys)

    @property
    def name(self) -> str:
        return self.column.name.text

    @property
    def position(self) -> int | None:
        return self.column.name.position


def read_column(node: Node, source: Source) -> ColumnDef:
    """Reads one `column_def`; raises `DdlError`."""
    where = source.where
    position = where(node.location)
    if node.HasField("coll_clause"):
        raise unsupported("COLLATE", position=where(node.coll_clause.location), hint="Texts sort by their UTF-8 bytes.")
    if node.storage_name or node.compression:
        raise unsupported(f"STORAGE or COMPRESSION of column {node.colname}", position=position)
    sql_type, is_serial = read_type(node.type_name, source)
    clauses = _Clauses(Name(node.colname, position), sql_type, source)
    clauses.length = read_length(node.type_name, sql_type, source)
    for item in node.constraints:
        clauses.add(item.constraint)
    return clauses.column(position, is_serial=is_serial)


def read_type(node: Node, source: Source) -> tuple[SqlType, bool]:
    """The type, and whether it is a serial."""
    where = source.where
    words = [name.string.sval for name in node.names]
    schema, name = ("pg_catalog", *words)[-2:]
    position = where(node.location)
    if len(node.array_bounds) > 1:
        raise unsupported(OF_ARRAYS, position=position, hint="A jsonb may be nested.")
    if schema == "pg_catalog" and name in INSTEAD:
        raise unsupported(f"type {_written(name)}", position=position, hint=f"Use {INSTEAD[name]}.")
    found = TYPES.get(name) or SERIALS.get(name)
    if schema != "pg_catalog" or found is None:
        spelled = ".".join(words)
        hint = f"Types are {', '.join(t.value for t in SqlType)}."
        raise DdlError(UNDEFINED_OBJECT, f'type "{spelled}" does not exist', position=position, hint=hint)
    if node.typmods and found not in (*LENGTHS, *MOMENTS, SqlType.NUMERIC) and not is_of_all_digits(node):
        what = f"a precision{' or fields' * (found is SqlType.INTERVAL)} for type {found.value}"
        raise unsupported(what, position=position, hint=f"Write {found.value} alone.")
    if not node.array_bounds:
        return found, name in SERIALS
    if name in SERIALS:
        raise DdlError("0A000", "array of serial is not implemented", position=position)
    if found not in ARRAY_OF:
        raise unsupported(f"an array of {_written(name)}", position=position, hint="Use varchar[] or text[].")
    return ARRAY_OF[found], False


def read_length(node: Node, sql_type: SqlType, source: Source) -> int | None:
    """The `Column.length` of a type. Raises `DdlError` for an invalid one, and for a char without one."""
    position = source.where(node.location)
    if sql_type is SqlType.CHAR and not node.typmods:
        raise unsupported("type bpchar without a length", position=position, hint="Use text.")
    with placed("", otherwise=position):
        length = length_of_name(node)
        if node.typmods and (sql_type.element or sql_type) in MOMENTS:
            _, warning = precision_named(sql_type.element or sql_type, numbers_of(node))
            source.warnings += [] if warning is None else [warning]
    return length


def _written(name: str) -> str:
    return {"bpchar": "char"}.get(name, name)


class _Clauses:
    """Collects the clauses behind a column's type; refuses contradictions as PostgreSQL does."""

    def __init__(self, name: Name, sql_type: SqlType, source: Source) -> None:
        self.name, self.type, self.source, self.where = name, sql_type, source, source.where
        self.length: int | None = None
        self.null: bool | None = None
        self.default: str | None = None
        self.has_default = False
        self.default_position: int | None = None
        self.default_sql: Sql | None = None
        self.identity = self.identity_always = False
        self.numbers = Numbers()
        self.is_key = False
        self.checks: list[NewCheck] = []
        self.uniques: list[NewUnique] = []
        self.foreign_keys: list[NewForeignKey] = []

    def add(self, constraint: Node) -> None:
        kind = kind_of(constraint)
        if kind in ("CONSTR_NULL", "CONSTR_NOTNULL"):
            is_null = kind == "CONSTR_NULL"
            self._once(self.null in (None, is_null), "conflicting NULL/NOT NULL declarations", constraint)
            self.null = is_null
        elif kind == "CONSTR_DEFAULT":
            self._once(not self.has_default, "multiple default values specified", constraint)
            self.has_default = True
            self.default = read_default(self.type, constraint.raw_expr, self.source, self.name.text, self.length)
            self.default_position = self.where(constraint.location)
            self.default_sql = self.source.sql(constraint.raw_expr)
        elif kind == "CONSTR_IDENTITY":
            self._add_identity(constraint)
        elif kind == "CONSTR_PRIMARY":
            self.is_key = True
            note_key_name(constraint, self.source)
        elif kind in OF_DEFERRAL and self.foreign_keys:
            if kind in ("CONSTR_ATTR_DEFERRABLE", "CONSTR_ATTR_DEFERRED"):
                self.source.notices.append(JUDGED_AT_ONCE)
        else:
            read = read_constraint(constraint, self.source, column=self.name)
            if isinstance(read, NewCheck):
                self.checks.append(read)
            elif isinstance(read, NewUnique):
                self.uniques.append(read)
            else:
                self.foreign_keys.append(read)

    def _add_identity(self, constraint: Node) -> None:
        self._once(not self.identity, "multiple identity specifications", constraint)
        position = self.where(constraint.location)
        if self.type not in WHOLE:
            message = "identity column type must be smallint, integer, or bigint"
            raise DdlError("22023", message, position=position)
        self.numbers = read_numbers(constraint, position)
        check_numbers(self.numbers, self.type, position)
        self.identity = True
        self.identity_always = constraint.generated_when == "a"

    def _once(self, holds: bool, complaint: str, constraint: Node) -> None:
        if not holds:
            message = f'{complaint} for column "{self.name}"'
            raise DdlError(SYNTAX_ERROR, message, position=self.where(constraint.location))

    def column(self, position: int | None, *, is_serial: bool) -> ColumnDef:
        if self.has_default and (is_serial or self.identity):
            message = f'both default and identity specified for column "{self.name}"'
            raise DdlError(SYNTAX_ERROR, message, position=position)
        identity = self.identity or is_serial
        if self.null and (self.is_key or identity):
            message = f'conflicting NULL/NOT NULL declarations for column "{self.name}"'
            raise DdlError(SYNTAX_ERROR if identity else INVALID_TABLE_DEFINITION, message, position=position)
        not_null = self.null is False or self.is_key or identity
        column = NewColumn(
            self.name,
            self.type,
            not_null,
            self.default,
            identity,
            self.length,
            self.identity_always,
            self.default_position,
            self.default_sql,
            self.numbers.start,
            self.numbers.name,
        )
        return ColumnDef(column, self.is_key, tuple(self.checks), tuple(self.uniques), tuple(self.foreign_keys))


def note_key_name(constraint: Node, source: Source) -> None:
    if constraint.conname:
        source.notices.append(f'the name "{constraint.conname}" is not kept: a primary key is called <table>_pkey')


def read_default(sql_type: SqlType, node: Node, source: Source, name: str, length: int | None = None) -> str | None:
    """A DEFAULT as canonical constant, None for NULL, or the expression as written."""
    expr = typed_default(sql_type, source.sql(node), name)
    with placed(source.text, otherwise=source.where(_start_of(node))):
        if expr is None or not has_one_value(expr, node, OF_SQL_TYPE[sql_type]):
            return source.sql(node).text
        value: Any = evaluate(expr, {}, Context())
    if value is None:
        return None
    try:
        taken = fitted(sql_type, length, value)
        assert taken is not None, value
        return constant(sql_type, taken if sql_type is SqlType.NUMERIC else value)
    except BadValue as error:
        raise DdlError(error.sqlstate, str(error), position=source.where(_start_of(node))) from error


def _start_of(node: Node) -> int:
    inner = getattr(node, node.WhichOneof("node"))
    if node.WhichOneof("node") == "type_cast":
        return _start_of(inner.arg)
    return int(getattr(inner, "location", -1))


BARE = WHOLE | {SqlType.BOOLEAN}


def constant(sql_type: SqlType, value: Value) -> str:
    """The canonical spelling of a constant: 7, true, 'x', '2020-01-01'::date."""
    if sql_type is SqlType.BOOLEAN:
        return "true" if value else "false"
    if sql_type in BARE or (isinstance(value, Decimal) and value.is_finite()):
        return to_text(sql_type, value)
    quoted = "'" + to_text(sql_type, value).replace("'", "''") + "'"
    return quoted if sql_type in TEXTS else f"{quoted}::{sql_type.value}"
