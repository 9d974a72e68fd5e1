"""Keys that other relations give: a table read by the values of a row around it, or of rows of a table beside it. Pure.
PostgreSQL would scan a table of pairs for each row around: no condition on a value reaches a key through a GROUP BY."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from catalog.elements import Column, Index
from expressions.typed import Context
from nodes.sql.conditions.access_paths import Access, serves, stored_value
from nodes.sql.conditions.predicates import column_bounds
from nodes.sql.uses import Link, LinkedScan
from storage import encoding


@dataclass(frozen=True, slots=True)
class Part:
    column: Column
    value: Link | bytes
    descending: bool = False


@dataclass(frozen=True, slots=True)
class Lookup:
    """The first columns of the primary key (`index` is None) or of an index."""

    index: Index | None
    parts: tuple[Part, ...]
    left_out: int
    """The number of columns behind these."""
    beside: int | None
    """The number of the table beside that gives the values; None: relations around."""

    @property
    def is_one_row(self) -> bool:
        return not self.left_out and (self.index is None or self.index.unique)


def lookups(scans: Sequence[LinkedScan], ways: Mapping[int, Access], context: Context) -> dict[int, Lookup]:
    """The lookups that are shorter than the ways by constants, by the numbers of their scans."""
    found: dict[int, Lookup] = {}
    narrow = {scan.number for scan in scans if _is_narrow(scan, ways[scan.number], context)}

    def around(*, joined: bool) -> None:
        for scan in scans:
            links = [link for link in scan.links if link.source is None]
            if joined and all(
                link.other in ways and ways[link.other].is_everything and link.other not in found for link in links
            ):
                continue  # each side is read once, and joined
            lookup = _lookup(scan, links, ways[scan.number], None, context) if scan.is_joined == joined else None
            if lookup is not None:
                found[scan.number] = lookup

    def beside() -> None:
        is_more = True
        while is_more:
            is_more = False
            for scan in scans:
                if scan.number in found or scan.number in narrow:
                    continue
                others = [link.other for link in scan.links if link.source is not None]
                for other in dict.fromkeys(one for one in others if one in found or one in narrow):
                    links = [link for link in scan.links if link.source is not None and link.other == other]
                    lookup = _lookup(scan, links, ways[scan.number], other, context)
                    if lookup is not None:
                        found[scan.number], is_more = lookup, True
                        break

    around(joined=False)
    beside()
    around(joined=True)
    beside()
    return found


def _is_narrow(scan: LinkedScan, way: Access, context: Context) -> bool:
    if way.points is not None or not way.columns:
        return way.points is not None or not (way.is_everything or way.ranges)
    bound = column_bounds(scan.descriptor, scan.conditions, context)[way.columns[0]]
    return bound.values is not None or (bound.low is not None and bound.high is not None)


def _lookup(
    scan: LinkedScan, links: Sequence[Link], way: Access, beside: int | None, context: Context
) -> Lookup | None:
    if not links or way.points is not None or not (way.is_everything or way.ranges):
        return None
    descriptor, by_column = scan.descriptor, {link.column.id: link for link in links}
    bounds = column_bounds(descriptor, scan.conditions, context)
    best: Lookup | None = None
    for index in (None, *descriptor.public_indexes):
        if index is not None and not serves(descriptor, index, scan.conditions, context):
            continue
        columns = [(part.column, part.descending) for part in index.columns] if index else [
            (column, False) for column in descriptor.primary_key
        ]  # fmt: skip
        parts: list[Part] = []
        for column_id, descending in columns:
            column, link, bound = descriptor.column(column_id), by_column.get(column_id), bounds.get(column_id)
            if link is not None:
                parts.append(Part(column, link, descending))
            elif bound is not None and bound.values is not None and len(bound.values) == 1:
                [value] = bound.values
                data = encoding.encode(column.type, stored_value(column, value), descending=descending)
                parts.append(Part(column, data, descending))
            else:
                break
        if any(isinstance(part.value, Link) for part in parts):
            lookup = Lookup(index, tuple(parts), len(columns) - len(parts), beside)
            if best is None or (lookup.is_one_row, len(parts)) > (best.is_one_row, len(best.parts)):
                best = lookup
    return best if best is not None and (best.is_one_row or len(best.parts) >= len(way.columns)) else None
