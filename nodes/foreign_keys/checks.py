"""Claims of foreign keys brought to the store, when all that the statement writes is written.

    a reference   the pair that says that a row with these values is there: all must be found (`storage.references`)
    a loss        key ranges of an index of the table that refers: none may hold a pair
    .. no index   the rows themselves, page by page, until one refers to what is lost
    (`nodes.foreign_keys.scan_referencing`)

The first two are probes (`nodes.foreign_keys.probes`), which cost no round trip of their own.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from catalog.elements import ConstraintId
from nodes.execution.write_context import Writing, Written
from nodes.foreign_keys.enforced import Bonds, claims_of
from nodes.foreign_keys.probes import Probe, first_refusal
from nodes.foreign_keys.scan_referencing import Path, first_referring, path_to
from nodes.foreign_keys.violations import Claim
from nodes.store.pipeline import bytea_array
from storage import pairs
from storage.buckets import storage_of
from storage.mutations import Op
from storage.references import place_of
from storage.statements import get_sql, held_ranges_sql

CLAIMS_A_PROBE = 1000


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
        if same[0].demand.wants_row:
            probes += _references(work, same)
            continue
        path = path_to(same[0])
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


def _losses(work: Writing, path: Path, claims: Sequence[Claim]) -> Iterator[Probe]:
    by_low = {path.low(claim): claim for claim in claims}
    for part in _parts(by_low):
        params = (bytea_array(list(part)), bytea_array([pairs.after(low) for low in part]))
        for storage in range(1, work.env.storages + 1):
            yield Probe(held_ranges_sql(storage, claims[0].other.table_id), params, part, wants_all=False)


def _parts(claims: Mapping[bytes, Claim]) -> Iterator[dict[bytes, Claim]]:
    keys = sorted(claims)
    for place in range(0, len(keys), CLAIMS_A_PROBE):
        yield {key: claims[key] for key in keys[place : place + CLAIMS_A_PROBE]}
