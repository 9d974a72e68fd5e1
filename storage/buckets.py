"""The storage of a row: sharding key -> bucket -> storage.

The number of buckets is fixed for a cluster; a storage owns a contiguous range of them.
`strcrc32` is tarantool/vshard's: CRC-32C (Castagnoli, reflected polynomial 0x82F63B78),
initial 0xFFFFFFFF, no final inversion, over the text forms one after the other, stopping
at the first NULL. With 3000 buckets: 1 -> 477, "Emma" -> 2861, ("Emma", 22) -> 830.
"""

from collections.abc import Callable, Sequence

BUCKETS = 3000
POLYNOMIAL = 0x82F63B78


class UnknownFunction(LookupError):
    """A sharding function that is not registered here."""


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
    """CRC-32C of `data`, without the final inversion (RFC 3720, appendix B.4, has it)."""
    for byte in data:
        crc = crc >> 8 ^ CRC_TABLE[(crc ^ byte) & 0xFF]
    return crc


def strcrc32(parts: Sequence[str | None], buckets: int) -> int:
    """The bucket, 1..`buckets`, of the text forms of a sharding key."""
    crc = 0xFFFFFFFF
    for part in parts:
        if part is None:
            break
        crc = crc32c(part.encode(), crc)
    return crc % buckets + 1


FUNCTIONS: dict[str, Callable[[Sequence[str | None], int], int]] = {"strcrc32": strcrc32}


def bucket_of(function: str, parts: Sequence[str | None], buckets: int = BUCKETS) -> int:
    """The bucket of a sharding key under a named function. Raises `UnknownFunction`."""
    if function not in FUNCTIONS:
        raise UnknownFunction(f"there is no sharding function {function}; there are: {', '.join(sorted(FUNCTIONS))}")
    return FUNCTIONS[function](parts, buckets)


def storage_of(bucket: int, storages: int, buckets: int = BUCKETS) -> int:
    """The storage, 1..`storages`, that owns a bucket: contiguous ranges of nearly equal size."""
    return (bucket - 1) * storages // buckets + 1
