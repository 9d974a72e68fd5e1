"""CREATE TABLE (LIKE other ..), written out, and the statements that follow it (CREATE INDEX, COMMENT ON). Only public
elements are copied, and nothing while a change moves an element of the table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from catalog.descriptor import Descriptor
from catalog.elements import CHECK, FOREIGN_KEY, REFERENCED, Column, ColumnId, Index, State
from catalog.text.sql_names import literal, quoted
from changes.ddl.errors import UNDEFINED_TABLE, WRONG_OBJECT_TYPE, DdlError, unsupported
from changes.ddl.like import COMMENTS, CONSTRAINTS, DEFAULTS, IDENTITY, INDEXES, CopyingTable, Like
from changes.ddl.resolve import CatalogView
from changes.plan.undo import check_clause, default_clause, identity_clause
from expressions.rows import shown

IN_USE = "55006"


@dataclass(frozen=True, slots=True)
class Copied:
    """CREATE TABLE, the statements that follow it, and notices."""

    create: str
    afterwards: tuple[str, ...]
    notices: tuple[str, ...]


def copied(text: str, view: CatalogView) -> Copied:
    """The CREATE TABLE in `text`, each LIKE written out; raises `DdlError`."""
    statement = CopyingTable(text)
    pairs = [(_copyable(like, view), like.options) for like in statement.likes]
    return Copied(
        statement.written_out([_in_table(table, options) for table, options in pairs]),
        tuple(after for table, options in pairs for after in _afterwards(table, statement.name, options)),
        tuple(notice for table, options in pairs for notice in _notices(table, options)),
    )


def _copyable(like: Like, view: CatalogView) -> Descriptor:
    """Raises `DdlError` for an unknown table, and one that is being changed."""
    table = view.table(like.table)
    if like.schema:
        raise unsupported(f"LIKE of a relation of {like.schema}", position=like.position)
    if table is None:
        raise _no_table(like, view)
    moving = next(_moving(table), None)
    if moving is not None:
        message = f'table "{like.table}" cannot be copied now: a change of {moving} has not ended'
        raise DdlError(IN_USE, message, position=like.position, hint="Try again when it has.")
    return table


def _no_table(like: Like, view: CatalogView) -> DdlError:
    name, position = like.table, like.position
    if view.view(name) is not None:
        hint = f"Write CREATE TABLE .. AS SELECT * FROM {quoted(name)} WITH NO DATA."
        return unsupported(f'LIKE of "{name}", which is a view,', position=position, hint=hint)
    if view.owner_of(name) is not None:
        return DdlError(WRONG_OBJECT_TYPE, f'relation "{name}" is invalid in LIKE clause', position=position)
    return DdlError(UNDEFINED_TABLE, f'relation "{name}" does not exist', position=position)


def _moving(table: Descriptor) -> Iterator[str]:
    if table.state is not State.PUBLIC:
        yield f"table {table.name}"
    yield from (column.name for column in table.columns if column.state is not State.PUBLIC)
    yield from (index.name for index in table.indexes if index.state is not State.PUBLIC)
    for constraint in table.constraints:
        if constraint.state is not State.PUBLIC and constraint.rule not in (FOREIGN_KEY, REFERENCED):
            yield constraint.name


def _in_table(table: Descriptor, options: int) -> list[str]:
    clauses = [_column(column, table, options) for column in table.public_columns]
    if options & INDEXES and table.declared_key:
        clauses.append(f"PRIMARY KEY ({_listed(table, table.declared_key)})")
    if options & INDEXES:
        clauses += [f"UNIQUE ({_listed(table, one.column_ids)})" for one in _own_indexes(table) if one.is_constraint]
    if options & CONSTRAINTS:
        checks = (one for one in table.constraints if one.rule == CHECK)
        clauses += [check_clause(table, one).removeprefix("ADD ") for one in checks]
    return clauses


def _column(column: Column, table: Descriptor, options: int) -> str:
    words = [quoted(column.name), column.type_name]
    if column.identity and options & IDENTITY:
        words.append(identity_clause(replace(column, sequence=None)))
    elif column.not_null or column.id in table.declared_key:
        words.append("NOT NULL")
    if column.default is not None and options & DEFAULTS:
        words.append(default_clause(column))
    return " ".join(words)


def _own_indexes(table: Descriptor) -> Iterator[Index]:
    guards = () if table.is_home_in_key else table.key_guards[:1]
    for index in table.public_indexes:
        if not index.primary and index not in guards and not any(table.column(c).is_hidden for c in index.column_ids):
            yield index


def _listed(table: Descriptor, columns: Sequence[ColumnId]) -> str:
    return ", ".join(quoted(table.column(column).name) for column in columns)


def _afterwards(table: Descriptor, name: str, options: int) -> Iterator[str]:
    if options & INDEXES:
        yield from (_create_index(table, name, one) for one in _own_indexes(table) if not one.is_constraint)
    if options & COMMENTS:
        for column in table.public_columns:
            if column.comment is not None:
                yield f"COMMENT ON COLUMN {quoted(name)}.{quoted(column.name)} IS {literal(column.comment)}"
    if options & COMMENTS and options & CONSTRAINTS:
        for one in table.constraints:
            if one.rule == CHECK and one.comment is not None:
                yield f"COMMENT ON CONSTRAINT {quoted(one.name)} ON {quoted(name)} IS {literal(one.comment)}"


def _create_index(table: Descriptor, name: str, index: Index) -> str:
    parts = [quoted(table.column(part.column).name) + (" DESC" if part.descending else "") for part in index.columns]
    where = f" WHERE {shown(table, index.where)}" if index.where else ""
    return f"CREATE {'UNIQUE ' if index.unique else ''}INDEX ON {quoted(name)} ({', '.join(parts)}){where}"


def _notices(table: Descriptor, options: int) -> Iterator[str]:
    if options & COMMENTS and options & INDEXES:
        for index in _own_indexes(table):
            if index.comment is not None or index.constraint_comment is not None:
                yield f"the comment of {index.name} is not copied: its copy has a name of its own"
