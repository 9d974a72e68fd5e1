"""Arguments as clients send them, and what no argument can be."""

import asyncio
import json
from types import SimpleNamespace
from typing import Any, cast

import postgast
import pytest

from catalog.values.types import SqlType
from expressions.errors import SqlError
from nodes.clients.portals import Portal, Prepared
from nodes.crud import about, calls, orders, texts
from nodes.crud.calls import BATCH_BYTES_MAX, PARTS_MAX, argument_texts, call_of, parsed_bytes, read_json
from nodes.crud.shapes import kind_of
from nodes.crud.values import assignments, conditions, flat_row, key_values, many_rows, text_of, unflattened
from nodes.execution.held_rows import NODE_BYTES_MAX, NodeRows
from nodes.session.requests import Requests
from nodes.sql.statements import parse
from tests.nodes.sql.test_access_paths import TABLE

BOOL, INT4, INT8, TEXT, JSON, JSONB, NUMERIC, DATE = 16, 23, 20, 25, 114, 3802, 1700, 1082


def code(do: Any) -> str:
    with pytest.raises(SqlError) as caught:
        do()
    return caught.value.sqlstate


def test_binary_parameters_are_read_by_their_types_and_never_as_texts():
    """The four bytes of 825373492 are the digits 1234."""
    sent = [(INT4, b"1234"), (INT8, bytes(7) + b"\7"), (BOOL, b"\1"), (TEXT, b"[1]"), (JSON, b"[2]"), (JSONB, b"\1[3]")]
    oids, values = zip(*sent, strict=True)
    assert argument_texts(oids, values, [1] * 6) == ["825373492", "7", "true", "[1]", "[2]", "[3]"]
    assert argument_texts([INT4, BOOL, JSONB, TEXT], [b"7", b"f", b"{}", None], ()) == ["7", "false", "{}", None]
    for oid, data, expected in ((NUMERIC, bytes(8), "0A000"), (DATE, bytes(4), "0A000"), (JSONB, b"[3]", "22P03")):
        assert code(lambda oid=oid, data=data: argument_texts([oid], [data], [1])) == expected


@pytest.mark.parametrize("text", [r'"a\u0000b"', r'[{"a": "\ud800"}]', r'{"\udfff": 1}'])
def test_what_is_no_character_is_refused_where_it_is_read(text: str):
    assert code(lambda: read_json(text, "key")) == "22021"


def test_escapes_that_are_characters_are_read():
    assert read_json(r'["\u00fc", "\ud83d\ude00", "\\u0000"]', "key") == ["ü", "😀", r"\u0000"]


def test_a_document_keeps_the_digits_of_its_numbers():
    given = '{"a": 1.10, "b": [12345678901234567890.125, 1e400], "c": 7}'
    assert text_of(read_json(given, "row"), "j", SqlType.JSON) == given


def test_a_whole_number_of_any_length_keeps_its_digits_and_a_message_does_not_repeat_them():
    digits = "-" + "7" * 5000
    (number,) = read_json(f"[{digits}]", "key")
    assert text_of(number, "n", SqlType.NUMERIC) == digits
    assert text_of([number], "j", SqlType.JSON) == f"[{digits}]"
    assert kind_of(number) == "a large number"


def test_a_message_repeats_no_long_name():
    name = "n" * 100_000
    for do in (
        lambda: orders.index_named(TABLE, name),
        lambda: texts.shown_columns(TABLE, [name]),
        lambda: text_of({}, name),
        lambda: assignments([["=", name, 1], ["=", name, 2]]),
        lambda: read_json(f'{{"{name}": 1, "{name}": 2}}', "object"),
        lambda: read_json(name, "key"),
    ):
        with pytest.raises(SqlError) as caught:
            do()
        assert len(caught.value.message) + len(caught.value.hint or "") < 400


def test_a_list_is_the_array_of_a_column_that_has_such():
    given = read_json('[1, null, "a,b", true, 1.10, "null"]', "row")
    assert text_of(given, "t", SqlType.TEXT_ARRAY) == '{1,NULL,"a,b",true,1.10,"null"}'
    assert text_of(read_json('[{"a": 1.0}, [2]]', "row"), "j", SqlType.JSONB_ARRAY) == r'{"{\"a\": 1.0}",[2]}'
    for of in (None, SqlType.TEXT, SqlType.INTEGER):
        assert code(lambda of=of: text_of([1], "t", of))
    assert code(lambda: text_of([[1]], "t", SqlType.INTEGER_ARRAY))


def test_a_document_that_is_nested_too_deep_is_refused():
    for text in ("[" * 201 + "]" * 201, '{"a":' * 500 + "1" + "}" * 500):
        assert code(lambda text=text: text_of(read_json(text, "row"), "j", SqlType.JSONB))


class Name(str):
    """Counts how often it is looked at."""

    looks = 0

    def __hash__(self) -> int:
        Name.looks += 1
        return super().__hash__()

    def __eq__(self, other: object) -> bool:
        Name.looks += 1
        return super().__eq__(other)


def test_the_name_that_comes_twice_is_found_in_one_look():
    with pytest.raises(ValueError, match="the name n9 comes twice"):
        calls._object([*((Name(f"n{number}"), 1) for number in range(1000)), (Name("n9"), 2)])
    assert Name.looks < 10_000


def test_an_argument_has_a_limit():
    (row,), (rows,) = parse("SELECT crud.insert('t', $1)"), parse("SELECT crud.insert_many('t', $1)")
    long = f'["{"x" * 2**20}"]'
    assert code(lambda: call_of(row.node, [long])) == "54000"
    assert call_of(rows.node, [f"[{long}]"]).table == "t"
    assert code(lambda: call_of(rows.node, [f'["{"x" * BATCH_BYTES_MAX}"]'])) == "54000"
    assert code(lambda: call_of(rows.node, ["[" + "[]," * (PARTS_MAX + 1) + "[]]"])) == "54000"


def test_an_argument_counts_as_held_while_its_request_is_under_way():
    (call,) = parse("SELECT crud.insert_many('t', $1)")
    rows = json.dumps([[number, "x"] for number in range(1000)])
    assert parsed_bytes(call.node, [rows]) > len(rows) + 64 * 3000
    node = NodeRows(held=NODE_BYTES_MAX)
    env: Any = SimpleNamespace(rows=node)
    block: Any = SimpleNamespace(is_open=False, owner=None)
    variables: Any = SimpleNamespace(style=None)
    known: Any = None
    asked = Portal(Prepared("", call, [TEXT]), [rows.encode()])
    answer = asyncio.run(Requests(env, variables, known, block).run(asked, alone=True))
    error = json.loads(answer.rows[0][0])  # type: ignore[index]
    assert (error["class"], error["code"], node.held) == ("LimitError", "53200", NODE_BYTES_MAX)


def test_rows_as_objects_do_not_repeat_their_names_without_end():
    long = [{"name": "x" * 100_000}]
    assert unflattened([[1]] * 10, long) == [{long[0]["name"]: 1}] * 10
    assert code(lambda: unflattened([[1]] * 100, long)) == "54000"
    assert code(lambda: unflattened([[1, 2]], [{"name": "a"}, {"name": "a"}])) == "22023"


@pytest.mark.parametrize("number", ["1e999", "2.50", "1" * 5000, "4" * 400 + ".5", "-1E-7"])
def test_rows_as_objects_keep_their_numbers_digit_by_digit(number: str):
    (call,) = parse("SELECT crud.unflatten_rows($1, $2)")
    asked = call_of(call.node, [f'[[{number}, {{"in": [{number}]}}]]', '[{"name": "a"}, {"name": "b"}]'])
    assert asyncio.run(about.answer(cast(Any, None), asked)) == f'[{{"a": {number}, "b": {{"in": [{number}]}}}}]'


def test_rows_that_name_no_column_are_as_many_as_they_are():
    assert texts.insert(TABLE, [{}], (), verb="insert").sql == 'INSERT INTO "flights" DEFAULT VALUES'
    three = texts.insert(TABLE, [{}, {}, {}], (), verb="insert").sql
    assert three == 'INSERT INTO "flights" ("day") VALUES (DEFAULT), (DEFAULT), (DEFAULT)'


@pytest.mark.parametrize(("call", "message", "hint"), [
    pytest.param("crud.select('t', 'id > 7')",
                 "argument conditions is not JSON: Expecting value: line 1 column 1 (char 0)",
                 'it is a list of [comparison, column, value], like [[">=", "id", 10]]', id="no JSON"),
    pytest.param("crud.get('t', 'EWR')", "argument key is not JSON: Expecting value: line 1 column 1 (char 0)",
                 'it is a value, a list of values or an object, like 7, "EWR", [7, "EWR"] or {"id": 7}; '
                 'a text stands in double quotes: "EWR"', id="a text without its quotes"),
    pytest.param("crud.get('t', NULL)", "argument key of crud.get must not be NULL",
                 'it is a value, a list of values or an object, like 7, "EWR", [7, "EWR"] or {"id": 7}', id="NULL"),
    pytest.param("crud.get('t', '7', '[2]')", 'options must be an object, like {"timeout": 2}, not the list [2]', None,
                 id="options that are no object"),
    pytest.param("crud.get('t', '7', '{\"timeuot\": 2}')", "crud.get has no option timeuot",
                 'Perhaps you meant the option "timeout". It has: add_space_schema_hash, bucket_id, '
                 "fetch_latest_metadata, fields, timeout.", id="a misspelt option"),
    pytest.param("crud.get('t', '7', '{\"timeout\": \"2\"}')",
                 'option timeout of crud.get must be seconds, more than 0 and at most 3600, not the text "2"', None,
                 id="an option of another type"),
    pytest.param("crud.isnert('t', '[1]')", "there is no operation crud.isnert",
                 'Perhaps you meant the operation "insert". There are insert, replace', id="a misspelt operation"),
    pytest.param("crud.get('t', id)", "an argument of crud.get is a text with JSON in it, a number, or a parameter",
                 "crud.get(table, key, options)", id="a column"),
])  # fmt: skip
def test_a_mistake_in_a_call_says_which_argument_and_what_would_be_right(call: str, message: str, hint: str | None):
    with pytest.raises(SqlError) as refused:
        call_of(calls.call_text(postgast.parse(f"SELECT {call}").stmts[0].stmt.select_stmt), [])
    assert refused.value.message == message
    assert (refused.value.hint or "").startswith(hint or "")
    assert (refused.value.hint is None) == (hint is None)


@pytest.mark.parametrize(("read", "given", "message"), [
    pytest.param(conditions, [">=", "id", 10],
                 'condition 1 must be [comparison, column, value], like [">=", "id", 10], not the text ">="',
                 id="one condition for a list of them"),
    pytest.param(conditions, {"id": 10}, 'conditions must be a list of [comparison, column, value], like '
                 '[[">=", "id", 10]], not the object {"id": 10}', id="an object as conditions"),
    pytest.param(conditions, [["=", "id", 1], ["=", "id"]], 'condition 2 must be [comparison, column, value], '
                 'like [">=", "id", 10], not the list ["=", "id"]', id="a value is missing"),
    pytest.param(assignments, [["=", "a", 1], ["+", "a", 1]], 'operations assign column "a" twice', id="twice"),
    pytest.param(assignments, 7, 'operations must be a list of [operator, column, value], like '
                 '[["=", "name", "Emma"]], not the number 7', id="no list of operations"),
    pytest.param(many_rows, {"id": 1}, 'the rows must be a list of rows, like [[1, "Emma"], [2, "Tom"]], '
                 'not the object {"id": 1}', id="one row as many"),
    pytest.param(lambda row: flat_row(TABLE, row, is_object=True), [1], 'a row must be an object with the names of '
                 'columns, like {"id": 1, "name": "Emma"}, not the list [1]', id="a list as an object"),
    pytest.param(lambda row: flat_row(TABLE, row, is_object=False), [1] * 7,
                 "a row of 7 values: flights@3 has 6 columns, day, number, origin, delay, big, score",
                 id="more values than columns"),
    pytest.param(lambda key: key_values(TABLE, key), [1],
                 "a key of 1 value: the primary key of flights@3 has 2 columns, day, number",
                 id="a key that is too short"),
    pytest.param(lambda key: key_values(TABLE, key), {"day": 1}, "the primary key of flights@3 is day, number: "
                 'a key must have just these names, not those of the object {"day": 1}', id="a key without a column"),
    pytest.param(lambda rows: unflattened(rows, [{"name": "a"}]), [[1, 2]], "row 1 must be a list of 1 value, as "
                 "metadata names them, not the list [1, 2]", id="another number of values"),
])  # fmt: skip
def test_a_mistake_in_a_value_says_what_was_given_and_what_would_be_right(read: Any, given: Any, message: str):
    with pytest.raises(SqlError) as refused:
        read(given)
    assert refused.value.message == message


@pytest.mark.parametrize("given", ["x" * 10**6, ["x" * 10**6], [[1]] * 10**5, {"a": list(range(10**5))}])
def test_a_message_repeats_no_large_value(given: Any):
    assert len(kind_of(given)) < 100
