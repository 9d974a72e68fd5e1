"""Schema statements that are taken and change nothing here, each with a notice that says so.

    COMMENT ON ..               a node keeps no comments
    ALTER TABLE .. OWNER TO ..  who may do what is not a matter of SQL; every table is owned by schemalab
    ALTER .. SET (fillfactor)   a table is not kept as PostgreSQL keeps one

The table that they name must exist.
"""

from typing import Any

from postgast import pg_query_pb2 as pb

from expressions.errors import UNDEFINED_TABLE, SqlError
from nodes.sql.statements import Statement

Node = Any
WITH_COLUMNS = ("OBJECT_COLUMN", "OBJECT_TABCONSTRAINT")


def notice_of(statement: Statement) -> str | None:
    """The notice of a statement that changes nothing; None for one that does."""
    node, kind = statement.node, statement.node.DESCRIPTOR.name
    if kind == "CommentStmt":
        return "comments are not kept: this one changes nothing"
    if kind == "AlterOwnerStmt" or (kind == "AlterTableStmt" and _all_are(node, "AT_ChangeOwner")):
        return "owners are not kept: who may do what is decided by the roles of people, see the docs"
    return None


def table_of(statement: Statement) -> str | None:
    """The table that it is about; None for another object."""
    node, kind = statement.node, statement.node.DESCRIPTOR.name
    if kind == "AlterTableStmt":
        return str(node.relation.relname)
    if kind != "CommentStmt":
        return None
    words = [item.string.sval for item in node.object.list.items]
    of = pb.ObjectType.Name(node.objtype)
    if of == "OBJECT_TABLE" and words:
        return str(words[-1])
    return str(words[-2]) if of in WITH_COLUMNS and len(words) > 1 else None


def undefined(table: str) -> SqlError:
    return SqlError(UNDEFINED_TABLE, f'relation "{table}" does not exist')


def _all_are(node: Node, subtype: str) -> bool:
    return all(pb.AlterTableType.Name(one.alter_table_cmd.subtype) == subtype for one in node.cmds)
