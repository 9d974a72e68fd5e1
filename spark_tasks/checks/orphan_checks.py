"""Pairs of no element (C1, C3, C7), and tombstones that should be removed."""

from collections.abc import Iterable
from typing import Any

import psycopg

from catalog.descriptor import Descriptor
from catalog.elements import EXISTS, PRIMARY, Column, State
from spark_tasks.runs.ranges import KeyRange
from spark_tasks.runs.report import NAMED_MAX
from storage.integrity.clauses import Violation, row_words
from storage.pairs import PREFIX, StrayKey, name_of
from storage.postgres import kv
from storage.statements import WITHIN, bounds, key_sql, of_columns_sql

Connection = psycopg.Connection[Any]


def strangers(connection: Connection, descriptor: Descriptor, key_range: KeyRange) -> list[bytes]:
    """The first keys in a range of rows that end with no column of the schema."""
    known = [EXISTS, *(c.id for c in descriptor.stored_columns if c.state is not State.ABSENT)]
    return _first_keys(connection, descriptor, key_range, f"NOT {of_columns_sql(known)}")


def tombstones(
    connection: Connection, descriptor: Descriptor, key_range: KeyRange, allowed: Iterable[Column] = ()
) -> list[bytes]:
    """The first tombstones of a range; those of `allowed` columns do not count."""
    columns = [column.id for column in allowed]
    only = f"v IS NULL AND NOT {of_columns_sql(columns)}" if columns else "v IS NULL"
    return _first_keys(connection, descriptor, key_range, only)


def _first_keys(connection: Connection, descriptor: Descriptor, key_range: KeyRange, only: str) -> list[bytes]:
    table, key = kv(key_range.storage, descriptor.table_id), key_sql(descriptor.table_id)
    sql = f"SELECT {key} FROM {table} WHERE {WITHIN} AND {only} ORDER BY k, c LIMIT %b"
    cursor = connection.cursor(binary=True).execute(sql, (*bounds(key_range.low, key_range.high), NAMED_MAX))
    return [key for (key,) in cursor.fetchall()]


def tombstone_words(what: str) -> str:
    return f"a tombstone is left in {what} although the change has ended"


def stranger(descriptor: Descriptor, storage: int, key: bytes) -> Violation:
    """A pair of no element, in the words of `storage.integrity.clauses`."""
    index = PREFIX.unpack_from(key)[2] if len(key) > PREFIX.size else PRIMARY
    if descriptor.state is State.ABSENT:
        why = f"a pair is left of {descriptor.name}, which {descriptor} does not contain"
        return Violation("C1" if index == PRIMARY else "C3", storage, key, why)
    if index != PRIMARY and all(known.id != index for known in descriptor.indexes):
        return Violation("C3", storage, key, f"an entry of index {index}, which {descriptor} does not contain")
    try:
        name = name_of(descriptor, key)
    except StrayKey as error:
        return Violation("C7" if index == PRIMARY else "C3", storage, key, str(error))
    if name.row_key is None or index != PRIMARY:
        named = descriptor.index(name.index).name
        return Violation("C3", storage, key, f"an entry of index {named}, which {descriptor} does not contain")
    words = f"a pair of {row_words(descriptor, name.row_key)} is of column {name.column}"
    return Violation("C1", storage, key, f"{words}, which {descriptor} does not contain")
