"""Descriptors: immutable versions, their JSON, their hashes, and the rule table they are read by."""

import copy
import pickle
from dataclasses import replace

import pytest

from catalog.descriptor import Descriptor, UnknownElement, from_json
from catalog.elements import (
    Column,
    ColumnId,
    Constraint,
    ConstraintId,
    Index,
    IndexColumn,
    IndexId,
    Kind,
    State,
    TableId,
)
from catalog.hashing import schema_hash, sharding_hash
from catalog.states import UndefinedState, Write, rule
from catalog.values.types import SqlType

USERS = Descriptor(
    table_id=TableId(7),
    name="users",
    version=3,
    columns=(
        Column(ColumnId(1), "id", SqlType.BIGINT, not_null=True, identity=True),
        Column(ColumnId(2), "name", SqlType.TEXT, fill_value=b"\x01x\x00", default="'x'"),
    ),
    primary_key=(ColumnId(1),),
    constraints=(Constraint(ConstraintId(1), "short", "check", (ColumnId(2),), "length(name) < 9"),),
    next_column_id=ColumnId(3),
)
BY_NAME = Index(IndexId(1), "by_name", (IndexColumn(ColumnId(2), descending=True),), state=State.DELETE_ONLY)


def test_json_brings_back_an_equal_descriptor() -> None:
    indexed = USERS.with_index(BY_NAME)
    assert from_json(indexed.to_json()) == indexed


def test_each_edit_is_the_next_version_and_leaves_the_old_one_alone() -> None:
    indexed = USERS.with_index(BY_NAME)
    public = indexed.with_index_state(BY_NAME.id, State.PUBLIC)
    gone = public.without_index(BY_NAME.id)
    assert [d.version for d in (USERS, indexed, public, gone)] == [3, 4, 5, 6]
    assert (indexed.public_indexes, len(public.public_indexes), gone.indexes) == ((), 1, ())
    assert gone.next_index_id == 2, "an id is never used again"


def test_a_name_that_is_not_there_is_named() -> None:
    with pytest.raises(UnknownElement, match="there is no index by_age of users@3"):
        USERS.index_named("by_age")


def test_the_hash_says_what_a_schema_is_and_not_when() -> None:
    assert schema_hash(USERS) == schema_hash(replace(USERS, version=9))
    assert schema_hash(USERS) != schema_hash(USERS.with_index(BY_NAME))
    assert sharding_hash(USERS) == sharding_hash(USERS.with_index(BY_NAME))
    assert len(schema_hash(USERS)) == 16


@pytest.mark.parametrize(
    ("kind", "state", "insert", "update", "delete"),
    [
        pytest.param(Kind.INDEX, State.DELETE_ONLY, Write.NOTHING, Write.REMOVE_OLD, Write.REMOVE, id="only removed"),
        pytest.param(Kind.INDEX, State.WRITE_ONLY, Write.PUT, Write.REPLACE, Write.REMOVE, id="written, not read"),
        pytest.param(
            Kind.REQUIRED_COLUMN,
            State.WRITE_ONLY,
            Write.PUT_DEFAULT,
            Write.NOTHING,
            Write.REMOVE,
            id="an update leaves a filling column to the fill",
        ),
        pytest.param(Kind.INDEX, State.ABSENT, Write.NOTHING, Write.NOTHING, Write.NOTHING, id="absent is unknown"),
    ],
)
def test_the_rule_table(kind: Kind, state: State, insert: Write, update: Write, delete: Write) -> None:
    found = rule(kind, state)
    assert (found.insert, found.update, found.delete) == (insert, update, delete)


def test_a_constraint_is_never_delete_only() -> None:
    with pytest.raises(UndefinedState, match="a constraint is never delete-only"):
        rule(Kind.CONSTRAINT, State.DELETE_ONLY)


def test_what_follows_from_a_version_is_found_once_and_is_no_part_of_it() -> None:
    asked, fresh = USERS.next_version(), USERS.next_version()
    calls: list[int] = []

    def facts(descriptor: Descriptor) -> int:
        calls.append(descriptor.version)
        return 7

    assert (asked.fact(facts), asked.fact(facts), calls) == (7, 7, [4])
    assert asked.key_columns == (USERS.columns[0],)
    assert (asked, hash(asked), repr(asked)) == (fresh, hash(fresh), repr(fresh))
    again = pickle.loads(pickle.dumps(asked))  # noqa: S301 - our own bytes
    assert again == copy.deepcopy(asked) == fresh
    assert len(pickle.dumps(asked)) == len(pickle.dumps(fresh)), "facts are not carried along"
    assert replace(asked, primary_key=(ColumnId(2),)).key_columns == (USERS.columns[1],), "nor into another version"
