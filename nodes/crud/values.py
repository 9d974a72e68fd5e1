"""Values of JSON as values of columns, and what a request means by a row, a key, an update or a condition. A value
becomes the text that PostgreSQL would read for the column, as `json_populate_record` does: 7, "7" and 7.5 are all read
by the column's own type. A list or an object is a value of json or jsonb, or a list an array."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from catalog.descriptor import Descriptor
from catalog.elements import Column
from catalog.text.numbers import counted
from catalog.values.arrays import array_text
from catalog.values.documents import DEPTH_MAX, TOO_DEEP, with_numbers
from catalog.values.types import DOCUMENTS, SqlType
from expressions.errors import PROGRAM_LIMIT
from nodes.crud.calls import Number
from nodes.crud.errors import RequestError, bad_request, bad_row, named
from nodes.crud.shapes import CONDITION, SHAPES, UPDATE, kind_of, wrong

UNFLATTENED_CHARS_MAX = 4 * 2**20
"""Characters of names in an answer that repeats them in each row."""
NAMES_SHOWN_MAX = 10
UPDATES = ("=", "+", "-")
COMPARISONS = {"=": "=", "==": "=", ">": ">", ">=": ">=", "<": "<", "<=": "<="}


@dataclass(frozen=True, slots=True)
class Assignment:
    """A column gets a value, or the value is added to it or taken from it (`op`)."""

    op: str
    column: str
    value: str | None


@dataclass(frozen=True, slots=True)
class Condition:
    """A column compared with a value; equal to NULL means that there is none. An index is compared with several."""

    op: str
    column: str
    value: str | tuple[str | None, ...] | None


def text_of(value: Any, what: str, of: SqlType | None = None) -> str | None:
    """The text of a value, as PostgreSQL would read it. Raises for what no column can hold."""
    if of is not None and of.element is not None and isinstance(value, list):
        return array_text([text_of(item, what, of.element) for item in value], str)
    match value:
        case None:
            return None
        case bool():
            return "true" if value else "false"
        case Number():
            return value.text
        case str() | int():
            return str(value)
        case list() | dict() if of in DOCUMENTS:
            return as_written(value)
    takers = "in a row, a column of json or jsonb does, and of lists one of arrays"
    raise bad_row(f'"{named(what)}" takes no list and no object, but {kind_of(value)} is given: {takers}')


@dataclass(frozen=True, slots=True)
class _Written:
    """A number within a document: a float would be written as Python writes it, with fewer digits."""

    text: str


def as_written(value: Any) -> str:
    """JSON of what an argument gave, its numbers digit by digit. Raises for what is nested too deeply."""
    return with_numbers(_written_out(value), lambda number: number.text)


def _written_out(value: Any, depth: int = 0) -> Any:
    if depth >= DEPTH_MAX and isinstance(value, list | dict):
        raise bad_row(TOO_DEEP)
    match value:
        case Number():
            return _Written(value.text)
        case list():
            return [_written_out(part, depth + 1) for part in value]
        case dict():
            return {name: _written_out(part, depth + 1) for name, part in value.items()}
    return value


def flat_row(descriptor: Descriptor, row: Any, *, is_object: bool) -> dict[str, str | None]:
    """A row by the names of its columns: an object as it is, a list in the order of the public columns."""
    if is_object:
        if not isinstance(row, dict):
            hint = "a row that is a list is for the operation without _object in its name"
            raise wrong("a row", SHAPES["object"], row, hint=hint if isinstance(row, list) else None)
        types = {column.name: column.type for column in descriptor.columns}
        return {name: text_of(value, name, types.get(name)) for name, value in row.items()}
    if not isinstance(row, list):
        hint = "a row that is an object is for the operation with _object in its name"
        raise wrong("a row", SHAPES["tuple"], row, hint=hint if isinstance(row, dict) else None)
    columns = descriptor.public_columns
    if len(row) > len(columns):
        names = ", ".join(column.name for column in columns[:NAMES_SHOWN_MAX])
        more = ", .." if len(columns) > NAMES_SHOWN_MAX else ""
        has = f"{descriptor} has {counted(len(columns), 'column')}, {names}{more}"
        raise bad_row(f"a row of {len(row)} values: {has}")
    return {c.name: text_of(value, c.name, c.type) for c, value in zip(columns, row, strict=False)}


def named_key(descriptor: Descriptor) -> Sequence[Column]:
    """The columns of the primary key that clients see. Raises `FlattenError` where there is none."""
    if not descriptor.declared_key:
        raise bad_row(f"{descriptor} has no primary key: its rows are found by conditions, or by an index")
    return [descriptor.column(column_id) for column_id in descriptor.declared_key]


def key_values(descriptor: Descriptor, key: Any) -> list[tuple[Column, str | None]]:
    columns = named_key(descriptor)
    return list(zip(columns, key_texts(descriptor, columns, key), strict=True))


def key_texts(descriptor: Descriptor, columns: Sequence[Column], key: Any) -> list[str | None]:
    if isinstance(key, dict):
        names = {column.name for column in columns}
        if set(key) != names:
            message = f"the primary key of {descriptor} is {', '.join(c.name for c in columns)}"
            raise bad_row(f"{message}: a key must have just these names, not those of {kind_of(key)}")
        given: Sequence[Any] = [key[column.name] for column in columns]
    else:
        given = key if isinstance(key, list) else [key]
    if len(given) != len(columns):
        has = f"{counted(len(columns), 'column')}, {', '.join(c.name for c in columns)}"
        raise bad_row(f"a key of {counted(len(given), 'value')}: the primary key of {descriptor} has {has}")
    return [text_of(value, column.name) for column, value in zip(columns, given, strict=True)]


def assignments(operations: Any) -> list[Assignment]:
    """[["=", column, value], ["+", column, number], ..]. Raises `RequestError`."""
    if not isinstance(operations, list) or not operations:
        raise wrong("operations", SHAPES["operations"], operations)
    found = []
    for number, one in enumerate(operations, 1):
        if not isinstance(one, list) or len(one) != 3 or not isinstance(one[1], str):
            hint = f"operations are {SHAPES['operations']}" if number == 1 and isinstance(one, str) else None
            raise wrong(f"operation {number}", UPDATE, one, hint=hint)
        op, column, value = one
        if op not in UPDATES:
            raise bad_request(f"there is no update operator {op!r}; there are: {', '.join(UPDATES)}")
        found.append(Assignment(op, column, text_of(value, column)))
    if len({one.column for one in found}) < len(found):
        names = [one.column for one in found]
        twice = next(name for name in names if names.count(name) > 1)
        raise bad_request(f'operations assign column "{named(twice)}" twice')
    return found


def conditions(given: Any) -> list[Condition]:
    """[[">=", column, value], ..], all of which must hold; None and [] are every row. Raises `RequestError`."""
    if given is None:
        return []
    if not isinstance(given, list):
        raise wrong("conditions", SHAPES["conditions"], given)
    found = []
    for number, one in enumerate(given, 1):
        if not isinstance(one, list) or len(one) != 3 or not isinstance(one[1], str):
            hint = f"conditions are {SHAPES['conditions']}" if number == 1 and isinstance(one, str) else None
            raise wrong(f"condition {number}", CONDITION, one, hint=hint)
        if one[0] not in COMPARISONS:
            raise bad_request(f"there is no comparison {one[0]!r}; there are: {', '.join(COMPARISONS)}")
        value = one[2]
        given = tuple(text_of(v, one[1]) for v in value) if isinstance(value, list) else text_of(value, one[1])
        found.append(Condition(COMPARISONS[one[0]], one[1], given))
    return found


def many_rows(given: Any, shape: str = SHAPES["rows"]) -> list[Any]:
    if not isinstance(given, list):
        raise wrong("the rows", shape, given)
    return given


def unflattened(rows: Any, metadata: Any) -> list[dict[str, Any]]:
    """Rows as objects, by the metadata they came with. Raises `RequestError`."""
    if not isinstance(metadata, list) or not all(
        isinstance(m, dict) and isinstance(m.get("name"), str) for m in metadata
    ):
        raise wrong("metadata", SHAPES["metadata"], metadata)
    names = [m["name"] for m in metadata]
    if len(set(names)) < len(names):
        raise bad_request("metadata names a column twice")
    listed = many_rows(rows)
    if len(listed) * (sum(map(len, names)) + 1) > UNFLATTENED_CHARS_MAX:
        message = f"{len(listed)} rows with their names are more than {UNFLATTENED_CHARS_MAX} characters"
        raise RequestError(PROGRAM_LIMIT, message, kind="LimitError")
    found = []
    for number, row in enumerate(listed, 1):
        if not isinstance(row, list) or len(row) != len(names):
            raise wrong(f"row {number}", f"a list of {counted(len(names), 'value')}, as metadata names them", row)
        found.append(dict(zip(names, row, strict=True)))
    return found
