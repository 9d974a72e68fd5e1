"""Numbers of identity columns: a real sequence at the store for each column, a new one with each ADD IDENTITY.

    identity.numbers_7_3_1    numbers of column 3 of table 7, which has them since version 1; hidden row ids, too

The publisher makes a sequence with the version that first has it; a transaction that makes a table makes it with that.
Numbers are taken in the transaction that puts them. It holds its version, so the sequence lives as long. The end of the
change that dropped the identity or the column drops the sequence; what drops a table's pairs drops those of the table.
They lie in a schema of their own: a storage can be removed. Each counts on beyond what its column can hold, so that a
wider type needs no other sequence.
"""

import struct

from catalog.descriptor import Descriptor
from catalog.elements import Column, State, TableId

SCHEMA = "identity"


def sequence_of(table_id: TableId | int, column: Column) -> str:
    """The sequence of an identity column."""
    return f"{SCHEMA}.numbers_{int(table_id)}_{int(column.id)}_{int(column.identity_generation)}"


def sequences_of(table: Descriptor) -> dict[str, Column]:
    """The sequences that writers of this version may need, each with its column."""
    if table.state is State.ABSENT:
        return {}
    return {sequence_of(table.table_id, column): column for column in table.columns if column.identity}


def make_sql(sequence: str, column: Column) -> str:
    """Make the sequence unless it exists, as it does where a rollback gives a column its identity back."""
    options = f"AS bigint START WITH {int(column.identity_start)} NO CYCLE CACHE 1"
    return f"CREATE SEQUENCE IF NOT EXISTS {sequence} {options}"


def take_sql(sequence: str) -> str:
    """Take numbers, as one value (`taken`). Parameter: how many."""
    return f"SELECT string_agg(int8send(nextval('{sequence}')), ''::bytea) FROM generate_series(1, %b::int)"


def taken(value: bytes) -> tuple[int, ...]:
    """The numbers in what `take_sql` gives, ascending unless others turn the sequence back."""
    return struct.unpack(f"!{len(value) // 8}q", value)


def set_sql(sequence: str) -> str:
    """Have the sequence go on elsewhere. Parameters: a number, and whether it counts as taken."""
    return f"SELECT setval('{sequence}', %b::bigint, %b::boolean)"
