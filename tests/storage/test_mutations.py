"""What statements do to pairs in each state, and that the clauses notice what is wrong."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalog.descriptor import Descriptor
from catalog.elements import Column, ColumnId, Index, IndexColumn, IndexId, Placement, PlacementId, State, TableId
from catalog.values.types import SqlType
from storage import encoding
from storage.buckets import BUCKETS, storage_of
from storage.integrity.clauses import check
from storage.mutations import Act, Op, TableNotWritable, delete_row, in_order, insert_row, update_row
from storage.pairs import StoredRow, column_key, index_entry, name_of, prefix, row_bucket, row_key, rows_of
from storage.store import DuplicateKey, MemoryStore, SerializationFailure
from tests.rounds import drawn

NAME, AGE = ColumnId(2), ColumnId(3)
PLAIN = Descriptor(
    table_id=TableId(7),
    name="users",
    version=1,
    columns=(
        Column(ColumnId(1), "id", SqlType.BIGINT, not_null=True),
        Column(NAME, "name", SqlType.TEXT),
        Column(AGE, "age", SqlType.INTEGER),
    ),
    primary_key=(ColumnId(1),),
    next_column_id=ColumnId(4),
)
BY_NAME = Index(IndexId(1), "by_name", (IndexColumn(NAME),), state=State.DELETE_ONLY)
DELETE_ONLY = PLAIN.with_index(BY_NAME)
FILLING = DELETE_ONLY.with_index_state(BY_NAME.id, State.WRITE_ONLY, filling=True)
PUBLIC = FILLING.with_index_state(BY_NAME.id, State.PUBLIC)
ROWS = prefix(PLAIN, PLAIN.placement.id)
UNIQUE = replace(PUBLIC, indexes=(replace(PUBLIC.indexes[0], unique=True),))


def text(value: str | None) -> bytes:
    return encoding.encode(SqlType.TEXT, value)


def user(number: int, name: str | None, age: int | None = 1) -> StoredRow:
    columns = {NAME: text(name), AGE: encoding.encode(SqlType.INTEGER, age)}
    return StoredRow(row_key(PLAIN, [number]), columns)


def entry(row: StoredRow, descriptor: Descriptor = PUBLIC) -> bytes:
    return index_entry(descriptor, descriptor.placement, descriptor.indexes[0], row)[0]


def acts(ops: list[Op], key: bytes) -> list[Act]:
    return [op.act for op in ops if op.key == key]


def run(store: MemoryStore, ops: list[Op]) -> None:
    transaction = store.begin()
    transaction.apply(in_order(ops))
    transaction.commit()


@pytest.mark.parametrize(("descriptor", "inserted", "deleted"), [
    pytest.param(DELETE_ONLY, [], [Act.REMOVE], id="delete-only: never put, always removed"),
    pytest.param(FILLING, [Act.PUT], [Act.TOMBSTONE], id="filling: a removal leaves a tombstone (R5)"),
    pytest.param(PUBLIC, [Act.PUT], [Act.REMOVE], id="public: put and removed"),
])  # fmt: skip
def test_an_index_entry_of_an_inserted_and_a_deleted_row(
    descriptor: Descriptor, inserted: list[Act], deleted: list[Act]
) -> None:
    row = user(1, "ann")
    assert acts(insert_row(descriptor, row), entry(row)) == inserted
    assert acts(delete_row(descriptor, row), entry(row)) == deleted


@pytest.mark.parametrize(("descriptor", "old", "new"), [
    pytest.param(DELETE_ONLY, [Act.REMOVE], [], id="delete-only removes the old one only"),
    pytest.param(FILLING, [Act.TOMBSTONE], [Act.PUT], id="filling"),
    pytest.param(PUBLIC, [Act.REMOVE], [Act.PUT], id="public"),
])  # fmt: skip
def test_an_index_entry_when_its_source_is_updated(descriptor: Descriptor, old: list[Act], new: list[Act]) -> None:
    before, after = user(1, "ann"), user(1, "bob")
    ops = update_row(descriptor, before, {NAME: text("bob")})
    assert (acts(ops, entry(before)), acts(ops, entry(after))) == (old, new)


def test_an_update_of_another_column_leaves_the_entry_alone() -> None:
    ops = update_row(FILLING, user(1, "ann", 1), {AGE: encoding.encode(SqlType.INTEGER, 2)})
    assert len(ops) == 1, "only the pair of age is put"


def test_a_change_of_key_moves_every_pair_also_those_the_version_cannot_name() -> None:
    hidden = replace(PLAIN, columns=(*PLAIN.columns[:2], replace(PLAIN.columns[2], state=State.DELETE_ONLY)))
    row, moved = user(1, "ann", 5), row_key(PLAIN, [2])
    ops = update_row(hidden, row, {}, new_key=moved)
    age = column_key(prefix(hidden, hidden.placement.id), moved, AGE)
    assert [op.value for op in ops if op.key == age] == [row.columns[AGE]]


def test_a_row_that_moves_under_a_fill_takes_along_what_the_fill_would_put() -> None:
    """Its new place may lie in a range that is filled already (found by the explorer, C2)."""
    fill_value = encoding.encode(SqlType.INTEGER, 7)
    filling = replace(
        PLAIN.columns[2], state=State.WRITE_ONLY, added_with_default=True, fill_value=fill_value, filling=True
    )
    adding = replace(PLAIN, columns=(*PLAIN.columns[:2], filling))
    row, moved = StoredRow(row_key(PLAIN, [1]), {NAME: text("ann")}), row_key(PLAIN, [2])
    ops = update_row(adding, row, {}, new_key=moved)
    age = column_key(prefix(adding, adding.placement.id), moved, AGE)
    assert [op.value for op in ops if op.key == age] == [fill_value]


def test_a_row_that_is_not_filled_yet_has_the_same_entry_for_a_node_in_delete_only() -> None:
    """Or the entry that a node in write-only has put outlives the row (found by a walk, C5)."""
    fill_value = encoding.encode(SqlType.INTEGER, 7)
    index = Index(IndexId(1), "by_age", (IndexColumn(AGE), IndexColumn(NAME)), state=State.DELETE_ONLY)
    age = replace(PLAIN.columns[2], state=State.DELETE_ONLY, added_with_default=True, fill_value=fill_value)
    early = replace(PLAIN, columns=(*PLAIN.columns[:2], age), indexes=(index,))
    filling = {"state": State.WRITE_ONLY, "filling": True}
    columns, indexes = (*PLAIN.columns[:2], replace(age, **filling)), (replace(index, **filling),)
    later = replace(PLAIN, columns=columns, indexes=indexes, version=2)
    store, row = MemoryStore(), StoredRow(row_key(PLAIN, [1]), {NAME: text("ann")})
    run(store, insert_row(early, row))
    run(store, update_row(later, row, {NAME: text("bob")}))
    assert check(early, store.contents()) == check(later, store.contents()) == []
    run(store, delete_row(early, StoredRow(row.key, {NAME: text("bob")})))
    assert check(later, store.contents()) == []


def test_a_row_that_moves_may_take_a_value_to_where_a_deletion_has_been() -> None:
    """So the values of a dropped column are deleted until a snapshot shows none."""
    leaving = replace(PLAIN, columns=(*PLAIN.columns[:2], replace(PLAIN.columns[2], state=State.DELETE_ONLY)))
    store, row = MemoryStore(storages=1), user(5, "ann", 1)
    run(store, insert_row(PLAIN, row))
    first_range_is_done = column_key(ROWS, row_key(PLAIN, [1]), AGE)
    run(store, update_row(leaving, row, {}, new_key=row_key(PLAIN, [1])))
    assert store.pairs[0][first_range_is_done] == row.columns[AGE]


@pytest.mark.parametrize(("state", "kept"), [
    pytest.param(State.DELETE_ONLY, [], id="delete-only: the old copy goes, none is put"),
    pytest.param(State.WRITE_ONLY, [b"", text("bob"), user(1, None).columns[AGE]], id="write-only: all of it is put"),
])  # fmt: skip
def test_a_row_in_a_placement_that_is_not_read_is_one_copy(state: State, kept: list[bytes]) -> None:
    """An update of one column must not leave a part of a row that the fill has not put yet (explorer, C1)."""
    copies = replace(PLAIN, placements=(*PLAIN.placements, Placement(PlacementId(2), state=state)))
    store, row = MemoryStore(storages=1), user(1, "ann")
    run(store, insert_row(PLAIN, row))
    run(store, update_row(copies, row, {NAME: text("bob")}))
    start = prefix(copies, PlacementId(2))
    assert [v for k, v in sorted(store.pairs[0].items()) if k.startswith(start)] == kept
    assert check(copies, store.contents()) == []


def test_a_copy_with_another_value_breaks_c5() -> None:
    copies = replace(PLAIN, placements=(*PLAIN.placements, Placement(PlacementId(2), state=State.WRITE_ONLY)))
    store, row = MemoryStore(storages=1), user(1, "ann")
    run(store, insert_row(copies, row))
    store.pairs[0][column_key(prefix(copies, PlacementId(2)), row.key, NAME)] = text("zoe")
    assert [v.clause for v in check(copies, store.contents())] == ["C5"]


def test_a_delete_only_table_takes_deletes_only() -> None:
    leaving = replace(PLAIN, state=State.DELETE_ONLY)
    with pytest.raises(TableNotWritable, match="table users is delete-only: it takes no insert"):
        insert_row(leaving, user(1, "ann"))
    assert len(delete_row(leaving, user(1, "ann"))) == 3


def test_a_unique_entry_lies_where_its_values_say_and_refuses_another_row() -> None:
    store = MemoryStore()
    run(store, insert_row(UNIQUE, user(1, "ann")))
    with pytest.raises(DuplicateKey):
        run(store, insert_row(UNIQUE, user(2, "ann")))
    run(store, insert_row(UNIQUE, user(3, None)) + insert_row(UNIQUE, user(4, None)))
    assert check(UNIQUE, store.contents()) == []


def test_a_row_on_two_storages_breaks_c6_once_and_nothing_else_where_each_copy_has_its_place() -> None:
    spread = replace(PLAIN.placement, sharding_key=(AGE,))
    guard = Index(IndexId(1), "guard", (IndexColumn(PLAIN.primary_key[0]),), unique=True)
    at = replace(PLAIN, placements=(spread,), indexes=(guard,))
    copies = [next(user(1, "ann", n) for n in range(9) if lies_on(at, user(1, "ann", n)) == s) for s in (1, 2)]
    alone = [MemoryStore(), MemoryStore()]
    for store, row in zip(alone, copies, strict=True):
        run(store, insert_row(at, row))
        assert check(at, store.contents()) == []
    both = [one | other for one, other in zip(*(store.contents() for store in alone), strict=True)]
    assert [str(v) for v in check(at, both)] == ["C6: row id = 1 is there more than once, on different storages"]


def lies_on(descriptor: Descriptor, row: StoredRow) -> int:
    return storage_of(row_bucket(descriptor, descriptor.placement, row, BUCKETS), 2)


def test_two_rows_exchange_unique_values_in_one_statement() -> None:
    store = MemoryStore()
    ann, bob = user(1, "ann"), user(2, "bob")
    run(store, insert_row(UNIQUE, ann) + insert_row(UNIQUE, bob))
    run(store, update_row(UNIQUE, ann, {NAME: text("bob")}) + update_row(UNIQUE, bob, {NAME: text("ann")}))
    assert check(UNIQUE, store.contents()) == []


def test_a_transaction_that_read_what_another_changed_is_refused() -> None:
    store = MemoryStore(storages=1)
    first, second = store.begin(), store.begin()
    ops = insert_row(PLAIN, user(1, "ann"))
    low = prefix(PLAIN, PLAIN.placement.id)
    assert second.scan(1, low, low + b"\xff") == []
    first.apply(ops)
    first.commit()
    second.apply(insert_row(PLAIN, user(2, "bob")))
    with pytest.raises(SerializationFailure):
        second.commit()


@pytest.mark.parametrize(("break_it", "clause", "why"), [
    pytest.param(lambda pairs, row: pairs.pop(entry(row)), "C4", "index by_name has no entry for row id = 1",
        id="deleted"),
    pytest.param(lambda pairs, row: pairs.update({entry(user(1, "zoe")): b""}), "C5",
        "index by_name has an entry for row id = 1 with values the row no longer has", id="stale"),
    pytest.param(lambda pairs, row: pairs.update({entry(user(9, "ann")): b""}), "C5",
        "index by_name has an entry for row id = 9, which does not exist", id="dangling"),
    pytest.param(lambda pairs, row: pairs.update({column_key(ROWS, row_key(PLAIN, [9]), AGE): b"\2"}), "C1",
        "column age has a value for row id = 9, which does not exist", id="a value without its row"),
    pytest.param(lambda pairs, row: pairs.update({entry(user(9, "ann")): None}), "C7",
        "a tombstone is left in index by_name although the change has ended", id="a tombstone after the end"),
    pytest.param(lambda pairs, row: pairs.update({b"?": b""}), "C7", "too short for a pair", id="garbage"),
])  # fmt: skip
def test_each_broken_clause_is_named(break_it, clause: str, why: str) -> None:
    store, row = MemoryStore(storages=1), user(1, "ann")
    run(store, insert_row(PUBLIC, row))
    assert check(PUBLIC, store.contents()) == []
    break_it(store.pairs[0], row)
    found = check(PUBLIC, store.contents())
    assert [v.clause for v in found] == [clause]
    assert why in str(found[0])


def test_entries_of_an_index_the_schema_does_not_contain_break_c3() -> None:
    store = MemoryStore()
    run(store, insert_row(PUBLIC, user(1, "ann")))
    assert [v.clause for v in check(PLAIN, store.contents())] == ["C3"]


NAMES = st.sampled_from(["a", "b", None])
STATEMENT = st.tuples(st.sampled_from(["insert", "update", "move", "delete"]), st.integers(1, 3), NAMES)
NEIGHBOURS = [(PLAIN, DELETE_ONLY), (DELETE_ONLY, FILLING), (FILLING, PUBLIC), (PUBLIC, PUBLIC)]


@pytest.mark.parametrize("versions", NEIGHBOURS, ids=["absent", "delete-only", "filling", "public"])
@drawn(few=30, many=100)
@given(statements=st.lists(st.tuples(st.integers(0, 1), STATEMENT), max_size=12))
def test_adjacent_versions_keep_each_others_clauses(versions, statements) -> None:
    """The heart of F1, as a property: nodes one version apart write in any order, and both schemas stay consistent.
    Integrity of an index that has just become public needs the fill, so C4 is judged where both versions put."""
    store = MemoryStore()
    for which, (kind, number, name) in statements:
        run(store, one_statement(store, versions[which], kind, number, name))
    for version in versions:
        unfinished = frozenset({"index 1"})
        broken = {v.clause for v in check(version, store.contents(), unfinished=unfinished)}
        assert not broken


def test_a_version_in_between_left_out_breaks_a_clause() -> None:
    """The property above can fail: absent and write-only side by side leave an entry nobody removes."""
    store, row = MemoryStore(), user(1, "ann")
    run(store, insert_row(FILLING, row))
    run(store, delete_row(PLAIN, row))
    assert [v.clause for v in check(FILLING, store.contents())] == ["C5"]


def one_statement(store: MemoryStore, descriptor: Descriptor, kind: str, number: int, name: str | None) -> list[Op]:
    rows = {r.key: r for p in store.contents() for r in rows_of(descriptor, descriptor.placement, sorted(p.items()))}
    old = rows.get(row_key(descriptor, [number]))
    if kind == "insert":
        return [] if old else insert_row(descriptor, user(number, name))
    if old is None:
        return []
    if kind == "delete":
        return delete_row(descriptor, old)
    if kind == "update":
        return update_row(descriptor, old, {NAME: text(name)})
    target = row_key(descriptor, [number % 3 + 1])
    return [] if target in rows else update_row(descriptor, old, {}, new_key=target)


@drawn(few=30, many=100)
@given(
    number=st.integers(-(2**63), 2**63 - 1),
    name=st.none() | st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])),
)
def test_a_key_says_whose_it_is(number: int, name: str | None) -> None:
    row = user(number, name)
    assert name_of(PUBLIC, entry(row)).row_key == row.key
    assert name_of(PUBLIC, column_key(ROWS, row.key, AGE)).column == AGE
