"""A compiled `get` answers as the general way does, which a traced request goes, and sees what changed meanwhile."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from catalog.descriptor import Descriptor
from catalog.elements import Column, ColumnId, State
from catalog.hashing import schema_hash, sharding_hash
from catalog.values.types import SqlType
from nodes.client import Crud
from nodes.crud.keyed_gets import KeyedGet
from nodes.router.compiled import COMPILED_MAX, CompiledRequests
from tests.nodes.conftest import Cluster
from tests.nodes.crud.test_stale_routers import BOTH, ROUNDS_MAX, publish, respread, swapped
from tests.nodes.execution.test_point_read import COLUMNS, PRECISE
from tests.nodes.within import Within, within

Get = Callable[..., Any]
KEYS = ["1", '"1"', "[1]", '{"id": 1}', "-2", "3", "null", "7.5", "true", '"x"', "[1, 2]", "[]", '{"x": 1}', "9e99",
        "[[1]]", "99999999999999999999", '"' + "1" * 3000 + '"', '" 1 "']  # fmt: skip
KEYS_BY_TYPE = {
    "text": ['"ä"', '"b "', '""', "7", "null", '"' + "k" * 5000 + '"'],
    "varchar(3)": ['"abc"', '"abcd"', '"a"'],
    "char(3)": ['"a"', '"a  "', '"abcd"'],
    "numeric(6, 3)": ["1.5", '"1.500"', "1.50049", '"NaN"', "1e30"],
    "double precision": ["0.1", '"-0"', '"NaN"', "0", "1e999"],
    "date": ['"2020-02-29"', '"today"', '"2020-02-30"'],
    "timestamp(3)": ['"2024-01-01 00:00:00.124"', '"2024-01-01 00:00:00.1244"', '"2024-01-01T00:00:00.125"', '"now"'],
    "timestamptz(0)": ['"2024-01-01 00:00:00Z"', '"2024-01-01 01:00:00.4+01"', '"2024-01-01 00:00:01"'],
    "time(0)": ['"10:00"', '"10:00:00.4"', '"23:59:59.5"', '"24:00"'],
    "uuid": ['"00000000-0000-0000-0000-00000000000A"', '"x"'],
    "boolean": ["true", '"t"', '"yes"', "2"],
}


@pytest.fixture
def both_ways(cluster: Cluster) -> Any:
    """The answer of a `get` by both ways, which is the same: it is compiled from its second time on."""
    with cluster.connect() as plain, cluster.connect(options="-c schemalab.trace=on") as traced:

        def get(table: str, key: str, options: str | None = None) -> Any:
            ask = "SELECT crud.get(%s, %s, %s)"
            found = [c.execute(ask, [table, key, options]).fetchone() for c in (plain, plain, traced)]
            assert found[0] == found[1] == found[2], key
            return found[0][0]  # type: ignore[index]

        yield get


def test_every_type_is_answered_alike(cluster: Cluster, both_ways: Get):
    names = {SqlType.CHAR: "char(3)", SqlType.NUMERIC: "numeric(6, 3)", **PRECISE}
    table = cluster.table(", ".join(["id bigint PRIMARY KEY", *(f"c{n} {names.get(t, t.value)}"
                                                               for n, t in enumerate(COLUMNS))]))  # fmt: skip
    with cluster.connect() as connection:
        connection.execute(f"INSERT INTO {table} VALUES (1, {', '.join(COLUMNS.values())})")
        connection.execute(f"INSERT INTO {table} (id, c4) VALUES (-2, 'NaN')")
    for options in (None, '{"fields": ["c3", "id", "c3"]}', '{"add_space_schema_hash": true}', '{"fields": ["x"]}'):
        both_ways(table, "1")
        answers = [both_ways(table, key, options) for key in KEYS]
    assert {answer["class"] for answer in answers} == {"FlattenError", "UnknownFieldError"}
    assert [len(both_ways(table, key).get("rows", "-")) for key in ("1", "-2", "3", "7.5")] == [1, 1, 0, 1]


@pytest.mark.parametrize("of", KEYS_BY_TYPE)
def test_every_type_of_key_is_found_alike(cluster: Cluster, both_ways: Get, of: str):
    table = cluster.table(f"k {of} PRIMARY KEY, a int")
    with cluster.connect() as connection:
        for number, key in enumerate(KEYS_BY_TYPE[of]):
            connection.execute("SELECT crud.insert(%s, %s)", [table, f"[{key}, {number}]"])
    both_ways(table, KEYS_BY_TYPE[of][0])
    answers = [both_ways(table, key) for key in KEYS_BY_TYPE[of]]
    assert answers[0]["rows"][0][1] == 0
    assert not {answer.get("code") for answer in answers} & {"XX000"}


def test_keys_of_several_columns_and_rows_elsewhere_than_their_key_says(cluster: Cluster, both_ways: Get):
    for options, key in (("", "a, b"), (") WITH (sharding_key = 'c'", "a, b"), (") WITH (sharding_key = 'a'", "a, b")):
        table = cluster.table(f"a int, b text, c int, PRIMARY KEY ({key}){options}")
        with cluster.connect() as connection:
            connection.execute(f"INSERT INTO {table} VALUES (1, 'x', 7)")
        for given in ('[1, "x"]', '{"b": "x", "a": 1}'):
            assert both_ways(table, given)["rows"] == [[1, "x", 7]]
        assert both_ways(table, '{"a": 1}')["class"] == "FlattenError"


@pytest.mark.parametrize("is_required", [False, True], ids=["optional", "required"])
def test_a_column_is_seen_in_its_public_state_alone(cluster: Cluster, both_ways: Get, is_required: bool):
    table = cluster.table("id int PRIMARY KEY, a int")
    with cluster.connect() as connection:
        connection.execute(f"INSERT INTO {table} VALUES (1, 10)")
    only_c = '{"fields": ["c"]}'
    states = [State.DELETE_ONLY, *([State.WRITE_ONLY] if is_required else []), State.PUBLIC]
    both_ways(table, "1")
    for state in [*states, *states[-2::-1]]:
        now = cluster.descriptor(table)
        others = tuple(column for column in now.columns if column.id != 3)
        made = Column(ColumnId(3), "c", SqlType.INTEGER, state=state)
        cluster.publish(now.next_version(columns=(*others, made), next_column_id=ColumnId(4)))
        found = both_ways(table, "1")
        is_public = state is State.PUBLIC
        assert [one["name"] for one in found["metadata"]] == ["id", "a", *(["c"] if is_public else [])]
        assert found["rows"] == [[1, 10, *([None] if is_public else [])]]
        answer = both_ways(table, "1", only_c)
        assert answer.get("rows") == ([[None]] if is_public else None)
        assert is_public or answer["class"] == "UnknownFieldError"


@pytest.mark.parametrize("change", [lambda d: swapped(d, "a", "b"), respread], ids=["names", "sharding"])
def test_a_change_in_between_is_refused_reloaded_and_read_with_the_new_version(
    cluster: Cluster, change: Callable[[Descriptor], Descriptor]
):
    table = cluster.table(f"id int PRIMARY KEY, a text, b text{BOTH}")
    with Crud(cluster.address("n1"), timeout=60) as crud:
        crud.insert(table, [1, "A", "B"])
        for _ in range(ROUNDS_MAX):
            publish(cluster, change(cluster.descriptor(table)))
            first = cluster.descriptor(table).public_columns[1].name
            for _ in range(3):  # the last of them by the compiled way
                (found,) = crud.get(table, 1, add_space_schema_hash=True).objects()
                assert found[first] == "A"
            stats = crud.stats(table)
            assert stats["mismatches"] == stats["retries"]
            if stats["mismatches"]:
                return
    raise AssertionError("no request was ever refused")


def test_it_is_one_batch_that_enters_one_storage_with_the_hashes_of_its_options(cluster: Cluster):
    table = cluster.table("id bigint PRIMARY KEY, a int")
    descriptor = cluster.descriptor(table)

    async def work(node: Within) -> None:
        await node.run(f"INSERT INTO {table} VALUES (1, 10)")
        for options, schema in (("{}", None), ('{"add_space_schema_hash": true}', schema_hash(descriptor).encode())):
            for _ in range(2):
                await node.run(f"SELECT crud.get('{table}', '1', '{options}')")
            (batch,) = node.batches
            begin, door, get, commit = batch
            assert (begin.sql, commit.sql) == ("BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY", "COMMIT")
            (storage,) = {n for n in (1, 2) if f"storage_{n}.kv_" in get.sql}
            assert door.sql == f"SELECT storage_{storage}.enter($1, $2, $3, $4, $5)"
            assert door.params[2:4] == (schema, sharding_hash(descriptor).encode())
        kept = [made for _, made in node.session.env.router.compiled._known.values()]
        assert sum(isinstance(made, KeyedGet) for made in kept) == 1

    within(cluster, work)


def test_what_is_compiled_is_that_of_one_version_and_bounded(cluster: Cluster):
    compiled, version = CompiledRequests(), cluster.descriptor(cluster.table("id int PRIMARY KEY"))
    compiled.keep(version, "shown", 1)
    assert (compiled.get(version, "shown"), compiled.get(replace(version), "shown")) == (1, None)
    for number in range(2 * COMPILED_MAX):
        compiled.keep(version, number, json.dumps(number))
    assert len(compiled._known) <= COMPILED_MAX
