"""Arguments as clients send them, and what no argument can be."""

import asyncio
import json
from types import SimpleNamespace
from typing import Any

import pytest

from catalog.values.types import SqlType
from expressions.errors import SqlError
from nodes.crud import calls, texts
from nodes.crud.calls import BATCH_BYTES_MAX, PARTS_MAX, argument_texts, call_of, parsed_bytes, read_json
from nodes.crud.values import text_of, unflattened
from nodes.execution.held_rows import NODE_BYTES_MAX, NodeRows
from nodes.session.planned import Asked
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
    asked = Asked(call, [TEXT], [rows.encode()])
    answer = asyncio.run(Requests(env, variables, known, block).run(asked, alone=True))
    error = json.loads(answer.rows[0][0])  # type: ignore[index]
    assert (error["class"], error["code"], node.held) == ("LimitError", "53200", NODE_BYTES_MAX)


def test_rows_as_objects_do_not_repeat_their_names_without_end():
    long = [{"name": "x" * 100_000}]
    assert unflattened([[1]] * 10, long) == [{long[0]["name"]: 1}] * 10
    assert code(lambda: unflattened([[1]] * 100, long)) == "54000"
    assert code(lambda: unflattened([[1, 2]], [{"name": "a"}, {"name": "a"}])) == "22023"


def test_rows_that_name_no_column_are_as_many_as_they_are():
    assert texts.insert(TABLE, [{}], (), verb="insert").sql == 'INSERT INTO "flights" DEFAULT VALUES'
    three = texts.insert(TABLE, [{}, {}, {}], (), verb="insert").sql
    assert three == 'INSERT INTO "flights" ("day") VALUES (DEFAULT), (DEFAULT), (DEFAULT)'
