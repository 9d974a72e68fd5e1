"""Pair tables read by the protocol's text alone (section 1 of `docs/reference/protocol.md`), to judge their writers by
other rules than their own: nothing of `storage` or `nodes` is used. The end of a storm is judged: every element public,
nothing on its way."""

import struct
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from tests.soak.judge.values import NULL, Unreadable, cut, key_form, pieces_of, value_of

Json = Mapping[str, Any]
Pair = tuple[int, bytes, int, bytes | None]
"""Storage, k, c, v; v None is a tombstone."""
HEAD = struct.Struct(">HH")
FAULTS_MAX = 20
CRC32C = 0x82F63B78
SHOWN = frozenset(("smallint", "integer", "bigint", "numeric", "text", "varchar", "date", "uuid", "bytea"))
"""Types whose text, as a bucket goes by it, is written once more here."""


@dataclass(slots=True)
class Contents:
    """The rows of a table by column name, and what is wrong with its pairs."""

    table: str
    version: int
    rows: dict[tuple[Any, ...], dict[str, Any]] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)
    pairs: int = 0
    entries: int = 0

    def fault(self, text: str) -> None:
        if len(self.faults) < FAULTS_MAX:
            self.faults.append(f"{self.table} v{self.version}: {text}")


def contents_of(
    body: Json, pairs: Iterable[Pair], *, storages: int, buckets: int, partial: Mapping[str, Callable[[Json], bool]]
) -> Contents:
    """The table as its pairs say it, compared with what its descriptor asks for."""
    found = Contents(body["name"], body["version"])
    judge_states(body, found)
    columns = {one["id"]: one for one in body["columns"]}
    key_types = [columns[number]["type"] for number in body["primary_key"]]
    placement = body["placements"][0]["id"]
    storages = body["placements"][0].get("storages") or storages  # 0: as many as the cluster began with
    stored: dict[bytes, dict[int, bytes]] = {}
    homes: dict[bytes, int] = {}
    entries: dict[tuple[bytes, bytes], int] = {}
    for storage, key, column, value in pairs:
        found.pairs += 1
        of_placement, index = HEAD.unpack(key[: HEAD.size])
        if value is None:
            found.fault(f"a tombstone is left: {key.hex()}, {column}")
        elif of_placement != placement:
            found.fault(f"a pair of placement {of_placement}: {key.hex()}, {column}")
        elif index == 0:
            row_key = key[HEAD.size :]
            if homes.setdefault(row_key, storage) != storage:
                found.fault(f"row {row_key.hex()} lies on storages {homes[row_key]} and {storage}")
            stored.setdefault(row_key, {})[column] = value
        elif column:
            found.fault(f"an entry with a column: {key.hex()}, {column}")
        else:
            if (key, value) in entries:
                found.fault(f"an entry on two storages: {key.hex()}")
            entries[key, value] = storage
            found.entries += 1
    for row_key, of_row in stored.items():
        read_row(found, body, columns, key_types, row_key, of_row)
        if not body["placements"][0]["sharding_key"]:
            function = body["placements"][0]["function"]
            judge_home(found, function, key_types, row_key, homes[row_key], storages, buckets)
    judge_entries(found, body, columns, stored, homes, entries, partial, storages, buckets)
    return found


def judge_states(body: Json, found: Contents) -> None:
    """Nothing is on its way when every change has ended."""
    if body["state"] != "public":
        found.fault(f"the table is {body['state']}")
    for kind in ("columns", "indexes", "constraints", "placements"):
        for one in body[kind]:
            if one["state"] != "public" or one.get("filling") or one.get("derived"):
                found.fault(f"{kind} {one.get('name', one['id'])} is {one['state']}, on its way")


def read_row(
    found: Contents,
    body: Json,
    columns: Mapping[int, Json],
    key_types: list[str],
    row_key: bytes,
    of_row: Mapping[int, bytes],
) -> None:
    """The row by names; what its pairs lack or have too many of is a fault (C1, C2)."""
    try:
        key = tuple(cut(key_types, row_key))
    except Unreadable as why:
        return found.fault(f"key {row_key.hex()}: {why}")
    if of_row.get(0) != b"":
        found.fault(f"row {key} has column pairs and no existence: {sorted(of_row)}")
        return None
    row = dict(zip((columns[number]["name"] for number in body["primary_key"]), key, strict=True))
    for number, column in columns.items():
        if number in body["primary_key"]:
            continue
        data = of_row.get(number)
        if data is None:
            if column["not_null"] or column["fill_value"] is not None:
                found.fault(f"row {key} has no pair for required column {column['name']}")
            row[column["name"]] = None
            continue
        if data == NULL and column["not_null"]:
            found.fault(f"row {key} has NULL in required column {column['name']}")
        try:
            row[column["name"]] = value_of(column["type"], data)
        except Unreadable as why:
            found.fault(f"row {key}, column {column['name']}: {why}")
    for number in set(of_row) - set(columns) - {0}:
        found.fault(f"row {key} has a pair of column {number}, which is not there")
    found.rows[key] = row
    return None


def judge_home(
    found: Contents, function: str, types: list[str], row_key: bytes, storage: int, storages: int, buckets: int
) -> None:
    """The bucket of a row's key owns its storage."""
    home = home_of(function, types, row_key, storages, buckets)
    if home is not None and home != storage:
        found.fault(f"row {row_key.hex()} lies on storage {storage}, its bucket on {home}")


def judge_entries(
    found: Contents,
    body: Json,
    columns: Mapping[int, Json],
    stored: Mapping[bytes, Mapping[int, bytes]],
    homes: Mapping[bytes, int],
    entries: dict[tuple[bytes, bytes], int],
    partial: Mapping[str, Callable[[Json], bool]],
    storages: int,
    buckets: int,
) -> None:
    """Each index has exactly the entries that its rows ask for, where they belong (C3, C4, C5)."""
    left = dict(entries)
    for index in body["indexes"]:
        for row_key, of_row in stored.items():
            key = tuple(cut([columns[number]["type"] for number in body["primary_key"]], row_key))
            row = found.rows.get(key)
            if row is None or (index["where"] is not None and not partial[index["name"]](row)):
                continue
            plain, shown = values_of(body, columns, index, row_key, of_row)
            is_single = index["unique"] and NULL not in plain
            start = HEAD.pack(body["placements"][0]["id"], index["id"]) + b"".join(shown)
            entry = (start, row_key) if is_single else (start + row_key, b"")
            storage = left.pop(entry, None)
            if storage is None:
                found.fault(f"row {key} has no entry in index {index['name']}")
                continue
            home = storage_of(crc32c(b"".join(shown)), storages, buckets) if is_single else homes[row_key]
            if home != storage:
                found.fault(f"the entry of row {key} in {index['name']} lies on storage {storage}, not {home}")
    for key, value in left:
        found.fault(f"an entry that no row asks for: {key.hex()} -> {value.hex()}")


def values_of(
    body: Json, columns: Mapping[int, Json], index: Json, row_key: bytes, of_row: Mapping[int, bytes]
) -> tuple[list[bytes], list[bytes]]:
    """The encoded values of an index's columns, as they are and as they stand in its key."""
    pieces = dict(
        zip(body["primary_key"], pieces_of([columns[n]["type"] for n in body["primary_key"]], row_key), strict=True)
    )
    plain = [
        pieces.get(part["column"]) or key_form(columns[part["column"]]["type"], of_row.get(part["column"], NULL))
        for part in index["columns"]
    ]
    descending = [part["descending"] for part in index["columns"]]
    shown = [bytes(255 - b for b in one) if down else one for one, down in zip(plain, descending, strict=True)]
    return plain, shown


# --- where a pair lies


def home_of(function: str, types: list[str], data: bytes, storages: int, buckets: int) -> int | None:
    """The storage of the bucket of these values; None where their form, or the function, is not known here."""
    if not set(types) <= SHOWN or function not in ("strcrc32", "mpcrc32"):
        return None
    crc = 0xFFFFFFFF
    for value in cut(types, data):
        if value is None:
            break
        is_packed = function == "mpcrc32" and isinstance(value, int)
        crc = crc32c(packed(value) if is_packed else shown(value).encode(), crc)
    return storage_of(crc, storages, buckets)


def shown(value: Any) -> str:
    """The text of a value by which its bucket goes: of a numeric its digits without zeros at the end, bytes in hex."""
    if isinstance(value, Decimal):
        digits = f"{value:f}"
        return digits.rstrip("0").rstrip(".") if "." in digits else digits
    return f"\\x{value.hex()}" if isinstance(value, bytes) else str(value)


def packed(value: Any) -> bytes:
    """MessagePack's shortest form of an integer."""
    if -32 <= value < 128:
        return struct.pack("b", value)
    forms = zip(
        (0xCC, 0xCD, 0xCE, 0xCF) if value >= 0 else (0xD0, 0xD1, 0xD2, 0xD3), "BHIQ", (8, 16, 32, 64), strict=True
    )
    for code, form, bits in forms:
        if value < 1 << bits if value >= 0 else value >= -(1 << (bits - 1)):
            return bytes([code]) + struct.pack(f">{form if value >= 0 else form.lower()}", value)
    raise OverflowError(value)


def crc32c(data: bytes, crc: int = 0xFFFFFFFF) -> int:
    """The checksum of a row's key as text, or of a unique entry's values as they are encoded."""
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (CRC32C if crc & 1 else 0)
    return crc


def storage_of(crc: int, storages: int, buckets: int) -> int:
    return (crc % buckets) * storages // buckets + 1
