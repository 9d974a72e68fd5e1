"""The storage of a row: sharding key -> bucket -> storage. The number of buckets is fixed for a cluster, and a storage
owns a contiguous range. A sharding function makes a number of the key's values, up to the first NULL:

    strcrc32   the text form of each value        1 -> 477, 2 -> 401, "Emma" -> 2861, ("Emma", 22) -> 830
    mpcrc32    strings as they are, others packed  1 -> 1614, "Emma" -> 2861
    bucket     one column that names the bucket    7 -> 7      (custom placement)

The first two are tarantool/vshard's: CRC-32C (Castagnoli, reflected polynomial 0x82F63B78), initial 0xFFFFFFFF, no
final inversion. MessagePack packs booleans and integers; other types go by their text.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from catalog.values.types import FLOATING, UNSORTED, WHOLE, SqlType, Value, to_text

BUCKETS = 3000
POLYNOMIAL = 0x82F63B78


class UnknownFunction(LookupError):
    """A sharding function that does not exist."""


def _crc_table() -> tuple[int, ...]:
    table = []
    for byte in range(256):
        crc = byte
        for _ in range(8):
            crc = crc >> 1 ^ (POLYNOMIAL if crc & 1 else 0)
        table.append(crc)
    return tuple(table)


CRC_TABLE = _crc_table()


def crc32c(data: bytes, crc: int = 0xFFFFFFFF) -> int:
    """CRC-32C without the final inversion (RFC 3720, appendix B.4)."""
    for byte in data:
        crc = crc >> 8 ^ CRC_TABLE[(crc ^ byte) & 0xFF]
    return crc


@dataclass(frozen=True, slots=True)
class StorageCount:
    """The storages of a cluster: at its beginning (`STORAGE_COUNT`), and now."""

    first: int = 2
    existing: int = 2


AS_BEGUN = StorageCount()
"""A cluster of two storages to which none was added."""
STORAGES_MAX = 16


# --- sharding functions


@dataclass(frozen=True, slots=True)
class ShardingFunction:
    """`piece`: bytes of a value (never NULL); `number`, modulo the buckets: the bucket. Refuses columns of other
    `types`, and more than `columns_max`."""

    piece: Callable[[SqlType, Value], bytes]
    number: Callable[[bytes], int] = crc32c
    types: frozenset[SqlType] = frozenset(SqlType) - FLOATING - UNSORTED
    columns_max: int | None = None


def text_piece(sql_type: SqlType, value: Value) -> bytes:
    """A value's text form. Lua writes a boolean as `true` or `false`, PostgreSQL as `t` or `f`."""
    text = str(value).lower() if sql_type is SqlType.BOOLEAN else to_text(sql_type, value)
    return text.encode()


PACKED = WHOLE | {SqlType.BOOLEAN}
"""The types that MessagePack has a form of; PostgreSQL's others are strings to it."""


def packed_piece(sql_type: SqlType, value: Value) -> bytes:
    """MessagePack's shortest form of a boolean or an integer; of other types the text, without a header."""
    if sql_type not in PACKED:
        return text_piece(sql_type, value)
    if isinstance(value, bool):
        return b"\xc3" if value else b"\xc2"
    assert isinstance(value, int), (sql_type, value)
    if -32 <= value < 128:
        return (value & 0xFF).to_bytes(1)
    width = next(size for size in (0, 1, 2, 3) if -(1 << (8 << size) - 1) <= value < 1 << (8 << size) or size == 3)
    if value >= 0:
        return bytes([0xCC + width]) + value.to_bytes(1 << width)
    return bytes([0xD0 + width]) + value.to_bytes(1 << width, signed=True)


def _named(data: bytes) -> int:
    return int(data) - 1 if data else 0


CUSTOM = "bucket"
"""Custom placement: a row's own column names its bucket."""

FUNCTIONS: dict[str, ShardingFunction] = {
    "strcrc32": ShardingFunction(text_piece),
    "mpcrc32": ShardingFunction(packed_piece),
    CUSTOM: ShardingFunction(text_piece, _named, WHOLE, columns_max=1),
}


def function_named(name: str) -> ShardingFunction:
    """Raises `UnknownFunction`."""
    try:
        return FUNCTIONS[name]
    except KeyError:
        known = ", ".join(sorted(FUNCTIONS))
        raise UnknownFunction(f"there is no sharding function {name}; there are: {known}") from None


def bucket_of(function: str, values: Iterable[tuple[SqlType, Value | None]], buckets: int = BUCKETS) -> int:
    """The bucket, 1..`buckets`, of typed values. Raises `UnknownFunction`."""
    named, data = function_named(function), b""
    for sql_type, value in values:
        if value is None:
            break
        data += named.piece(sql_type, value)
    return named.number(data) % buckets + 1


def storage_of(bucket: int, storages: int, buckets: int = BUCKETS) -> int:
    """The storage, 1..`storages`, of a bucket: contiguous ranges of nearly equal size."""
    return (bucket - 1) * storages // buckets + 1


def owned_by(storage: int, storages: int, buckets: int = BUCKETS) -> range:
    before, to_its_end = (-(-number * buckets // storages) for number in (storage - 1, storage))
    return range(before + 1, to_its_end + 1)
