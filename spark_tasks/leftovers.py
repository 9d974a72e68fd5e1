"""Pairs that no element of the schema accounts for (C1, C3, C7), and tombstones that should be gone."""

from typing import Any

import psycopg

from catalog.descriptor import Descriptor
from catalog.elements import PRIMARY, State
from spark_tasks.finding import VIOLATIONS_MAX
from spark_tasks.ranges import KeyRange
from storage.clauses import Violation, row_words
from storage.pairs import COLUMN, PREFIX, ForeignKey, name_of
from storage.postgres import kv
from storage.statements import COLUMN_SUFFIX

Connection = psycopg.Connection[Any]


def strangers(connection: Connection, descriptor: Descriptor, piece: KeyRange) -> list[bytes]:
    """The first keys in a range of rows that end with no column of the schema."""
    sql = f"SELECT key FROM {kv(piece.storage, descriptor.table_id)} WHERE key >= %b AND key < %b"
    unknown = f"NOT ({COLUMN_SUFFIX} = ANY(%b::bytea[])) ORDER BY key LIMIT %b"
    params = (piece.low, piece.high, _known_suffixes(descriptor), VIOLATIONS_MAX)
    cursor = connection.cursor(binary=True).execute(f"{sql} AND {unknown}", params)
    return [key for (key,) in cursor.fetchall()]


def tombstones(connection: Connection, table_id: int, piece: KeyRange) -> list[bytes]:
    """The first tombstones of a range."""
    sql = f"SELECT key FROM {kv(piece.storage, table_id)} WHERE key >= %b AND key < %b AND value IS NULL"
    cursor = connection.cursor(binary=True)
    cursor.execute(f"{sql} ORDER BY key LIMIT %b", (piece.low, piece.high, VIOLATIONS_MAX))
    return [key for (key,) in cursor.fetchall()]


def tombstone_words(what: str) -> str:
    return f"a tombstone is left in {what} although the change has ended"


def stranger(descriptor: Descriptor, storage: int, key: bytes) -> Violation:
    """A pair that no element of the schema accounts for (C1, C3, C7), in the words of `storage.clauses`."""
    index = PREFIX.unpack_from(key)[2] if len(key) > PREFIX.size else PRIMARY
    if descriptor.state is State.ABSENT:
        why = f"a pair is left of {descriptor.name}, which {descriptor} does not contain"
        return Violation("C1" if index == PRIMARY else "C3", storage, key, why)
    if index != PRIMARY and all(known.id != index for known in descriptor.indexes):
        return Violation("C3", storage, key, f"an entry of index {index}, which {descriptor} does not contain")
    try:
        name = name_of(descriptor, key)
    except ForeignKey as error:
        return Violation("C7" if index == PRIMARY else "C3", storage, key, str(error))
    if name.row_key is None or index != PRIMARY:
        return Violation("C3", storage, key, f"an entry of index {descriptor.index(name.index).name}, which is absent")
    words = f"a pair of {row_words(descriptor, name.row_key)} is of column {name.column}"
    return Violation("C1", storage, key, f"{words}, which {descriptor} does not contain")


def _known_suffixes(descriptor: Descriptor) -> list[bytes]:
    """What keys of rows' pairs may end with: existence, and columns that are not absent."""
    columns = (c.id for c in descriptor.stored_columns if c.state is not State.ABSENT)
    return [COLUMN.pack(c) for c in (PRIMARY, *columns)]
