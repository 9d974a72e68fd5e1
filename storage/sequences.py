"""Sequences of identity columns at the store, a new one with each ADD IDENTITY: identity.numbers_7_3_1 has the numbers
of column 3 of table 7 since version 1 (hidden row ids, too).

A transaction takes numbers under its version, so a sequence lives as long as any such version; the end of the change
that drops the identity drops it. They have their own schema, since a storage can be removed, and the range of bigint,
since a type may become wider.
"""

import struct

from catalog.descriptor import Descriptor
from catalog.elements import Column, State, TableId

SCHEMA = "identity"


def sequence_of(table_id: TableId | int, column: Column) -> str:
    return f"{SCHEMA}.numbers_{int(table_id)}_{int(column.id)}_{int(column.identity_generation)}"


def sequences_of(table: Descriptor) -> dict[str, Column]:
    """The sequences that writers of this version may need, by column."""
    if table.state is State.ABSENT:
        return {}
    return {sequence_of(table.table_id, column): column for column in table.columns if column.identity}


def make_sql(sequence: str, column: Column) -> str:
    options = f"AS bigint START WITH {int(column.identity_start)} NO CYCLE CACHE 1"
    return f"CREATE SEQUENCE IF NOT EXISTS {sequence} {options}"


def take_sql(sequence: str) -> str:
    """Takes numbers, as one value (`taken`). Parameter: how many."""
    return f"SELECT string_agg(int8send(nextval('{sequence}')), ''::bytea) FROM generate_series(1, %b::int)"


def taken(value: bytes) -> tuple[int, ...]:
    return struct.unpack(f"!{len(value) // 8}q", value)


def set_sql(sequence: str) -> str:
    """Sets the sequence. Parameters: a number, and whether it counts as taken."""
    return f"SELECT setval('{sequence}', %b::bigint, %b::boolean)"
