"""Reads ALTER TABLE and RENAME into actions; refuses by name what is not supported, with what to do instead."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from catalog.elements import Coordination
from changes.ddl import actions
from changes.ddl.columns import read_column, read_length, read_type
from changes.ddl.constraints import kind_of, read_constraint
from changes.ddl.errors import NOT_SUPPORTED, DdlError, unsupported
from changes.ddl.identity import read_identity, sequence_of
from changes.ddl.refused import ROLES, SPREAD
from changes.ddl.sharding import read_options
from changes.ddl.source import Source, relation

Node = Any

NEW_TABLE = "Create another table, copy the rows, and rename both."
OF_THE_KEY = "a change of the primary key's columns"


def read_alter(node: Node, source: Source) -> actions.Action:
    table = relation(node.relation, source)
    kind = _word(node, "objtype").removeprefix("OBJECT_").replace("_", " ")
    if kind != "TABLE":
        hint = "Its name is all that may change: ALTER INDEX .. RENAME TO." if kind == "INDEX" else None
        raise unsupported(f"ALTER {kind}", position=source.find("alter"), hint=hint)
    starts = source.list_starts(after=max(node.relation.location, 0) + len(node.relation.relname.encode()))
    commands = (item.alter_table_cmd for item in node.cmds)
    return actions.AlterTable(
        table, tuple(_alteration(one, source, at) for one, at in zip(commands, starts, strict=True))
    )


def _alteration(command: Node, source: Source, after: int) -> actions.Alteration:
    kind = _word(command, "subtype").removeprefix("AT_")
    reader = READERS.get(kind)
    if reader is None:
        what, hint = REFUSED.get(kind, (f"ALTER TABLE .. {_spelled(kind)}", None))
        raise unsupported(what, position=source.where(after), hint=hint)
    return reader(command, source, after)


def _add_column(command: Node, source: Source, after: int) -> actions.Alteration:
    read = read_column(getattr(command, "def").column_def, source)
    if read.is_key:
        raise impossible(OF_THE_KEY, read.position, NEW_TABLE)
    return actions.AddColumn(read.column, read.checks, read.uniques, read.foreign_keys, forgiving=command.missing_ok)


def _drop_column(command: Node, source: Source, after: int) -> actions.Alteration:
    return actions.DropColumn(_name(command, source, after), forgiving=command.missing_ok)


def _set_not_null(command: Node, source: Source, after: int) -> actions.Alteration:
    return actions.SetNotNull(_name(command, source, after))


def _drop_not_null(command: Node, source: Source, after: int) -> actions.Alteration:
    return actions.SetNotNull(_name(command, source, after), not_null=False)


def _set_default(command: Node, source: Source, after: int) -> actions.Alteration:
    name = _name(command, source, after)
    if not command.HasField("def"):
        return actions.SetDefault(name)
    sequence = sequence_of(getattr(command, "def"))
    if sequence is not None:
        return actions.SetIdentity(name, sequence=sequence)
    return actions.SetDefault(name, source.sql(getattr(command, "def")))


def _add_identity(command: Node, source: Source, after: int) -> actions.Alteration:
    return read_identity(command, _name(command, source, after), source, after)


def _drop_identity(command: Node, source: Source, after: int) -> actions.Alteration:
    return actions.SetIdentity(_name(command, source, after), is_dropped=True, forgiving=command.missing_ok)


def _set_type(command: Node, source: Source, after: int) -> actions.Alteration:
    definition = getattr(command, "def").column_def
    position = source.where(definition.type_name.location)
    if definition.HasField("coll_clause"):
        raise unsupported("COLLATE", position=source.where(definition.coll_clause.location))
    sql_type, is_serial = read_type(definition.type_name, source)
    if is_serial:
        raise unsupported("serial as the new type of a column", position=position, hint=f"Write {sql_type.value}.")
    using = source.sql(definition.raw_default) if definition.HasField("raw_default") else None
    length = read_length(definition.type_name, sql_type, source)
    return actions.SetType(_name(command, source, after), sql_type, using, length, position)


def _add_constraint(command: Node, source: Source, after: int) -> actions.Alteration:
    constraint = getattr(command, "def").constraint
    kind = kind_of(constraint)
    if constraint.indexname and kind in ("CONSTR_PRIMARY", "CONSTR_UNIQUE"):
        index = actions.Name(constraint.indexname, source.find(constraint.indexname, after=constraint.location))
        name = actions.Name(constraint.conname, source.find(constraint.conname, after=after)) or actions.UNNAMED
        return actions.UseIndex(index, name, kind == "CONSTR_PRIMARY", source.where(constraint.location))
    return read_constraint(constraint, source)


def _drop_constraint(command: Node, source: Source, after: int) -> actions.Alteration:
    return actions.DropConstraint(_name(command, source, after), forgiving=command.missing_ok)


def _set_options(command: Node, source: Source, after: int) -> actions.Alteration:
    options = read_options(getattr(command, "def").list.items, source)
    given = options.coordination
    if given is None:
        position = source.where(after)
        return actions.SetSharding(options.key, options.function, position=position, storages=options.storages)
    if (options.key, options.function, options.storages) != (None, None, None):
        message = "coordination is changed together with how rows are spread in one statement"
        raise DdlError(NOT_SUPPORTED, message, position=given.position, hint="Send two statements.")
    return actions.SetCoordination(Coordination(given.text), position=given.position)


def impossible(what: str, position: int | None, hint: str) -> DdlError:
    return DdlError(NOT_SUPPORTED, f"{what} is not possible", position=position, hint=hint)


READERS: dict[str, Callable[[Node, Source, int], actions.Alteration]] = {
    "AddColumn": _add_column,
    "DropColumn": _drop_column,
    "SetNotNull": _set_not_null,
    "DropNotNull": _drop_not_null,
    "ColumnDefault": _set_default,
    "AddIdentity": _add_identity,
    "DropIdentity": _drop_identity,
    "AlterColumnType": _set_type,
    "AddConstraint": _add_constraint,
    "DropConstraint": _drop_constraint,
    "SetRelOptions": _set_options,
}

REFUSED = {
    "ResetRelOptions": ("ALTER TABLE .. RESET (..)", None),
    "ValidateConstraint": ("VALIDATE CONSTRAINT", "A constraint is verified before it counts: there is nothing to do."),
    "AlterConstraint": ("ALTER CONSTRAINT", "Drop the constraint and add another one."),
    "SetIdentity": (
        "RESTART or SET of an identity column",
        "SELECT setval('table_column_seq', 99): its numbers go on with 100.",
    ),
    "SetExpression": ("SET EXPRESSION", None),
    "EnableRowSecurity": ("ROW LEVEL SECURITY", ROLES),
    "ForceRowSecurity": ("ROW LEVEL SECURITY", ROLES),
    "AttachPartition": ("ATTACH PARTITION", SPREAD),
    "AddInherit": ("INHERIT", SPREAD),
}


# --- names


def read_rename(node: Node, source: Source) -> actions.Action:
    kind = _word(node, "rename_type").removeprefix("OBJECT_")
    if kind not in ("TABLE", "COLUMN", "TABCONSTRAINT", "INDEX"):
        raise unsupported(f"RENAME of a {kind.replace('_', ' ')}", position=source.find("rename"))
    named = relation(node.relation, source)
    after = max(node.relation.location, 0) + len(node.relation.relname.encode())
    if kind in ("COLUMN", "TABCONSTRAINT"):
        part = actions.Name(node.subname, source.find(node.subname, after=after))
        of_part = _new_name(node, source, after + len(node.subname.encode()))
        return (actions.RenameColumn if kind == "COLUMN" else actions.RenameConstraint)(named, part, of_part)
    new = _new_name(node, source, after)
    return actions.RenameTable(named, new) if kind == "TABLE" else actions.RenameIndex(named, actions.UNNAMED, new)


def _new_name(node: Node, source: Source, after: int) -> actions.Name:
    return actions.Name(node.newname, source.find_last(node.newname, after=after))


# --- places


def _name(command: Node, source: Source, after: int) -> actions.Name:
    return actions.Name(command.name, source.find(command.name, after=after))


def _word(node: Node, field: str) -> str:
    return str(node.DESCRIPTOR.fields_by_name[field].enum_type.values_by_number[getattr(node, field)].name)


def _spelled(kind: str) -> str:
    return "".join(f" {letter}" if letter.isupper() else letter for letter in kind).strip().upper()
