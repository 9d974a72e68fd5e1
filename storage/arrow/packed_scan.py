"""A scan of a key range in packed pages; the caller has the connection: `while not scan.is_done: page =
scan.take(*ask(*scan.question()))`. A page leaves out values too long for it (`storage.page_sizes.longest_of`); if there
are any it is asked for again, and from then on the server adds up lengths for all scans with the same `Lengths`."""

from collections.abc import Sequence

import pyarrow.compute as pc

from storage.arrow.encoding import Pairs, concat, unpack
from storage.page_sizes import Lengths, Pages, longest_of
from storage.statements import PAGE_PAIRS, bounds, packed_scan_sql, packed_short_sql

Question = tuple[str, tuple[bytes | int, ...]]


class PackedScan:
    """The live pairs of one key range on one storage, of the named columns (None: of all)."""

    def __init__(
        self,
        storage: int,
        table_id: int,
        low: bytes,
        high: bytes,
        columns: Sequence[int] | None,
        lengths: Lengths | None = None,
    ) -> None:
        self._table_id = table_id
        self._short_sql = packed_short_sql(storage, table_id, of_columns=columns)
        self._sql = packed_scan_sql(storage, table_id, of_columns=columns, bounded=True)
        self._high = high
        self._pages = Pages(low, PAGE_PAIRS // 2, PAGE_PAIRS)
        self._lengths = lengths or Lengths()

    @property
    def is_done(self) -> bool:
        return self._pages.is_done

    def question(self) -> Question:
        """The SQL of the next page, and its parameters; numbers are bigint."""
        pages = self._pages
        place = (*bounds(pages.low, self._high), pages.pairs)
        if self._lengths.are_long:
            return self._sql, (*place, pages.bytes_max)
        return self._short_sql, (longest_of(pages.pairs), *place)

    def take(
        self,
        count: int,
        ks: bytes | None,
        cs: bytes | None,
        values: bytes | None,
        k_sizes: bytes | None,
        value_sizes: bytes | None,
        longest: int | None = None,
    ) -> Pairs:
        """The pairs of an answer; none when the page must be asked for again."""
        pages = self._pages
        if (longest or 0) > longest_of(pages.pairs):
            self._lengths.are_long = True
            return concat([])
        page = unpack(self._table_id, count, ks, cs, values, k_sizes, value_sizes)
        size = (pc.sum(pc.binary_length(page.keys)).as_py() or 0) + len(values or b"")
        pages.learn(count, size, page.keys[-1].as_py() if count else b"")
        return page
