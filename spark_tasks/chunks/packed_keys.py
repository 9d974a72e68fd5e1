"""A column of keys as a parameter (`.. = ANY(%b::bytea[])`), without an object for each."""

from typing import Any

import psycopg
import pyarrow as pa
from psycopg.adapt import Dumper
from psycopg.pq import Format

from storage.arrow.encoding import array_payload

BYTEA_ARRAY = 1001
"""The id of the type bytea[]."""


class PackedKeys:
    def __init__(self, keys: pa.Array) -> None:
        self.payload = array_payload(keys)


class _Dumper(Dumper):
    format = Format.BINARY
    oid = BYTEA_ARRAY

    def dump(self, obj: PackedKeys) -> bytes:
        return obj.payload


def execute_with_keys(connection: psycopg.Connection[Any], sql: str, keys: pa.Array) -> psycopg.Cursor[Any]:
    cursor = connection.cursor(binary=True)
    cursor.adapters.register_dumper(PackedKeys, _Dumper)
    return cursor.execute(sql, (PackedKeys(keys),))
