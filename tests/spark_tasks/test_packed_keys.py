"""PostgreSQL reads a column of keys as the array that psycopg would have sent."""

import psycopg
import pyarrow as pa
import pytest

from spark_tasks.chunks.packed_keys import execute_with_keys


@pytest.mark.parametrize(
    "keys",
    [
        pytest.param([b"ab", b"cd"], id="of one length"),
        pytest.param([b"a", b"", b"c\x00de", b"\xff" * 300], id="of several lengths"),
        pytest.param([], id="none"),
    ],
)
def test_keys_arrive_as_they_are(dsn: str, keys: list[bytes]) -> None:
    column = pa.array([b"before", *keys, b"after"], pa.binary()).slice(1, len(keys))
    with psycopg.connect(dsn, autocommit=True) as opened:
        found = execute_with_keys(opened, "SELECT key FROM unnest(%b::bytea[]) AS key", column).fetchall()
        same = opened.execute("SELECT %b::bytea[]", (keys,)).fetchone()
        arrived = execute_with_keys(opened, "SELECT %b::bytea[]", column).fetchone()
    assert [key for (key,) in found] == keys
    assert same == arrived
