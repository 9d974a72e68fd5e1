"""Reads a statement with PostgreSQL's grammar into an action, by its text alone (`changes.ddl.resolve` checks names).
Unsupported clauses are refused by name (0A000), never ignored: an ignored clause is a promise broken."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from catalog.elements import Coordination
from changes.ddl import actions
from changes.ddl.alter import read_alter, read_rename
from changes.ddl.columns import ColumnDef, note_key_name, read_column
from changes.ddl.comments import read_comment
from changes.ddl.constraints import kind_of, read_constraint
from changes.ddl.errors import (
    DUPLICATE_COLUMN,
    INVALID_TABLE_DEFINITION,
    NOT_SUPPORTED,
    SYNTAX_ERROR,
    TOO_LONG,
    UNDEFINED_COLUMN,
    DdlError,
    check_key_width,
    check_width,
    unsupported,
)
from changes.ddl.refused import REFUSED_STATEMENTS, SPREAD, TO_A_NODE, refusal
from changes.ddl.sharding import read_options
from changes.ddl.source import Source, check_schema, relation

Node = Any

STATEMENT_BYTES_MAX = 64 * 1024


@dataclass(frozen=True, slots=True)
class Statement:
    """A parsed statement. `forgiving`: IF EXISTS or IF NOT EXISTS. `notices`: accepted clauses that have another effect
    here; `warnings`: those PostgreSQL itself gives."""

    action: actions.Action
    forgiving: bool = False
    notices: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def parse(text: str) -> Statement:
    """Reads the one DDL statement in `text`; raises `DdlError`."""
    size = len(text.encode())
    if size > STATEMENT_BYTES_MAX:
        raise DdlError(TOO_LONG, f"statement is too long: {size} bytes, at most {STATEMENT_BYTES_MAX} are read")
    source = Source(text)
    statements = source.statements()
    if not statements:
        raise DdlError(
            SYNTAX_ERROR, "there is no statement", hint="Write CREATE TABLE, CREATE INDEX, ALTER TABLE or DROP."
        )
    if len(statements) > 1:
        message = "one statement at a time: a change is one plan with one rollback"
        raise DdlError(SYNTAX_ERROR, message, position=source.start_of(statements[1]))
    return _read(statements[0], source)


@dataclass(frozen=True, slots=True)
class Part:
    """One statement of a text; `position` counts characters from 1."""

    text: str
    position: int


def split(text: str) -> list[Part]:
    """The statements of a text; raises `DdlError` for syntax errors."""
    size = len(text.encode())
    if size > STATEMENT_BYTES_MAX:
        raise DdlError(TOO_LONG, f"the text is too long: {size} bytes, at most {STATEMENT_BYTES_MAX} are read")
    source = Source(text)
    parts = []
    for one in source.statements():
        begins = one.stmt_location
        ends = begins + one.stmt_len if one.stmt_len else len(source.bytes)
        raw = source.bytes[begins:ends].decode()
        blank = len(raw) - len(raw.lstrip())
        parts.append(Part(raw.strip(), (source.where(begins) or 1) + blank))
    return parts


def is_ddl(node_name: str) -> bool:
    """True for the grammar's nodes (`create_stmt`, ..) that change a schema."""
    return node_name in READERS or node_name in REFUSED_STATEMENTS


def _read(statement: Node, source: Source) -> Statement:
    kind = statement.stmt.WhichOneof("node")
    if kind in READERS:
        read = READERS[kind](getattr(statement.stmt, kind), source)
        notices, warnings = (tuple(dict.fromkeys(given)) for given in (source.notices, source.warnings))
        return replace(read, notices=notices, warnings=warnings)
    position = source.start_of(statement)
    if kind in REFUSED_STATEMENTS:
        raise refusal(kind, getattr(statement.stmt, kind), position)
    message = "this statement does not change a schema"
    hint = "A change is CREATE, ALTER or DROP of a TABLE or an INDEX; send others to a node."
    raise DdlError(NOT_SUPPORTED, message, position=position, hint=hint)


def _create_table(node: Node, source: Source) -> Statement:
    table = relation(node.relation, source, may_be_temporary=True)
    _refuse_table_clauses(node, table)
    temporary = _at_commit(node, table)
    columns, keys, constraints = [], [], []
    for element in node.table_elts:
        kind = element.WhichOneof("node")
        if kind == "column_def":
            columns.append(read_column(element.column_def, source))
        elif kind == "constraint" and kind_of(element.constraint) == "CONSTR_PRIMARY":
            keys.append(element.constraint)
        elif kind == "constraint":
            constraints.append(read_constraint(element.constraint, source))
        else:
            position = source.where(element.table_like_clause.relation.location)
            raise unsupported("LIKE as a change", position=position, hint=TO_A_NODE)
    _check_columns(table, columns)
    key = _primary_key(table, columns, keys, source)
    options = read_options(node.options, source)
    found = [*constraints, *(one for column in columns for one in column.constraints)]
    uniques = tuple(one for one in found if isinstance(one, actions.NewUnique))
    action = actions.CreateTable(
        table,
        tuple(replace(c.column, not_null=c.column.not_null or c.column.name in key) for c in columns),
        key,
        sharding_key=options.key or (),
        sharding_function=options.function or actions.STRCRC32,
        coordination=Coordination(options.coordination.text) if options.coordination else Coordination.LEASE,
        checks=tuple(one for one in found if isinstance(one, actions.NewCheck)),
        uniques=(*uniques, *_guard(key, options.key or (), uniques)),
        foreign_keys=(
            *(one for column in columns for one in column.foreign_keys),
            *(one for one in constraints if isinstance(one, actions.NewForeignKey)),
        ),
        storages=options.storages,
        temporary=temporary,
    )
    return Statement(action, forgiving=node.if_not_exists)


AT_COMMIT = {0: "preserve rows", 1: "preserve rows", 2: "preserve rows", 3: "delete rows", 4: "drop"}
"""The effect of COMMIT on a temporary table, by the grammar's number; by default the rows stay."""


def _at_commit(node: Node, table: actions.Name) -> str:
    if node.relation.relpersistence == "t":
        return AT_COMMIT[node.oncommit]
    if AT_COMMIT[node.oncommit] != AT_COMMIT[0]:
        message = "ON COMMIT can only be used on temporary tables"
        raise DdlError(INVALID_TABLE_DEFINITION, message, position=table.position)
    return ""


def _guard(
    key: tuple[actions.Name, ...], sharding_key: tuple[actions.Name, ...], uniques: Iterable[actions.NewUnique]
) -> Iterator[actions.NewUnique]:
    """An index over a primary key that does not determine the storage, unless the statement has one."""
    if not set(sharding_key) <= set(key) and all(set(one.columns) != set(key) for one in uniques):
        yield actions.NewUnique(actions.UNNAMED, key or (actions.ROW_ID,), guards_key=True)


def _refuse_table_clauses(node: Node, table: actions.Name) -> None:
    clauses = {
        "INHERITS or PARTITION OF": (bool(node.inh_relations) or node.HasField("partbound"), SPREAD),
        "PARTITION BY": (node.HasField("partspec"), SPREAD),
        "OF a type": (node.HasField("of_typename"), "Name the columns, or write LIKE and a table."),
        "TABLESPACE": (bool(node.tablespacename), "Leave it away."),
        "USING an access method": (bool(node.access_method), "Leave it away."),
    }
    for clause, (is_there, hint) in clauses.items():
        if is_there:
            raise unsupported(clause, position=table.position, hint=hint)


def _check_columns(table: actions.Name, columns: list[ColumnDef]) -> None:
    if not columns:
        raise unsupported("a table without columns", position=table.position)
    check_width(len(columns), table.position)
    seen: set[str] = set()
    for column in columns:
        if column.name in seen:
            message = f'column "{column.name}" specified more than once'
            raise DdlError(DUPLICATE_COLUMN, message, position=column.position)
        seen.add(column.name)


def _primary_key(
    table: actions.Name, columns: list[ColumnDef], keys: list[Node], source: Source
) -> tuple[actions.Name, ...]:
    inline = [column.column.name for column in columns if column.is_key]
    if len(inline) + len(keys) > 1:
        position = source.where(keys[-1].location) if keys else inline[-1].position
        message = f'multiple primary keys for table "{table}" are not allowed'
        raise DdlError(INVALID_TABLE_DEFINITION, message, position=position)
    if keys:
        return _table_level_key(columns, keys[0], source)
    return tuple(inline)


def _table_level_key(columns: list[ColumnDef], node: Node, source: Source) -> tuple[actions.Name, ...]:
    if node.including or node.options or node.without_overlaps or node.deferrable:
        raise unsupported("a clause behind PRIMARY KEY", position=source.where(node.location))
    note_key_name(node, source)
    check_key_width(len(node.keys), source.where(node.location))
    known = {column.name for column in columns}
    key: list[actions.Name] = []
    for item in node.keys:
        word = item.string.sval
        name = actions.Name(word, source.find(word, after=node.location))
        if word not in known:
            message = f'column "{word}" named in key does not exist'
            raise DdlError(UNDEFINED_COLUMN, message, position=name.position)
        if name in key:
            message = f'column "{word}" appears twice in primary key constraint'
            raise DdlError(DUPLICATE_COLUMN, message, position=name.position)
        key.append(name)
    return tuple(key)


def _create_index(node: Node, source: Source) -> Statement:
    table = relation(node.relation, source)
    _refuse_index_clauses(node, source, table)
    check_key_width(len(node.index_params), table.position)
    after = max(node.relation.location, 0) + len(node.relation.relname.encode())
    parts = tuple(_index_part(item.index_elem, source, after) for item in node.index_params)
    index = actions.Name(node.idxname, source.find(node.idxname)) if node.idxname else actions.UNNAMED
    where = source.sql(node.where_clause) if node.HasField("where_clause") else None
    return Statement(actions.CreateIndex(index, table, parts, node.unique, where), forgiving=node.if_not_exists)


def _refuse_index_clauses(node: Node, source: Source, table: actions.Name) -> None:
    clauses = {
        "INCLUDE": (bool(node.index_including_params), "Make them the last columns of the index: it is read the same."),
        "an index WITH options": (bool(node.options), "Leave them away."),
        "TABLESPACE": (bool(node.table_space), "Leave it away."),
        "ONLY": (not node.relation.inh, "Leave it away."),
        "NULLS NOT DISTINCT": (node.nulls_not_distinct, "Make the columns NOT NULL, with a value for none."),
    }
    for clause, (is_there, hint) in clauses.items():
        if is_there:
            word = next((w for w in ("nulls", "include", "only") if w in clause.lower()), "")
            raise unsupported(clause, position=source.find(word) or table.position, hint=hint)
    if node.access_method != "btree":
        hint = "Indexes are ordered by their key, as btree is."
        raise unsupported(f"an index USING {node.access_method}", position=source.find(node.access_method), hint=hint)


BY_BYTES = frozenset({"text_pattern_ops", "varchar_pattern_ops", "bpchar_pattern_ops"})
"""Operator classes that sort texts by their bytes, as every index here does."""

SORTBY_DESC, NULLS_FIRST, NULLS_LAST, DROP_CASCADE = 3, 2, 3, 2


def _index_part(node: Node, source: Source, after: int) -> actions.IndexPart:
    if not node.name:
        inner = getattr(node.expr, node.expr.WhichOneof("node"))
        position = source.where(getattr(inner, "location", -1))
        hint = "Keep its value in a column of its own, which the application writes, and index that."
        raise unsupported("an index over an expression", position=position, hint=hint)
    name = actions.Name(node.name, source.find(node.name, after=after))
    opclass = "".join(part.string.sval for part in node.opclass[-1:])
    if node.collation or node.opclassopts or (opclass and opclass not in BY_BYTES):
        raise unsupported("COLLATE or an operator class in an index", position=name.position)
    descending = node.ordering == SORTBY_DESC
    if node.nulls_ordering == (NULLS_LAST if descending else NULLS_FIRST):
        hint = "NULLs come last, and first where the column is DESC."
        raise unsupported("another place for NULLs in an index", position=name.position, hint=hint)
    return actions.IndexPart(name, descending)


@dataclass(frozen=True, slots=True)
class Dropping:
    what: str
    names: tuple[actions.Name, ...]
    cascades: bool
    forgiving: bool


def read_drop(text: str) -> Dropping:
    """Reads a DROP of one or several; raises `DdlError`."""
    source = Source(text)
    [statement] = source.statements()
    return _dropping(statement.stmt.drop_stmt, source)


def _dropping(node: Node, source: Source) -> Dropping:
    kind = node.DESCRIPTOR.fields_by_name["remove_type"].enum_type.values_by_number[node.remove_type].name
    what = kind.removeprefix("OBJECT_").replace("_", " ")
    if what not in ("TABLE", "INDEX"):
        raise unsupported(f"DROP {what}", position=1, hint=TO_A_NODE if what == "VIEW" else None)
    names = []
    for each in node.objects:
        *schema, word = [item.string.sval for item in each.list.items]
        names.append(actions.Name(word, source.find(word)))
        check_schema(".".join(schema), names[-1].position)
    return Dropping(what, tuple(names), node.behavior == DROP_CASCADE, node.missing_ok)


def _drop(node: Node, source: Source) -> Statement:
    read = _dropping(node, source)
    if len(read.names) > 1:
        hint = "Drop one at a time, or send it to a node."
        raise unsupported(f"one change that drops several {read.what}S", position=read.names[1].position, hint=hint)
    name = read.names[0]
    is_table = read.what == "TABLE"
    action: actions.Action = actions.DropTable(name) if is_table else actions.DropIndex(name, actions.UNNAMED)
    return Statement(action, forgiving=read.forgiving)


def _alter(node: Node, source: Source) -> Statement:
    return Statement(read_alter(node, source), forgiving=node.missing_ok)


def _rename(node: Node, source: Source) -> Statement:
    return Statement(read_rename(node, source), forgiving=node.missing_ok)


def _comment(node: Node, source: Source) -> Statement:
    return Statement(read_comment(node, source))


READERS = {
    "create_stmt": _create_table,
    "index_stmt": _create_index,
    "drop_stmt": _drop,
    "alter_table_stmt": _alter,
    "rename_stmt": _rename,
    "comment_stmt": _comment,
}
