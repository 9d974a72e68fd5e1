"""One suite for both stores: the memory store of the lab and PostgreSQL do the same to the same operations."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from storage.mutations import Act, Op, delete_row, in_order, insert_row
from storage.pairs import after, prefix
from storage.store import DuplicateKey, MemoryStore, SerializationFailure
from tests.rounds import drawn
from tests.storage.postgres_store import Store, Transaction
from tests.storage.stage import BY_NAME, Stage, user

KEYS = [b"a", b"b", b"c"]
VALUES = [b"", b"v", b"w"]
OPS = st.builds(
    Op,
    st.sampled_from(Act),
    st.sampled_from([1, 2000]),
    st.sampled_from(KEYS),
    st.sampled_from(VALUES),
    storages=st.just(0),
)


@dataclass
class Both:
    """The two stores of one table."""

    memory: MemoryStore
    postgres: Store

    def run(self, ops: list[Op]) -> list[str]:
        return [outcome(store, ops) for store in (self.memory, self.postgres)]


def outcome(store: Store, ops: list[Op]) -> str:
    """Run one statement in a transaction: what became of it."""
    transaction = store.begin()
    try:
        transaction.apply(in_order(ops))
    except DuplicateKey as duplicate:
        transaction.rollback()
        return f"duplicate {duplicate.key!r}"
    transaction.commit()
    return "done"


def write_and_commit(transaction: Transaction, op: Op) -> None:
    """One store refuses the write, the other the commit."""
    transaction.apply([op])
    transaction.commit()


def key_in(stage: Stage, name: bytes) -> bytes:
    """The key of an entry of the stage's table."""
    return prefix(stage.now, stage.now.placement.id, BY_NAME.id) + name


@pytest.fixture
def both(stage: Stage) -> Both:
    return Both(MemoryStore(), stage.store())


STORES: list[Callable[[Both], Store]] = [
    pytest.param(lambda both: both.memory, id="memory"),
    pytest.param(lambda both: both.postgres, id="postgres"),
]


@drawn(few=15, many=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(statements=st.lists(st.lists(OPS, max_size=6, unique_by=lambda op: (op.bucket, op.key)), max_size=4))
def test_both_stores_do_the_same(stage: Stage, statements: list[list[Op]]) -> None:
    for storage in (1, 2):
        stage.sql(f"DELETE FROM storage_{storage}.kv_{stage.table_id}")
    both = Both(MemoryStore(), stage.store())
    for of_any_table in statements:
        ops = [op._replace(key=key_in(stage, op.key)) for op in of_any_table]
        memory, postgres = both.run(ops)
        assert memory.split()[0] == postgres.split()[0]
        assert both.memory.contents() == both.postgres.contents()


@pytest.mark.parametrize("which", STORES)
def test_a_row_inserted_is_read_in_key_order_and_deleted_without_a_trace(
    both: Both, stage: Stage, which: Callable[[Both], Store]
) -> None:
    store, rows = which(both), [user(stage.now, n, "ann") for n in range(20)]
    assert outcome(store, [op for row in rows for op in insert_row(stage.now, row)]) == "done"
    transaction, start = store.begin(), prefix(stage.now, stage.now.placement.id)
    for storage in (1, 2):
        keys = [key for key, _ in transaction.scan(storage, start, after(start))]
        assert keys
        assert keys == sorted(keys)
        assert transaction.get(storage, keys[0]) == b""
    transaction.rollback()
    assert outcome(store, [op for row in rows for op in delete_row(stage.now, row)]) == "done"
    assert store.contents() == [{}, {}]


@pytest.mark.parametrize("which", STORES)
def test_a_row_that_is_there_is_not_created_again(both: Both, stage: Stage, which: Callable[[Both], Store]) -> None:
    ops = insert_row(stage.now, user(stage.now, 1, "ann"))
    assert outcome(which(both), ops) == "done"
    assert outcome(which(both), ops).startswith("duplicate")


@pytest.mark.parametrize("which", STORES)
def test_the_same_key_twice_in_one_statement_is_a_duplicate(
    both: Both, stage: Stage, which: Callable[[Both], Store]
) -> None:
    ops = insert_row(stage.now, user(stage.now, 1, "ann")) + insert_row(stage.now, user(stage.now, 1, "bob"))
    assert outcome(which(both), ops).startswith("duplicate")
    assert which(both).contents() == [{}, {}]


@pytest.mark.parametrize("which", STORES)
def test_of_two_transactions_that_write_one_key_the_later_is_refused(
    both: Both, stage: Stage, which: Callable[[Both], Store]
) -> None:
    store, key = which(both), key_in(stage, b"k")
    op = Op(Act.PUT, 1, key, b"first")
    first, second = store.begin(), store.begin()
    first.apply([op])
    first.commit()
    with pytest.raises(SerializationFailure):
        write_and_commit(second, Op(Act.PUT, 1, key, b"second"))
    second.rollback()
    assert store.contents()[0] == {key: b"first"}


@pytest.mark.parametrize("which", STORES)
def test_a_tombstone_found_is_written_again_so_that_a_concurrent_put_is_refused(
    both: Both, stage: Stage, which: Callable[[Both], Store]
) -> None:
    """R5: the new version of the tombstone is what the put's transaction meets."""
    store, key = which(both), key_in(stage, b"k")
    assert outcome(store, [Op(Act.TOMBSTONE, 1, key)]) == "done"
    putting, removing = store.begin(), store.begin()
    removing.apply([Op(Act.TOMBSTONE, 1, key)])
    removing.commit()
    with pytest.raises(SerializationFailure):
        write_and_commit(putting, Op(Act.PUT, 1, key, b"v"))
    putting.rollback()
    assert store.contents()[0] == {key: None}


def fill(store: Store, op: Op) -> None:
    """Put a pair where none is, as a fill does: PostgreSQL knows no difference, the memory store does."""
    if isinstance(store, MemoryStore):
        assert store.fill(op)
    else:
        assert outcome(store, [op]) == "done"


@pytest.mark.parametrize("which", STORES)
@pytest.mark.parametrize("act", [Act.REMOVE, Act.REMOVE_UNIQUE])
def test_a_removal_misses_what_a_fill_has_put_since_its_snapshot(
    both: Both, stage: Stage, which: Callable[[Both], Store], act: Act
) -> None:
    """T3: this is why a version newer than the snapshot is not used."""
    store, key, other = which(both), key_in(stage, b"k"), key_in(stage, b"l")
    removing = store.begin()
    fill(store, Op(Act.PUT, 1, key, b"v"))
    removing.apply([Op(Act.PUT, 1, other, b"w"), Op(act, 1, key, b"v")])
    removing.commit()
    assert store.contents()[0] == {key: b"v", other: b"w"}


@pytest.mark.parametrize("which", STORES)
def test_what_is_removed_twice_is_gone(both: Both, stage: Stage, which: Callable[[Both], Store]) -> None:
    store, key = which(both), key_in(stage, b"k")
    assert outcome(store, [Op(Act.PUT, 1, key, b"v")]) == "done"
    removing = store.begin()
    removing.apply([Op(Act.REMOVE, 1, key)])
    removing.apply([Op(Act.REMOVE, 1, key)])
    removing.commit()
    assert store.contents()[0] == {}


@pytest.mark.parametrize("which", STORES)
def test_a_put_over_what_a_fill_has_put_since_its_snapshot_is_refused(
    both: Both, stage: Stage, which: Callable[[Both], Store]
) -> None:
    store, key = which(both), key_in(stage, b"k")
    putting = store.begin()
    putting.apply([Op(Act.REMOVE, 1, key)])
    fill(store, Op(Act.PUT, 1, key, b"v"))
    with pytest.raises(SerializationFailure):
        write_and_commit(putting, Op(Act.PUT, 1, key, b"w"))
    putting.rollback()
    assert store.contents()[0] == {key: b"v"}


def test_entries_lie_on_their_rows_storage(stage: Stage) -> None:
    stage.publish(stage.now.with_index(BY_NAME))
    stage.publish(stage.now.with_index_state(BY_NAME.id, BY_NAME.state.PUBLIC))
    stage.insert(user(stage.now, n, f"name {n}") for n in range(30))
    assert stage.violations() == []
