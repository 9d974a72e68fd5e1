"""Schema statements that are taken and change nothing here, each with a notice that says so: comments on databases,
OWNER TO, storage parameters, sequences as dumps write them before they give them to a column. The table that they name
must exist. DROP .. IF EXISTS of a kind of object that a node has none of finds nothing."""

from typing import Any

from postgast import pg_query_pb2 as pb

from changes.ddl.comments import KEPT, object_of
from changes.ddl.identity import are_usual
from expressions.errors import UNDEFINED_TABLE, SqlError
from nodes.sql.statements import Statement

Node = Any
NEVER_THERE = {
    "OBJECT_MATVIEW": "materialized view",
    "OBJECT_TYPE": "type",
    "OBJECT_DOMAIN": "type",
    "OBJECT_SCHEMA": "schema",
    "OBJECT_EXTENSION": "extension",
    "OBJECT_COLLATION": "collation",
}
"""Kinds of objects that a node has none of, besides its tables under a view's name and the schemas that are there."""
OF_STORED_COLUMNS = ("AT_SetStatistics", "AT_SetStorage", "AT_SetCompression")
SCHEMAS = ("public", "pg_catalog", "information_schema", "schemalab")


def notice_of(statement: Statement) -> str | None:
    """The notice of a statement that changes nothing; None for one that does."""
    node, kind = statement.node, statement.node.DESCRIPTOR.name
    if kind == "CommentStmt" and object_of(node) not in KEPT:
        what = object_of(node).replace("_", " ").lower()
        return f"a comment on a {what} is not kept: this one changes nothing"
    if kind == "AlterOwnerStmt" or (kind == "AlterTableStmt" and _all_are(node, "AT_ChangeOwner")):
        return "owners are not kept: who may do what is decided by the roles of people, see the docs"
    if kind == "AlterTableStmt" and (_all_are(node, "AT_SetLogged") or _all_are(node, "AT_SetUnLogged")):
        return "every table here is logged, and survives a crash: this changes nothing"
    if kind == "AlterTableStmt" and any(_all_are(node, one) for one in OF_STORED_COLUMNS):
        return "how a column is stored, compressed or counted is not kept: this changes nothing"
    if kind in ("CreateSeqStmt", "AlterSeqStmt") and are_usual(node.options):
        return "a sequence is not kept by itself: a column whose default is nextval of its own sequence has numbers"
    return None


def table_of(statement: Statement) -> str | None:
    """The table or view that it is about; None for another object."""
    node, kind = statement.node, statement.node.DESCRIPTOR.name
    if kind == "AlterTableStmt":
        is_sequence = pb.ObjectType.Name(node.objtype) == "OBJECT_SEQUENCE"
        return None if is_sequence else str(node.relation.relname)
    if kind == "CommentStmt" and object_of(node) == "VIEW":
        return str(node.object.list.items[-1].string.sval)
    return None


def names_view(statement: Statement) -> bool:
    node, kind = statement.node, statement.node.DESCRIPTOR.name
    if kind == "AlterTableStmt":
        return bool(pb.ObjectType.Name(node.objtype) == "OBJECT_VIEW")
    return bool(kind == "CommentStmt" and object_of(node) == "VIEW")


def may_name_sequence(statement: Statement) -> bool:
    node = statement.node
    return node.DESCRIPTOR.name == "AlterTableStmt" and not names_view(statement) and _all_are(node, "AT_ChangeOwner")


def is_forgiving(statement: Statement) -> bool:
    return bool(statement.node.DESCRIPTOR.name == "AlterTableStmt" and statement.node.missing_ok)


def absent_of(statement: Statement) -> tuple[str, tuple[str, ...]] | None:
    """Kind and names in a DROP .. IF EXISTS of objects that a node has none of; None for another statement."""
    node = statement.node
    if node.DESCRIPTOR.name != "DropStmt" or not node.missing_ok:
        return None
    kind = NEVER_THERE.get(pb.ObjectType.Name(node.remove_type))
    return None if kind is None else (kind, tuple(_last_word(one) for one in node.objects))


def _last_word(node: Node) -> str:
    kind = node.WhichOneof("node")
    if kind == "list":
        return str(node.list.items[-1].string.sval)
    if kind == "type_name":
        return str(node.type_name.names[-1].string.sval)
    return str(node.string.sval)


def undefined(table: str) -> SqlError:
    return SqlError(UNDEFINED_TABLE, f'relation "{table}" does not exist')


def _all_are(node: Node, subtype: str) -> bool:
    return all(pb.AlterTableType.Name(one.alter_table_cmd.subtype) == subtype for one in node.cmds)
