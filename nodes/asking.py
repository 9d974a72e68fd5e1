"""Claims of foreign keys brought to the store, when all that the statement writes is written.

    a reference   the pair that says that a row with these values is there: all must be found (`storage.references`)
    a loss        key ranges of an index of the table that refers: none may hold a pair
    .. no index   the rows themselves, page by page, until one refers to what is lost

The first two are probes, which cost no round trip of their own.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from catalog.elements import FOREIGN_KEY, PRIMARY, ColumnId, ConstraintId, Index
from nodes.bounds import Access
from nodes.claims import Claim
from nodes.foreign_keys import Bonds, claims_of
from nodes.libpq import bytea_array
from nodes.probes import Probe, first_refusal
from nodes.scans import stored_rows
from nodes.work import Writing, Written
from storage import encoding, pairs
from storage.buckets import storage_of
from storage.mutations import Op
from storage.references import Values, place_of, values_of
from storage.statements import get_sql, held_ranges_sql

CLAIMS_A_PROBE = 1000
RANGES_MAX = 200
"""Key ranges that are read one by one; a scan is the shorter way from there on."""


async def write(work: Writing, ops: Iterable[Op], bonds: Bonds, written: Sequence[Written], *, commit: bool) -> None:
    """Do the operations of a statement that obeys these foreign keys. Raises 23505, 23503, 23001, or 40001."""
    if not bonds.parents and not bonds.children:
        await work.writer.write(ops, commit=commit)
        return
    asked = questions(work, claims_of(work, bonds, written))
    if not asked.scans:
        await work.writer.write(ops, asked.probes, commit=commit)
        return
    await work.writer.write(ops)
    broken = await work.writer.ask(asked.probes)
    broken += [claim for claims in asked.scans if (claim := await first_referring(work, claims)) is not None]
    if broken:
        raise first_refusal(broken)
    if commit:
        await work.transaction.commit()


# -- from claims to questions


@dataclass(frozen=True, slots=True)
class Questions:
    """What a statement asks: by keys that are known, and of rows that must be looked through."""

    probes: tuple[Probe, ...] = ()
    scans: tuple[tuple[Claim, ...], ...] = ()


def questions(work: Writing, claims: Iterable[Claim]) -> Questions:
    """The claims, by the way each foreign key's are answered."""
    probes: list[Probe] = []
    scans: list[tuple[Claim, ...]] = []
    for same in _by_constraint(claims):
        if same[0].constraint.rule == FOREIGN_KEY:
            probes += _references(work, same)
            continue
        path = _path(same[0])
        if path.is_exact:
            probes += _losses(work, path, same)
        else:
            scans.append(same)
    return Questions(tuple(probes), tuple(scans))


def _by_constraint(claims: Iterable[Claim]) -> list[tuple[Claim, ...]]:
    groups: dict[ConstraintId, list[Claim]] = {}
    for claim in claims:
        groups.setdefault(claim.constraint.id, []).append(claim)
    return [tuple(group) for group in groups.values()]


def _references(work: Writing, claims: Sequence[Claim]) -> Iterator[Probe]:
    by_storage: dict[int, dict[bytes, Claim]] = {}
    buckets, storages = work.env.buckets, work.env.storages
    for claim in claims:
        place = place_of(claim.other, claim.constraint, claim.values, buckets)
        by_storage.setdefault(storage_of(place.bucket, storages, buckets), {})[place.key] = claim
    for storage, by_key in sorted(by_storage.items()):
        sql = get_sql(storage, claims[0].other.table_id)
        for part in _parts(by_key):
            yield Probe(sql, (bytea_array(list(part)),), part, wants_all=True)


def _losses(work: Writing, path: "_Path", claims: Sequence[Claim]) -> Iterator[Probe]:
    by_low = {path.low(claim): claim for claim in claims}
    for part in _parts(by_low):
        params = (bytea_array(list(part)), bytea_array([pairs.after(low) for low in part]))
        for storage in range(1, work.env.storages + 1):
            yield Probe(held_ranges_sql(storage, claims[0].other.table_id), params, part, wants_all=False)


def _parts(claims: Mapping[bytes, Claim]) -> Iterator[dict[bytes, Claim]]:
    keys = sorted(claims)
    for place in range(0, len(keys), CLAIMS_A_PROBE):
        yield {key: claims[key] for key in keys[place : place + CLAIMS_A_PROBE]}


# -- how rows that refer are found


@dataclass(frozen=True, slots=True)
class _Path:
    """An index of a table that refers, by as many of its leading columns as belong to the foreign key."""

    start: bytes
    index: Index | None
    columns: tuple[tuple[ColumnId, bool], ...]
    is_exact: bool

    def low(self, claim: Claim) -> bytes:
        """Where the rows with the claim's values begin; they end where no key starts so any more."""
        given = dict(zip(claim.constraint.reference_columns, claim.values, strict=True))
        parts = (encoding.inverted(given[c]) if is_descending else given[c] for c, is_descending in self.columns)
        return self.start + b"".join(parts)


def _path(claim: Claim) -> _Path:
    """The primary key or the public index that pins most columns; a partial index does not have all rows."""
    child, wanted = claim.other, set(claim.constraint.reference_columns)
    candidates: list[tuple[Index | None, list[tuple[ColumnId, bool]]]] = [
        (None, [(c, False) for c in child.primary_key])
    ]
    candidates += [(i, [(p.column, p.descending) for p in i.columns]) for i in child.public_indexes if i.where is None]
    index, columns = max(candidates, key=lambda candidate: len(_leading(candidate[1], wanted)))
    led = _leading(columns, wanted)
    start = pairs.prefix(child, child.placement.id, PRIMARY if index is None else index.id)
    return _Path(start, index, led, is_exact=len(led) == len(wanted))


def _leading(columns: Sequence[tuple[ColumnId, bool]], wanted: set[ColumnId]) -> tuple[tuple[ColumnId, bool], ...]:
    count = next((n for n, (column, _) in enumerate(columns) if column not in wanted), len(columns))
    return tuple(columns[:count])


async def first_referring(work: Writing, claims: Sequence[Claim]) -> Claim | None:
    """The first of these claims that a page of rows breaks: one row that refers to what is lost is enough."""
    child, columns = claims[0].other, claims[0].constraint.reference_columns
    by_values: dict[Values | None, Claim] = {claim.values: claim for claim in claims}
    way = _way(_path(claims[0]), claims, work.env.storages)
    async for rows in stored_rows(work.transaction, work.env.table(child), way, columns):
        broken = [by_values[v] for v in (values_of(child, columns, row) for row in rows) if v in by_values]
        if broken:
            return min(broken, key=lambda claim: claim.order)
    return None


def _way(path: _Path, claims: Sequence[Claim], storages: int) -> Access:
    everywhere = tuple(range(1, storages + 1))
    lows = sorted({path.low(claim) for claim in claims})
    if path.columns and len(lows) <= RANGES_MAX:
        ranges = tuple((low, pairs.after(low)) for low in lows)
        return Access(path.index, ranges, everywhere, columns=tuple(c for c, _ in path.columns))
    child = claims[0].other
    start = pairs.prefix(child, child.placement.id)
    return Access(None, ((start, pairs.after(start)),), everywhere)
