"""The shapes of arguments: a mistake names the argument, what it is, and what would be right: `conditions must be a
list of [comparison, column, value], like [[">=", "id", 10]], not the text ">="`."""

import json
import math
from collections.abc import Collection, Mapping
from typing import Any

from nodes.crud.errors import RequestError, bad_request

SHOWN_CHARS_MAX = 60
PARTS_MAX = 8
SHOWN_MAX = 10**15
UPDATE = '[operator, column, value], like ["=", "name", "Emma"]'
CONDITION = '[comparison, column, value], like [">=", "id", 10]'
SHAPES = {
    "tuple": 'a list of values in the order of the columns, like [1, "Emma"]',
    "object": 'an object with the names of columns, like {"id": 1, "name": "Emma"}',
    "tuples": 'a list of rows, like [[1, "Emma"], [2, "Tom"]]',
    "objects": 'a list of objects, like [{"id": 1, "name": "Emma"}, {"id": 2}]',
    "operations": 'a list of [operator, column, value], like [["=", "name", "Emma"]]',
    "key": 'a value, a list of values or an object, like 7, "EWR", [7, "EWR"] or {"id": 7}',
    "conditions": 'a list of [comparison, column, value], like [[">=", "id", 10]]',
    "options": 'an object, like {"timeout": 2}',
    "rows": 'a list of rows, like [[1, "Emma"], [2, "Tom"]]',
    "metadata": 'a list of objects with a name, like [{"name": "id"}, {"name": "name"}]',
}
OF_UPSERTS = {
    "tuples": 'a list of [row, operations], like [[[1, "Emma"], [["=", "name", "Emma"]]]]',
    "objects": 'a list of [object, operations], like [[{"id": 1}, [["=", "name", "Emma"]]]]',
}


def shape_of(argument: str, operation: str) -> str:
    return (OF_UPSERTS if operation.startswith("upsert") else {}).get(argument) or SHAPES[argument]


def not_json(argument: str, text: str, shape: str, why: str) -> RequestError:
    """An argument that cannot be read. The commonest mistake is a text without its double quotes."""
    quoted = (
        f"; a text stands in double quotes: {json.dumps(text)}"
        if argument == "key" and text.isalnum() and len(text) <= SHOWN_CHARS_MAX
        else ""
    )
    return bad_request(f"argument {argument} is not JSON: {why}", hint=f"it is {shape}{quoted}")


def wrong(what: str, shape: str, given: Any, *, hint: str | None = None) -> RequestError:
    return bad_request(f"{what} must be {shape}, not {kind_of(given)}", hint=hint)


def kind_of(given: Any) -> str:
    """The kind of a value of JSON, and the value itself where that is short."""
    match given:
        case None | bool():
            return json.dumps(given)
        case str():
            return f"the text {json.dumps(given, ensure_ascii=False)}" if len(given) <= SHOWN_CHARS_MAX else "a text"
        case list():
            return f"the list {shown}" if (shown := _flat(given, given)) else f"a list of {len(given)}"
        case Mapping():
            return f"the object {shown}" if (shown := _flat(given, given.values())) else f"an object of {len(given)}"
    is_large = (not isinstance(given, float) and abs(given) >= SHOWN_MAX) or math.isinf(given)
    return "a large number" if is_large else f"the number {given}"


def _flat(given: Any, parts: Collection[Any]) -> str:
    """A list or an object of few scalars as JSON; nothing of a larger one is written out."""
    if len(parts) > PARTS_MAX or not all(isinstance(part, str | int | float | None) for part in parts):
        return ""
    if sum(len(part) for part in (*parts, *given) if isinstance(part, str)) > SHOWN_CHARS_MAX:
        return ""
    text = json.dumps(given, ensure_ascii=False)
    return text if len(text) <= 2 * SHOWN_CHARS_MAX else ""
