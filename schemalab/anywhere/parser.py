"""PostgreSQL's parser where no C extension runs: libpg_query as WebAssembly, in the folder as package `postgast`. Its
JSON becomes the same messages that the extension makes (`tests/anywhere/test_parser.py`). It has no deparser there."""

from __future__ import annotations

import json
from typing import Any

from google.protobuf.json_format import ParseDict, ParseError
from google.protobuf.message import Message
from postgast import pg_query_pb2 as pb
from postgast.errors import PgQueryError as PgQueryError

from schemalab.anywhere import texts

POINTER = 4


def parse(query: str) -> Any:
    """The parse tree. Raises `PgQueryError` with its place, and RecursionError as for a message that is too deep."""
    module, text = _given(query)
    result = module._wasm_parse_query_raw(text)
    module._free(text)
    tree, _, error = (_pointer_at(module, result + POINTER * place) for place in range(3))
    found = module.UTF8ToString(tree)
    refusal = (
        (module.UTF8ToString(_pointer_at(module, error)), _pointer_at(module, error + 4 * POINTER)) if error else None
    )
    module._wasm_free_parse_result(result)
    if refusal is not None:
        raise PgQueryError(refusal[0], cursorpos=refusal[1])
    try:
        return ParseDict(json.loads(found), pb.ParseResult())
    except ParseError as too_deep:
        raise RecursionError(str(too_deep)) from too_deep


def scan(query: str) -> Any:
    """The words and signs. Raises `PgQueryError`, without a place."""
    module, text = _given(query or " ")  # it refuses an empty text
    result = module._wasm_scan(text)
    found = module.UTF8ToString(result)
    module._wasm_free_string(result)
    module._free(text)
    if not found.startswith("{"):
        raise PgQueryError(found)
    given = json.loads(found, strict=False)  # its texts hold what the query holds
    tokens = [
        pb.ScanToken(start=one["start"], end=one["end"], token=one["tokenType"], keyword_kind=one["keywordKind"])
        for one in given["tokens"]
    ]
    return pb.ScanResult(version=given["version"], tokens=tokens)


def deparse(tree: Message) -> str:
    return texts.deparse(tree)


def _given(query: str) -> tuple[Any, int]:
    """The parser's module, and the place of the query in its memory."""
    import js  # not before: a copy of the memory keeps no object of a page

    module = js.postgres
    size = module.lengthBytesUTF8(query) + 1
    place = module._malloc(size)
    module.stringToUTF8(query, place, size)
    return module, place


def _pointer_at(module: Any, place: int) -> int:
    return int(module.getValue(place, "i32"))
