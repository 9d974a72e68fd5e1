"""SQL over stored pairs, past every rule: to see them, and to do damage. Each gives the text and its parameters."""

from storage.pairs import stored_key
from storage.statements import key_sql, kv

Sql = tuple[str, list[object]]


def pairs(storage: int, table_id: int) -> str:
    """(key, value) of all pairs, in no order."""
    return f"SELECT {key_sql(table_id)} AS key, v AS value FROM {kv(storage, table_id)}"


def insert(storage: int, table_id: int, key: bytes, value: bytes | None) -> Sql:
    """A new pair; None is a tombstone."""
    return f"INSERT INTO {kv(storage, table_id)} VALUES (%s, %s, %s)", [*stored_key(key), value]


def change(storage: int, table_id: int, key: bytes, value: bytes | None) -> Sql:
    """Another value."""
    k, c = stored_key(key)
    return f"UPDATE {kv(storage, table_id)} SET v = %s WHERE k = %s AND c = %s", [value, k, c]


def delete(storage: int, table_id: int, key: bytes) -> Sql:
    """No pair, nor tombstone."""
    return f"DELETE FROM {kv(storage, table_id)} WHERE k = %s AND c = %s", [*stored_key(key)]
