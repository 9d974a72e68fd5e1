"""The operations of `crud` on real nodes: what each answers, and what it leaves in the table."""

import json
import time
from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from nodes.crud.catalogue import OPERATIONS
from tests.nodes.conftest import Cluster, Runner
from tests.nodes.crud.test_stale_routers import swapped

Json = Any
Crud = Callable[..., Json]
ROWS = [[1, "Ada", 36], [2, "Bob", 20], [3, "Eve", None], [4, "Dan", 20], [5, "Zoe", 7]]


@pytest.fixture
def crud(n1: "psycopg.Connection[Any]") -> Crud:
    """An operation through SQL on n1: the values of JSON as they are, the answer as it comes."""

    def call(operation: str, *arguments: Json) -> Json:
        is_plain, shape = operation in ("min", "max"), OPERATIONS[operation].arguments
        if "options" in shape and operation not in ("schema", "storage_info"):
            place = shape.index("options")
            options = {"timeout": 60, **(arguments[place] if place < len(arguments) else {})}
            arguments = (*arguments[:place], *[None] * (place - len(arguments)), options)
        given = [a if i == 0 or a is None or (i == 1 and is_plain) else json.dumps(a) for i, a in enumerate(arguments)]
        marks = ", ".join(["%s"] * len(given))
        return n1.execute(f"SELECT crud.{operation}({marks})", given).fetchone()[0]

    return call


@pytest.fixture
def people(cluster: Cluster, crud: Crud) -> str:
    table = cluster.table("id int PRIMARY KEY, name text NOT NULL, age int")
    assert crud("insert_many", table, ROWS)["done"] == [0, 1, 2, 3, 4]
    return table


def rows(answer: Json) -> Json:
    assert "rows" in answer, answer
    return answer["rows"]


def test_a_row_is_written_read_changed_and_deleted(crud: Crud, cluster: Cluster):
    table = cluster.table("id int PRIMARY KEY, name text NOT NULL, visits int DEFAULT 1, score double precision")
    answer = crud("insert_object", table, {"id": 7, "name": "Emma"})
    assert answer == {
        "metadata": [
            {"name": "id", "type": "integer", "is_nullable": False},
            {"name": "name", "type": "text", "is_nullable": False},
            {"name": "visits", "type": "integer", "is_nullable": True},
            {"name": "score", "type": "double precision", "is_nullable": True},
        ],
        "rows": [[7, "Emma", 1, None]],
    }
    assert rows(crud("insert", table, [8, "Tom", 3, 1.5])) == [[8, "Tom", 3, 1.5]]
    assert crud("insert", table, [8, "Tom"])["class"] == "DuplicateKeyError"
    assert rows(crud("replace_object", table, {"id": 8, "name": "Tim"})) == [[8, "Tim", 1, None]]
    assert rows(crud("upsert", table, [8, "Tim", 9], [["+", "visits", 4], ["=", "score", "NaN"]])) == []
    assert rows(crud("get", table, 8)) == [[8, "Tim", 5, "NaN"]]
    assert rows(crud("upsert_object", table, {"id": 9, "name": "new"}, [["+", "visits", 4]])) == []
    assert rows(crud("get", table, [9], {"fields": ["visits"]})) == [[1]]
    assert rows(crud("update", table, {"id": 8}, [["-", "visits", 2]], {"fields": ["visits"]})) == [[3]]
    assert rows(crud("delete", table, 9)) == [[9, "new", 1, None]]
    assert rows(crud("delete", table, 9)) == rows(crud("get", table, 9)) == []
    assert crud("insert", table, [10, "x"], {"noreturn": True})["rows"] is None
    assert cluster.violations(table) == []


def test_rows_come_in_the_order_of_the_key_over_all_storages_and_in_pages(crud: Crud, people: str):
    assert rows(crud("select", people, None)) == ROWS
    assert rows(crud("select", people, [["=", "age", 20], [">", "id", 2]])) == [ROWS[3]]
    assert rows(crud("select", people, [["=", "age", None]])) == [ROWS[2]]
    first = crud("select", people, [[">=", "id", 2]], {"first": 2})
    assert rows(first) == ROWS[1:3]
    assert rows(crud("select", people, [[">=", "id", 2]], {"first": 9, "after": first["rows"][-1]})) == ROWS[3:]
    assert rows(crud("select", people, [], {"after": {"id": 4}, "fields": ["name"]})) == [["Zoe"]]
    assert rows(crud("select", people, [["=", "id", 4]], {"force_map_call": True})) == [ROWS[3]]
    assert crud("count", people, [["<", "age", 30]]) == 3
    assert crud("count", people, [["<", "age", 30]], {"force_map_call": True}) == 3
    assert crud("len", people) == 5
    assert rows(crud("min", people)) == [ROWS[0]]
    assert rows(crud("max", people, None, {"fields": ["name"]})) == [["Zoe"]]


def test_a_select_through_an_index_has_the_same_order_and_pages(crud: Crud, cluster: Cluster):
    table = cluster.table("id int PRIMARY KEY, name text, age int, UNIQUE (age, name)")
    crud("insert_many", table, ROWS)
    assert rows(crud("select", table, [["=", "age", 20]])) == [ROWS[1], ROWS[3]]
    assert rows(crud("select", table, [["=", "age", 20]], {"after": [2, "Bob", 20]})) == [ROWS[3]]
    index = f"{table}_age_name_key"
    assert rows(crud("max", table, index)) == [ROWS[2]]  # PostgreSQL's order: NULL is last
    assert rows(crud("min", table, index)) == [ROWS[4]]


def test_pairs_stream_row_by_row(cluster: Cluster, crud: Crud, n1: "psycopg.Connection[Any]"):
    table = cluster.table("id int PRIMARY KEY, name text")
    count = 2500
    answer = crud("insert_many", table, [[i, f"row {i}"] for i in range(count)], {"noreturn": True, "timeout": 60})
    assert (answer["done"], answer["failed"][:1]) == (list(range(count)), [])
    found = n1.execute(f"SELECT crud.pairs('{table}', NULL, '{{\"batch_size\": 100}}')").fetchall()
    assert found == [([i, f"row {i}"],) for i in range(count)]
    assert cluster.violations(table) == []


@pytest.mark.parametrize("of", [
    "boolean", "integer", "bigint", "double precision", "text", "date", "timestamp", "timestamptz", "uuid",
])  # fmt: skip
def test_conditions_on_a_column_of_any_type(cluster: Cluster, crud: Crud, of: str):
    values = {
        "boolean": (False, True), "integer": (-5, 7), "bigint": (-(2**60), 2**60), "double precision": (-1.5, 2.5e300),
        "text": ("a\n'\"", "ü"), "date": ("0044-03-15", "2026-02-28"),
        "timestamp": ("2026-01-01 00:00:00", "2026-01-01 00:00:00.5"),
        "timestamptz": ("2026-01-01 00:00:00+00", "2026-01-01 00:00:01+00"),
        "uuid": ("00000000-0000-0000-0000-000000000001", "f0000000-0000-0000-0000-000000000001"),
    }[of]  # fmt: skip
    table = cluster.table(f"id int PRIMARY KEY, v {of}")
    crud("insert_many", table, [[1, values[0]], [2, values[1]], [3, None]])
    assert [row[1] for row in rows(crud("select", table, []))] == [*values, None]
    for op, expected in (("=", [1]), ("<=", [1]), ("<", []), (">", [2]), (">=", [1, 2])):
        found = rows(crud("select", table, [[op, "v", values[0]]], {"fields": ["id"]}))
        assert found == [[i] for i in expected], op


@pytest.mark.parametrize(("call", "error", "message"), [
    pytest.param(("get", "nosuch", 1), "UnknownTableError", 'relation "nosuch" does not exist', id="unknown table"),
    pytest.param(("insert_object", "", {"id": 9, "nam": 1}), "UnknownFieldError", 'column "nam"', id="unknown field"),
    pytest.param(("insert", "", [9, "x", 1, 2]), "FlattenError", "a row of 4 values", id="a row that is too long"),
    pytest.param(("insert", "", [9]), "ConstraintError", "null value in column", id="a value that is missing"),
    pytest.param(("insert", "", ["x", "y"]), "ValueError", "invalid input syntax for type integer", id="no number"),
    pytest.param(("insert", "", [9, ["y"]]), "FlattenError", "takes no list and no object", id="a list as a value"),
    pytest.param(("insert", "", 9), "RequestError", "a row must be a list of values", id="no row"),
    pytest.param(("insert", "", [9, "x"], {"bogus": 1}), "OptionsError", "has no option bogus", id="unknown option"),
    pytest.param(("insert", "", [9, "x"], {"first": 1}), "OptionsError", "has no option first", id="another's option"),
    pytest.param(("insert", "", [9, "x"], {"timeout": "2"}), "OptionsError", "must be seconds", id="a bad timeout"),
    pytest.param(("insert", "", [9, "x"], {"fields": ["no"]}), "UnknownFieldError", '"no"', id="a bad field"),
    pytest.param(("insert", "", [9, "x"], {"bucket_id": 1}), "BucketError", "contradicts", id="another row's bucket"),
    pytest.param(("insert", "", [9, "x"], {"bucket_id": 3001}), "BucketError", "there are 3000", id="no bucket"),
    pytest.param(("select", "", [["~", "id", 1]]), "RequestError", "no comparison '~'", id="no comparison"),
    pytest.param(("select", "", [["=", "no", 1]]), "UnknownFieldError", 'column "no"', id="condition on no column"),
    pytest.param(("update", "", 1, [["*", "age", 1]]), "RequestError", "no update operator", id="no operator"),
    pytest.param(("update", "", [1, 2], [["=", "age", 1]]), "FlattenError", "a key of 2 values", id="a key too long"),
    pytest.param(("insert_many", "", {"id": 1}), "RequestError", "the rows must be a list", id="no batch"),
    pytest.param(("max", "", "nosuch"), "UnknownIndexError", 'no index "nosuch"', id="no index"),
    pytest.param(("min", "", "id"), "UnknownIndexError", 'no index "id"', id="a column is no index"),
    pytest.param(("get", "", 1, {"fields": ["no"]}), "UnknownFieldError", '"no"', id="a bad field of a read"),
    pytest.param(("insert_many", "", [[9, "x"]], {"fields": ["no"]}), "UnknownFieldError", '"no"', id="of a batch"),
    pytest.param(("update", "", 1, [["=", "no", 1]]), "UnknownFieldError", 'column "no"', id="a field to be set"),
])  # fmt: skip
def test_a_mistake_is_an_error_object_and_nothing_is_written(
    crud: Crud, cluster: Cluster, people: str, call: tuple[Any, ...], error: str, message: str
):
    operation, table, *arguments = call
    answer = crud(operation, table or people, *arguments)
    assert answer.get("class") == error, answer
    assert message in answer["message"]
    assert crud("len", people) == len(ROWS)


def test_a_bucket_reads_its_own_rows_and_no_others(crud: Crud, cluster: Cluster, people: str):
    bucket = 477  # of 1, as in crud
    assert rows(crud("select", people, [], {"bucket_id": bucket})) == [ROWS[0]]
    assert crud("count", people, [], {"bucket_id": bucket}) == 1
    assert rows(crud("get", people, 1, {"bucket_id": bucket})) == [ROWS[0]]
    assert crud("insert", people, [9, "x"], {"bucket_id": bucket})["class"] == "BucketError"


def test_a_bucket_finds_its_row_through_a_unique_index_whose_entry_lies_elsewhere(crud: Crud, cluster: Cluster):
    columns = "id int PRIMARY KEY, dest text, seats int UNIQUE) WITH (sharding_key = 'dest'"
    table = cluster.table(columns)
    crud("insert", table, [2, "JFK", 20])
    bucket = 1534  # of JFK, on storage 2; the entry of 20 is on storage 1
    assert rows(crud("select", table, [["=", "seats", 20]], {"bucket_id": bucket})) == [[2, "JFK", 20]]
    assert crud("count", table, [["=", "seats", 20]], {"bucket_id": bucket}) == 1
    assert rows(crud("get", table, 2, {"bucket_id": bucket})) == [[2, "JFK", 20]]
    assert rows(crud("get", table, 2, {"bucket_id": 1})) == []
    assert crud("get", table, 2, {"bucket_id": 999_999})["class"] == "BucketError"


def test_parameters_in_binary_are_the_numbers_they_are(cluster: Cluster, crud: Crud, n1: "psycopg.Connection[Any]"):
    table = cluster.table("id int PRIMARY KEY, name text")
    crud("insert_many", table, [[1234, "its digits"], [825373492, "it"]])
    (answer,) = n1.execute(f"SELECT crud.delete('{table}', %b)", [825373492]).fetchone()
    assert answer["rows"] == [[825373492, "it"]]
    (answer,) = n1.execute(f"SELECT crud.insert('{table}', %b)", [Jsonb([7, "seven"])]).fetchone()
    assert answer["rows"] == [[7, "seven"]]
    assert rows(crud("select", table, [])) == [[7, "seven"], [1234, "its digits"]]


def test_every_row_of_a_batch_is_accounted_for(crud: Crud, cluster: Cluster):
    table = cluster.table("id int PRIMARY KEY, name text NOT NULL")
    batch = [[10, "a"], [11, "b"], [10, "again"], [12, None], [13, "d", "too long"], [14, "e"]]
    answer = crud("insert_many", table, batch)
    assert answer["done"] == [0, 1, 5]
    assert {one["index"]: one["class"] for one in answer["failed"]} == {
        2: "DuplicateKeyError", 3: "ConstraintError", 4: "FlattenError",
    }  # fmt: skip
    assert rows(answer) == [[10, "a"], [11, "b"], [14, "e"]]
    assert rows(crud("select", table, [])) == [[10, "a"], [11, "b"], [14, "e"]]
    assert cluster.violations(table) == []


@pytest.mark.parametrize(("option", "kept"), [("rollback_on_error", []), ("stop_on_error", [1])])
def test_a_part_that_fails_is_undone_or_stopped(crud: Crud, cluster: Cluster, option: str, kept: list[int]):
    table = cluster.table("id int PRIMARY KEY, name text NOT NULL")
    answer = crud("insert_many", table, [[1, "a"], [1, "again"], [1, "and again"]], {option: True})
    indices = [
        *answer["done"],
        *answer["rolled_back"],
        *answer["not_performed"],
        *(f["index"] for f in answer["failed"]),
    ]
    assert sorted(indices) == [0, 1, 2]
    assert [f["index"] for f in answer["failed"]] == [1]
    assert [row[0] for row in rows(crud("select", table, []))] == kept
    assert [row[0] for row in answer["rows"]] == kept


def test_batches_of_objects_upserts_and_replaces(crud: Crud, cluster: Cluster):
    table = cluster.table("id int PRIMARY KEY, name text, n int DEFAULT 0")
    assert crud("insert_object_many", table, [{"id": 1, "name": "a"}, {"id": 2, "n": 5}])["done"] == [0, 1]
    upserts = [[[1, "x"], [["+", "n", 1]]], [[3, "new"], [["+", "n", 1]]], [[1, "x"], [["+", "n", 1]]]]
    assert crud("upsert_many", table, upserts)["done"] == [0, 1, 2]
    assert crud("replace_many", table, [[2, "r"], [2, "twice"]])["done"] == [0, 1]
    assert rows(crud("select", table, [])) == [[1, "a", 2], [2, "twice", 0], [3, "new", 0]]
    assert crud("truncate", table) is True
    assert crud("len", table) == 0
    assert crud("insert_many", table, [])["done"] == []
    keyed = cluster.table("id bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, n int")
    assert crud("insert_object_many", keyed, [{}, {}, {}])["done"] == [0, 1, 2]
    assert crud("len", keyed) == 3


def test_the_last_row_of_a_key_stays_wherever_each_lies_and_a_misfit_undoes_all(crud: Crud, cluster: Cluster):
    table = cluster.table("id int PRIMARY KEY, dest text, n int) WITH (sharding_key = 'dest'")
    assert crud("replace_many", table, [[1, "JFK", 1], [1, "ATL", 2]])["done"] == [0, 1]
    assert rows(crud("select", table, [])) == [[1, "ATL", 2]]
    answer = crud("insert_many", table, [[2, "JFK", 1], ["x", "ATL", 2]], {"rollback_on_error": True})
    assert (answer["done"], answer["not_performed"], answer["failed"][0]["index"]) == ([], [0], 1)
    assert crud("len", table) == 1
    assert cluster.violations(table) == []


def test_what_a_node_says_of_its_tables_and_storages(crud: Crud, people: str):
    schema = crud("schema", people)
    assert schema["primary_key"] == schema["sharding_key"] == ["id"]
    assert (schema["sharding_func"], schema["coordination"]) == ("strcrc32", "lease")
    assert schema == crud("schema")[people]
    storages = crud("storage_info")
    assert [one["buckets"] for one in storages.values()] == [[1, 1500], [1501, 3000]]
    assert people in storages["storage_2"]["tables"]
    before = crud("stats", people)
    crud("get", people, 1)
    crud("select", people, [])
    after = crud("stats", people)
    assert after["requests"] - before["requests"] == 2
    assert after["map_reduces"] - before["map_reduces"] == 1


def test_unflattened_rows_are_objects(n1: "psycopg.Connection[Any]"):
    sql = """SELECT crud.unflatten_rows('[[1, null]]', '[{"name": "id"}, {"name": "name"}]')"""
    assert n1.execute(sql).fetchone()[0] == [{"id": 1, "name": None}]


def test_a_row_says_its_bucket_where_placement_is_custom(crud: Crud, cluster: Cluster):
    table = cluster.table("id int PRIMARY KEY, place int) WITH (sharding_key = 'place', sharding_func = 'bucket'")
    assert rows(crud("insert_object", table, {"id": 1}, {"bucket_id": 2000})) == [[1, 2000]]
    assert crud("insert_object", table, {"id": 2, "place": 7}, {"bucket_id": 8})["class"] == "BucketError"
    assert rows(crud("select", table, [], {"bucket_id": 2000})) == [[1, 2000]]
    assert rows(crud("get", table, 1)) == rows(crud("get", table, 1, {"bucket_id": 2000})) == [[1, 2000]]
    assert rows(crud("get", table, 1, {"bucket_id": 1999})) == []
    assert rows(crud("replace", table, [1, 7])) == [[1, 7]]
    assert rows(crud("update", table, 1, [["=", "place", 3000]])) == rows(crud("select", table, [])) == [[1, 3000]]
    assert cluster.violations(table) == []


def test_a_null_bucket_column_is_filled_by_option_bucket_id(crud: Crud, cluster: Cluster):
    table = cluster.table(
        "id int PRIMARY KEY, place int, n int) WITH (sharding_key = 'place', sharding_func = 'bucket'"
    )
    assert rows(crud("insert", table, [1, None, 5], {"bucket_id": 2000})) == [[1, 2000, 5]]
    assert rows(crud("replace_object", table, {"id": 1, "place": None}, {"bucket_id": 7})) == [[1, 7, None]]
    assert rows(crud("select", table, [], {"bucket_id": 7})) == [[1, 7, None]]
    assert cluster.violations(table) == []


@pytest.mark.usefixtures("worker")
def test_a_missing_table_is_found_missing_at_once_until_it_is_made_here(crud: Crud, n1: "psycopg.Connection[Any]"):
    name = "found_missing"
    assert crud("get", name, 1)["class"] == "UnknownTableError"
    began = time.perf_counter()
    assert [crud("get", name, 1, {"timeout": 0.1})["class"] for _ in range(5)] == ["UnknownTableError"] * 5
    assert time.perf_counter() - began < 5 * 0.15
    n1.execute(f"CREATE TABLE {name} (id int PRIMARY KEY)")
    assert rows(crud("insert", name, [1])) == [[1]]


def test_a_tuple_of_an_older_version_is_refused(crud: Crud, cluster: Cluster):
    """Its values would land in other columns: only the client knows the columns that it was made for."""
    table = cluster.table("id int PRIMARY KEY, a text, b text")
    built_for = crud("schema", table)["version"]
    assert rows(crud("insert", table, [1, "A", "B"], {"version": built_for})) == [[1, "A", "B"]]
    cluster.publish(swapped(cluster.descriptor(table), "a", "b"))
    now = crud("schema", table)["version"]
    for call in (
        ("insert", table, [2, "A", "B"]),
        ("replace", table, [1, "x", "y"]),
        ("upsert", table, [1, "x", "y"], [["=", "b", "y"]]),
        ("insert_many", table, [[2, "A", "B"]]),
    ):
        answer = crud(*call, {"version": built_for})
        assert (answer["class"], answer["version"]) == ("SchemaMismatchError", now), call
        assert answer["message"] == f"the tuple was built for version {built_for}: {table} is at version {now}"
    assert rows(crud("select", table, [])) == [[1, "A", "B"]]
    assert rows(crud("insert", table, [2, "A", "B"], {"version": now})) == [[2, "A", "B"]]
    assert crud("insert", table, [3, "A", "B"], {"version": now + 1})["class"] == "FlattenError"
    assert crud("insert_object", table, {"id": 3}, {"version": now})["class"] == "OptionsError"


def test_calls_of_all_storages_send_no_sharding_hash(cluster: Cluster):
    table = cluster.table("id int PRIMARY KEY, dest text, n int) WITH (sharding_key = 'dest'")
    heard: list[str] = []

    def sent(call: str) -> Json:
        connection.execute(f"SELECT crud.{call}")
        steps = json.loads(heard.pop())["steps"]
        return next(step["hashes"] for step in steps if step["do"] == "request")

    with cluster.connect(options="-c schemalab.trace=on") as connection:
        connection.add_notice_handler(lambda notice: heard.append(notice.message_detail or ""))
        for call in ("get('{}', '1')", "select('{}')", "count('{}')", "len('{}')", "min('{}')"):
            assert sent(call.format(table)) == [], call
        for call in ("""select('{}', '[["=", "dest", "EWR"]]')""", """insert('{}', '[1, "EWR", 2]')"""):
            assert sent(call.format(table)) == ["sharding"], call


def test_a_bucket_that_there_is_none_of_is_refused_before_anything_is_written(
    crud: Crud, cluster: Cluster, n1: "psycopg.Connection[Any]"
):
    table = cluster.table("id int PRIMARY KEY, place int) WITH (sharding_key = 'place', sharding_func = 'bucket'")
    n1.execute(f"INSERT INTO {table} VALUES (1, 1), (2, 3000), (3, NULL)")
    words = "custom placement has no value for row id = 4: place = {} is not a bucket, which are 1 to 3000"
    for bucket in (0, -7, 3001, 2**31 - 1):
        with pytest.raises(psycopg.errors.NumericValueOutOfRange, match=words.format(bucket)):
            n1.execute(f"INSERT INTO {table} VALUES (5, 5), (4, {bucket})")
        answer = crud("insert", table, [4, bucket])
        assert (answer["class"], answer["code"]) == ("ValueError", "22003")
        many = crud("insert_many", table, [[4, bucket]])
        assert (many["done"], [one["code"] for one in many["failed"]]) == ([], ["22003"])
        for statement in (
            f"UPDATE {table} SET place = {bucket}",
            f"UPDATE {table} SET place = {bucket}, id = 9 WHERE id = 1",
        ):
            with pytest.raises(psycopg.errors.NumericValueOutOfRange, match="is not a bucket"):
                n1.execute(statement)
        assert crud("update", table, 1, [["=", "place", bucket]])["code"] == "22003"
    assert rows(crud("select", table, [])) == [[1, 1], [2, 3000], [3, None]]
    assert cluster.violations(table) == []


def test_a_row_is_changed_and_deleted_only_where_its_bucket_is_the_one_named(crud: Crud, cluster: Cluster):
    table = cluster.table(
        "id int PRIMARY KEY, place int, n int) WITH (sharding_key = 'place', sharding_func = 'bucket'"
    )
    crud("insert_many", table, [[1, 7, 0], [2, 2000, 0]])
    assert rows(crud("update", table, 1, [["+", "n", 1]], {"bucket_id": 8})) == []
    assert rows(crud("delete", table, 1, {"bucket_id": 2000})) == []
    assert rows(crud("update", table, 1, [["+", "n", 1]], {"bucket_id": 7})) == [[1, 7, 1]]
    assert rows(crud("delete", table, 2, {"bucket_id": 2000})) == [[2, 2000, 0]]
    assert crud("delete", table, 1, {"bucket_id": 8, "noreturn": True})["rows"] is None
    assert crud("delete", table, 1, {"bucket_id": 3001})["class"] == "BucketError"
    assert rows(crud("select", table, [])) == [[1, 7, 1]]


def test_a_write_among_other_statements_is_refused_for_it_could_not_be_undone(
    people: str, n1: "psycopg.Connection[Any]", crud: Crud
):
    write = f"SELECT crud.insert('{people}', '[77, \"x\"]')"
    for texts in ((write, "SELECT 1/0"), ("SELECT 1", write), (f"SELECT crud.len('{people}')", write)):
        with pytest.raises(psycopg.errors.ActiveSqlTransaction, match="crud"):
            n1.execute("; ".join(texts).encode())
    with n1.pipeline() as pipeline:
        n1.execute(write)
        n1.execute("SELECT 1/0")
        with pytest.raises(psycopg.errors.ActiveSqlTransaction, match="send it by itself"):
            pipeline.sync()
    assert crud("len", people) == len(ROWS)
    assert n1.execute(f"SELECT crud.len('{people}'); SELECT 7".encode()).fetchone() == (len(ROWS),)


def test_psql_calls_it_and_a_block_refuses_it(program: Runner, people: str, n1: "psycopg.Connection[Any]"):
    done = program("psql", "schemalab", "-tAc", f"SELECT crud.get('{people}', '1', '{{\"fields\": [\"name\"]}}')")
    assert json.loads(done.stdout)["rows"] == [["Ada"]]
    with n1.transaction(), pytest.raises(psycopg.errors.ActiveSqlTransaction, match="transaction block"):
        n1.execute(f"SELECT crud.len('{people}')")
    with pytest.raises(psycopg.errors.UndefinedFunction, match=r"there is no operation crud\.nosuch"):
        n1.execute("SELECT crud.nosuch('t')")
    for query in (
        "SELECT crud.len('t') WHERE true",
        "SELECT crud.len('t'), 2",
        "SELECT crud.get('t', 1) -> 'rows'",
        "SELECT * FROM crud.pairs('t')",
        f"SELECT id FROM {people} WHERE crud.len('t') > 1",
        f"INSERT INTO {people} (id) SELECT crud.len('t')",
    ):
        with pytest.raises(psycopg.errors.FeatureNotSupported, match="within a query") as refused:
            n1.execute(query)
        assert "stands alone" in (refused.value.diag.message_hint or "")


def test_a_table_without_a_primary_key_is_asked_by_conditions(crud: Crud, cluster: Cluster):
    """Its row ids are nobody's: what needs a key is refused by name."""
    table = cluster.table("name text, age int")
    assert crud("insert_many", table, [["Ada", 36], ["Bob", 20], ["Bob", 20]])["done"] == [0, 1, 2]
    assert sorted(rows(crud("select", table, [["==", "age", 20]]))) == [["Bob", 20], ["Bob", 20]]
    assert crud("len", table) == 3
    assert crud("schema", table)["primary_key"] == []
    for operation, arguments in (("get", [1]), ("delete", [1]), ("replace", [["Eve", 7]]), ("min", [None])):
        refused = crud(operation, table, *arguments)
        assert refused["class"] == "FlattenError", (operation, refused)
        assert "has no primary key" in refused["message"]
    [last] = rows(crud("select", table, [["==", "age", 36]], {"fields": ["name"]}))
    assert last == ["Ada"]
    assert crud("select", table, [], {"after": ["Ada", 36]})["class"] == "OptionsError"
    assert crud("truncate", table) is True
    assert cluster.violations(table) == []
