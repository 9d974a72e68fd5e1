"""The pairs of a table in a cluster in memory, and every clause that they break."""

from dataclasses import replace

from catalog.descriptor import Descriptor
from catalog.elements import TableId
from lab.cluster.world import World
from storage.integrity.clauses import Referenced, Violation, check


def violations(world: World, table: TableId, descriptor: Descriptor) -> list[Violation]:
    """Every clause that the pairs break under one version: of a foreign key also where only the parent bears it."""
    found = _check(world, descriptor, referenced(world, descriptor))
    for foreign_key in descriptor.referenced_by:
        assert foreign_key.references is not None, foreign_key
        child = world.control.newest(foreign_key.references)
        is_borne = any(one.id == foreign_key.partner for one in child.constraints)
        if not is_borne and {column.id for column in child.columns}.issuperset(foreign_key.reference_columns):
            seen = replace(child, constraints=(foreign_key.mirrored(descriptor.table_id),))
            found += _check(world, seen, [Referenced(descriptor, _storages(world, table), world.store.storages)])
    return found


def _check(world: World, descriptor: Descriptor, referenced: list[Referenced]) -> list[Violation]:
    return check(
        descriptor,
        _storages(world, descriptor.table_id),
        unfinished=frozenset(world.untidy),
        buckets=world.store.buckets,
        referenced=referenced,
        first=world.store.storages,
    )


def _storages(world: World, table: TableId) -> list[dict[bytes, bytes | None]]:
    return [dict(pairs) for pairs in world.pairs(table)]


def referenced(world: World, descriptor: Descriptor) -> list[Referenced]:
    tables = {one.references for one in descriptor.foreign_keys} - {descriptor.table_id, None}
    return [
        Referenced(world.control.newest(table), _storages(world, table), world.store.storages)
        for table in sorted(table for table in tables if table is not None)
    ]
