"""One rule of conflict: the explorer's transactions fail where the memory store's do."""

from itertools import product

import pytest

from lab.explorer.contents.effects import Effects
from lab.explorer.contents.numbered import Contents, Snapshot
from lab.explorer.contents.statements import Statement
from lab.explorer.model import Model
from lab.explorer.plans.small_tables import row_key_of
from lab.explorer.spaces.full_space import Plain
from storage.buckets import BUCKETS, storage_of
from storage.mutations import Op
from storage.pairs import after, prefix
from storage.store import MemoryStore, SerializationFailure, StoreError
from tests.lab.explorer.models import model

SMALL = [model(kind) for kind in ("index", "unique index", "required column")]
SMALL += [model(kind, partial=True) for kind in ("index", "unique index")]


def store_of(contents: Contents) -> MemoryStore:
    return MemoryStore(len(contents.pairs), pairs=contents.storages())


def commits(store: MemoryStore, effects: Effects, schema: int, first: Statement, second: Statement) -> bool:
    """Whether `second` commits on the memory store when `first` committed since it began."""
    described = effects.program.descriptors[schema]
    one, two = store.begin(), store.begin()
    for transaction, statement in ((one, first), (two, second)):
        ops: list[Op] = effects.operations(described, Snapshot(transaction.snapshot), statement) or []
        for op in ops:
            transaction.points.add((storage_of(op.bucket, store.storages, BUCKETS), op.key))
        start = prefix(described, described.placement.id)
        row = start + row_key_of(statement[1])
        transaction.scan(1, row, after(row))
        transaction.apply(ops)
    one.commit()
    try:
        two.commit()
    except (SerializationFailure, StoreError):
        return False
    return True


@pytest.mark.parametrize("small", SMALL, ids=lambda small: f"{'partial ' * small.partial}{small.kind_name}")
def test_two_transactions_conflict_as_in_the_memory_store(small: Model) -> None:
    """Every two statements of the filling version, from every contents at most one statement away from any start."""
    effects = Effects(small)
    schema = effects.program.stops[-1].schemas[3]
    tried = 0
    for contents in _some_contents(effects, schema):
        for (first, one), (second, two) in product(effects.choices(contents, (schema,)), repeat=2):
            expected = not one.written & two.touched and effects.effect(one.after, (schema,), second) is not None
            held = effects.known[contents]
            assert commits(store_of(held), effects, schema, first, second) == expected, (held, first, second)
            tried += 1
    assert tried > 40


def _some_contents(effects: Effects, schema: int) -> list[int]:
    found = effects.first_contents()
    found += [effect.after for contents in found for _, effect in effects.choices(contents, (schema,))]
    return list(dict.fromkeys(found))


def test_the_plain_space_refuses_with_40001() -> None:
    plain = Plain(Effects(model()))
    config = plain.start()
    for step in [
        ("given", 1, "-"),
        ("n1", "begin"),
        ("n2", "begin"),
        ("n1", "read", 1),
        ("n1", "write", ("delete", 1, 0)),
        ("n1", "commit"),
        ("n2", "read", 1),
    ]:
        assert plain.hindrance(config, step) is None
        config = plain.after(config, step)[0]
    why = plain.hindrance(config, ("n2", "write", ("insert", 1, 2)))
    assert str(why) == "40001: another transaction changed what it reads or writes"
