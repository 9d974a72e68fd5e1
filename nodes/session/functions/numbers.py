"""setval: the next number of an identity column, by the name of its sequence. A dump ends with it.

    SELECT pg_catalog.setval('public.trips_id_seq', 500, true)      the next number is 501

Numbers are given out in blocks, each node its own, so setval only goes forward, and a node that has a block already
uses it up. As in PostgreSQL it is done at once, whatever becomes of the transaction.
"""

import re
from typing import Any

from catalog.elements import Column
from catalog.values.types import INT_LIMITS, SqlType
from expressions.errors import NUMBER_OUT_OF_RANGE, SqlError, unsupported
from expressions.sqltypes import INT8
from nodes.session.block import Block
from nodes.session.schema.without_effect import undefined
from nodes.sql.statements import Statement
from nodes.wire.messages import Field
from nodes.wire.results import Result

Node = Any
FIELDS = (Field("setval", INT8.oid, INT8.typlen),)
_NAME = re.compile(r'(?:(?:public|"public")\.)?("(?:[^"]|"")+"|[^".]+)')


async def setval(block: Block, statement: Statement) -> Result:
    """The answer of SELECT setval(..). Raises 42P01 for the name of no sequence."""
    arguments = [_constant(node) for node in statement.node.target_list[0].res_target.val.func_call.args]
    name, number, *rest = arguments
    is_called = rest[0] if rest else True
    if (
        not isinstance(name, str)
        or isinstance(number, bool)
        or not isinstance(number, int)
        or is_called not in (True, False)
    ):
        raise unsupported("this use of setval", hint="setval('table_column_seq', number [, true]) stands alone")
    table_id, column = await _column(block, name)
    greatest = INT_LIMITS[column.type] - 1
    if not 1 <= number <= greatest:
        message = f'setval: value {number} is out of bounds for sequence "{name}" (1..{greatest})'
        raise SqlError(NUMBER_OUT_OF_RANGE, message)
    following = min(number + 1 if is_called else number, INT_LIMITS[SqlType.BIGINT] - 1)
    await block.env.directory.advance_numbers(table_id, column.id, following)
    return Result("SELECT", FIELDS, [(str(number).encode(),)])


async def _column(block: Block, name: str) -> tuple[int, Column]:
    """The identity column whose sequence has this name, and the id of its table."""
    found = _NAME.fullmatch(name)
    plain = "" if found is None else found[1].strip('"').replace('""', '"')
    tables = [*block.new_tables.tables.values(), *await block.env.directory.tables()]
    for table in tables:
        for column in table.public_columns:
            if column.identity and table.sequence_name(column) == plain:
                return table.table_id, column
    raise undefined(name)


def _constant(node: Node) -> object:
    """The value of an argument that is a constant; None for any other."""
    kind = node.WhichOneof("node")
    if kind == "type_cast":
        return _constant(node.type_cast.arg)
    if kind != "a_const":
        return None
    value = getattr(node.a_const, node.a_const.WhichOneof("val") or "sval")
    match node.a_const.WhichOneof("val"):
        case "ival":
            return int(value.ival)
        case "fval":
            return int(value.fval) if value.fval.isdecimal() else None
        case "boolval":
            return bool(value.boolval)
        case "sval":
            return str(value.sval)
    return None
