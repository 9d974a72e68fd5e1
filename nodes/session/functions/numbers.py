"""nextval, setval, currval and lastval: numbers of an identity column, by the name of its sequence, whichever node. The
sequence is the newest version's. As in PostgreSQL numbers are taken and set at once, whatever becomes of the
transaction; the sequence of a table that the transaction has made goes with the table."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from catalog.descriptor import Descriptor
from catalog.elements import Column
from catalog.values.types import limit_of
from expressions.errors import NOT_IN_PREREQUISITE_STATE, NUMBER_OUT_OF_RANGE, UNDEFINED_TABLE, SqlError
from nodes.session.block import Block
from nodes.session.schema.without_effect import undefined
from nodes.session.tries import sent
from nodes.sql.standing_alone import CURRVAL, LASTVAL, SEQUENCE_FUNCTIONS, SETVAL
from nodes.store.numbers import make_commands, named_as_clients_do, require_room
from nodes.store.pipeline import Command, int4, int8
from storage.sequences import sequence_of, set_sql, take_sql, taken

Node = Any
_WORD = r'("(?:[^"]|"")+"|[^".]+)'
_NAME = re.compile(rf"(?:{_WORD}\.)?{_WORD}")
SERIAL = ["pg_get_serial_sequence"], ["pg_catalog", "pg_get_serial_sequence"]
OF_NAMES = ("regclass", "text", "varchar")


def argument_nodes(call: Node) -> list[Node]:
    """The arguments of a call. Of a sequence: its name, or the table's and the column's that own it."""
    nodes = list(call.args)
    if not nodes or call.funcname[-1].string.sval not in SEQUENCE_FUNCTIONS:
        return nodes
    first = nodes[0]
    while first.WhichOneof("node") == "type_cast" and first.type_cast.type_name.names[-1].string.sval in OF_NAMES:
        first = first.type_cast.arg
    if first.WhichOneof("node") == "func_call" and [p.string.sval for p in first.func_call.funcname] in SERIAL:
        return [*first.func_call.args, *nodes[1:]]
    return [first, *nodes[1:]]


@dataclass(eq=False)
class SessionNumbers:
    block: Block

    async def call(self, name: str, texts: Sequence[str], *, by_column: bool, alone: bool) -> int:
        """The number that a call gives. Raises 42P01 for the name of no sequence."""
        last = self.block.owner.numbers
        if name == LASTVAL:
            if last.newest is None:
                raise SqlError(NOT_IN_PREREQUISITE_STATE, "lastval is not yet defined in this session")
            return last.by_sequence[last.newest]
        shown, left = (texts[0], texts[1:]) if not by_column else ("", texts[2:])
        table, column = await (self._of_column(*texts[:2]) if by_column else self._named(shown))
        sequence, shown = sequence_of(table.table_id, column), table.sequence_name(column)
        if name == CURRVAL:
            if sequence not in last.by_sequence:
                message = f'currval of sequence "{shown}" is not yet defined in this session'
                raise SqlError(NOT_IN_PREREQUISITE_STATE, message)
            return last.by_sequence[sequence]
        if name == SETVAL:
            number, is_called = int(left[0]), left[1:] != ["f"]
            greatest = limit_of(column.type, column.length) - 1
            if not 1 <= number <= greatest:
                message = f'setval: value {number} is out of bounds for sequence "{shown}" (1..{greatest})'
                raise SqlError(NUMBER_OUT_OF_RANGE, message)
            command = Command(set_sql(sequence), (int8(number), b"\1" if is_called else b"\0"))
            await self._ask(table, column, command, alone=alone)
        else:
            is_called = True
            [number] = taken(await self._ask(table, column, Command(take_sql(sequence), (int4(1),)), alone=alone))
            require_room(table, column, number)
        if is_called:
            last.note(sequence, number)
        return number

    async def _ask(self, table: Descriptor, column: Column, command: Command, *, alone: bool) -> bytes:
        """The store's answer about a sequence: at once, or in the transaction where that has made the table."""
        try:
            if table.table_id not in {own.table_id for own in self.block.new_tables.tables.values()}:
                result = await self.block.env.directory.ask(command)
            else:
                commands = [*make_commands(table, [column]), command]
                result = (await sent(self.block, commands, alone=alone))[-1]
        except SqlError as error:
            if error.sqlstate == UNDEFINED_TABLE:  # a change has dropped it meanwhile
                raise undefined(table.sequence_name(column)) from error
            raise named_as_clients_do(error, table, [column]) from error
        return result.get_value(0, 0) or b""

    async def _tables(self) -> list[Descriptor]:
        return [*self.block.new_tables.tables.values(), *await self.block.env.directory.tables()]

    async def _named(self, name: str) -> tuple[Descriptor, Column]:
        plain = _plain(name)
        for table in await self._tables():
            for column in table.public_columns:
                if column.identity and table.sequence_name(column) == plain:
                    return table, column
        raise undefined(name)

    async def _of_column(self, table_name: str, column_name: str) -> tuple[Descriptor, Column]:
        """By the names of table and column; the column's is exact, as for PostgreSQL."""
        plain = _plain(table_name)
        table = next((one for one in await self._tables() if one.name == plain), None)
        if table is None:
            raise undefined(table_name)
        column = next((one for one in table.public_columns if one.name == column_name and one.identity), None)
        if column is None:
            raise undefined(f"{table_name}.{column_name}")
        return table, column


def _plain(name: str) -> str:
    found = _NAME.fullmatch(name)
    given = [] if found is None else [word for word in found.groups() if word is not None]
    words = [word[1:-1].replace('""', '"') if word.startswith('"') else word.lower() for word in given]
    return words[-1] if words[:-1] in ([], ["public"]) and words else ""
