"""Checks of foreign keys, made when all that the statement writes is written (`storage.integrity.references`). A
reference must find its row's pair; a loss must find no pair in key ranges of the table that refers. Both are probes,
which cost no round trip of their own. Without an index the rows are read (`nodes.foreign_keys.scan_referencing`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from catalog.descriptor import Descriptor
from catalog.elements import FOREIGN_KEY, PRIMARY, Constraint, ConstraintId
from nodes.execution.fairness import in_thread
from nodes.execution.writing.write_context import Writing
from nodes.foreign_keys.probes import Probe, first_refusal
from nodes.foreign_keys.scan_referencing import Path, first_referring, path_to
from nodes.foreign_keys.violations import Check
from nodes.store.pipeline import binary, bytea_array
from nodes.store.refusals import Retry
from storage import pairs
from storage.buckets import storage_of
from storage.integrity import references
from storage.statements import get_sql, held_ranges_sql, lookup

CHECKS_A_PROBE = 1000


async def write(work: Writing, *, commit: bool) -> None:
    """Do the operations of a statement, and check its foreign keys. Raises 23505, 23503, 23001, or 40001."""
    if not work.foreign_keys:
        await work.writer.write(work.ops, commit=commit)
        return
    lookups = await lookups_of(work)
    if not lookups.scans:
        await work.writer.write(work.ops, lookups.probes, commit=commit)
        return
    await work.writer.write(work.ops)
    if violated := await _violated(work, lookups):
        raise first_refusal(violated)
    if commit:
        await work.transaction.commit()


async def _violated(work: Writing, lookups: Lookups) -> list[Check]:
    violated = await work.writer.violated(lookups.probes) if lookups.probes else []
    return violated + [found for of in lookups.scans if (found := await first_referring(work, of)) is not None]


async def write_all(works: Sequence[Writing]) -> None:
    """Do the operations of several parts of one statement, and check the foreign keys of all when all is written."""
    for work in works:
        await work.writer.write(work.ops)
    violated: list[Check] = []
    for work in works:
        violated += await _violated(work, await lookups_of(work)) if work.foreign_keys else []
    if violated:
        raise first_refusal(violated)


async def write_part(work: Writing) -> list[Check]:
    """Do the operations of a part of a statement that inserts; the checks that are violated until more of it is."""
    probes = (await lookups_of(work)).probes if work.foreign_keys else ()
    await work.writer.write(work.ops)
    return await work.writer.violated(probes)


async def still_violated(work: Writing, checks: Sequence[Check]) -> list[Check]:
    return await work.writer.violated(lookups_for(work, checks).probes)


async def lookups_of(work: Writing) -> Lookups:
    """The lookups of a statement; those of many rows are found in the thread, for they take microseconds each."""
    if len(work.changed) <= CHECKS_A_PROBE:
        return lookups_for(work, checks_of(work))
    return await in_thread(lambda: lookups_for(work, checks_of(work)))


def checks_of(work: Writing) -> list[Check]:
    required = references.demands(work.descriptor, work.changed, work.foreign_keys)
    constraints = {demand.constraint.id: demand.constraint for demand in required}
    others = {constraint_id: _other(work, one) for constraint_id, one in constraints.items()}
    return [Check(demand, work.descriptor, others[demand.constraint.id]) for demand in required]


def _other(work: Writing, constraint: Constraint) -> Descriptor:
    """The other table of a foreign key, in a version that can be asked. Raises `Retry`. A version without its columns
    or index is too far from the foreign key's own (L9, L11): it can't see what newer ones write, so finding nothing
    proves nothing."""
    assert constraint.references is not None, constraint
    other = work.other(constraint.references)
    columns, indexes = {column.id for column in other.columns}, {PRIMARY, *(index.id for index in other.indexes)}
    refers_by = constraint.index if constraint.rule == FOREIGN_KEY else PRIMARY
    if refers_by not in indexes or not columns.issuperset(constraint.reference_columns):
        what = f"{work.descriptor} has foreign key {constraint.name}, and {other} lacks what it needs"
        raise Retry(f"the schema moved on: {what}", stale=True)
    return other


# -- from checks to lookups


@dataclass(frozen=True, slots=True)
class Lookups:
    """Lookups of a statement: keys that are known, and rows that must be looked through."""

    probes: tuple[Probe, ...] = ()
    scans: tuple[tuple[Check, ...], ...] = ()


def lookups_for(work: Writing, checks: Iterable[Check]) -> Lookups:
    probes: list[Probe] = []
    scans: list[tuple[Check, ...]] = []
    groups: dict[ConstraintId, list[Check]] = {}
    for check in checks:
        groups.setdefault(check.constraint.id, []).append(check)
    for same in map(tuple, groups.values()):
        if same[0].demand.wants_row:
            probes += _references(work, same)
            continue
        path = path_to(same[0])
        if path.is_exact:
            probes += _losses(work, path, same)
        else:
            scans.append(same)
    return Lookups(tuple(probes), tuple(scans))


def _references(work: Writing, checks: Sequence[Check]) -> Iterator[Probe]:
    by_storage: dict[int, dict[bytes, Check]] = {}
    buckets, storages = work.env.buckets, checks[0].other.placement.storage_count(work.env.storages)
    for check in checks:
        place = references.place_of(check.other, check.constraint, check.values, buckets)
        by_storage.setdefault(storage_of(place.bucket, storages, buckets), {})[place.key] = check
    for storage, by_key in sorted(by_storage.items()):
        sql = get_sql(storage, checks[0].other.table_id)
        for part in _parts(by_key):
            yield Probe(sql, binary(*lookup(part)), part, wants_all=True)


def _losses(work: Writing, path: Path, checks: Sequence[Check]) -> Iterator[Probe]:
    by_low = {path.low(check): check for check in checks}
    storages = checks[0].other.placement.storage_count(work.env.storages)
    for part in _parts(by_low):
        params = (bytea_array(list(part)), bytea_array([pairs.after(low) for low in part]))
        for storage in range(1, storages + 1):
            yield Probe(held_ranges_sql(storage, checks[0].other.table_id), params, part, wants_all=False)


def _parts(checks: Mapping[bytes, Check]) -> Iterator[dict[bytes, Check]]:
    keys = sorted(checks)
    for place in range(0, len(keys), CHECKS_A_PROBE):
        yield {key: checks[key] for key in keys[place : place + CHECKS_A_PROBE]}
