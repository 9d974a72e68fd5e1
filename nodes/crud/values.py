"""Values of JSON as values of columns, and what a request means by a row, a key, an update or a condition.

A value becomes the text that PostgreSQL would read for the column, as `json_populate_record` does: 7, "7" and 7.5 are
all read by the column's own type. In a row, a list or an object is a value of json or jsonb, and a list is the array of
a column that has such.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from catalog.descriptor import Descriptor
from catalog.elements import Column
from catalog.values.arrays import array_text
from catalog.values.documents import DEPTH_MAX, TOO_DEEP, with_numbers
from catalog.values.types import DOCUMENTS, SqlType
from expressions.errors import PROGRAM_LIMIT
from nodes.crud.calls import Number
from nodes.crud.errors import RequestError, bad_request, bad_row

UNFLATTENED_CHARS_MAX = 4 * 2**20
"""Characters of names in an answer that repeats them in each row."""
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
            return with_numbers(_written_out(value), lambda number: number.text)
    of_them = "of a column of json or jsonb in a row, a list also of one of arrays, and of no other"
    raise bad_row(f"{what}: a list or an object is the value {of_them}")


@dataclass(frozen=True, slots=True)
class _Written:
    """A number within a document: a float would be written as Python writes it, with fewer digits."""

    text: str


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
            raise bad_request("a row of an object operation is an object")
        types = {column.name: column.type for column in descriptor.columns}
        return {name: text_of(value, name, types.get(name)) for name, value in row.items()}
    if not isinstance(row, list):
        raise bad_request("a row is a list of values, in the order of the columns")
    columns = descriptor.public_columns
    if len(row) > len(columns):
        raise bad_row(f"a row of {len(row)} values: {descriptor} has {len(columns)} columns")
    return {c.name: text_of(value, c.name, c.type) for c, value in zip(columns, row, strict=False)}


def named_key(descriptor: Descriptor) -> Sequence[Column]:
    """The columns of the primary key that clients see. Raises `FlattenError` where there is none."""
    if not descriptor.declared_key:
        raise bad_row(f"{descriptor} has no primary key: its rows are found by conditions, or by an index")
    return [descriptor.column(column_id) for column_id in descriptor.declared_key]


def key_values(descriptor: Descriptor, key: Any) -> list[tuple[Column, str | None]]:
    """A primary key, as a value, a list in the order of its columns, or an object."""
    columns = named_key(descriptor)
    if isinstance(key, dict):
        names = {column.name for column in columns}
        if set(key) != names:
            raise bad_row(f"the primary key of {descriptor} is {', '.join(c.name for c in columns)}")
        given: Sequence[Any] = [key[column.name] for column in columns]
    else:
        given = key if isinstance(key, list) else [key]
    if len(given) != len(columns):
        raise bad_row(f"a key of {len(given)} values: the primary key of {descriptor} has {len(columns)} columns")
    return [(column, text_of(value, column.name)) for column, value in zip(columns, given, strict=True)]


def assignments(operations: Any) -> list[Assignment]:
    """[["=", column, value], ["+", column, number], ..]. Raises `RequestError`."""
    if not isinstance(operations, list) or not operations:
        raise bad_request('operations are a list of [operator, column, value], like [["=", "name", "Emma"]]')
    found = []
    for one in operations:
        if not isinstance(one, list) or len(one) != 3 or not isinstance(one[1], str):
            raise bad_request("an operation is [operator, column, value]")
        op, column, value = one
        if op not in UPDATES:
            raise bad_request(f"there is no update operator {op!r}; there are: {', '.join(UPDATES)}")
        found.append(Assignment(op, column, text_of(value, column)))
    if len({one.column for one in found}) < len(found):
        raise bad_request("one column is assigned twice")
    return found


def conditions(given: Any) -> list[Condition]:
    """[[">=", column, value], ..], all of which must hold; None and [] are every row. Raises `RequestError`."""
    if given is None:
        return []
    if not isinstance(given, list):
        raise bad_request('conditions are a list of [operator, column, value], like [[">=", "id", 10]]')
    found = []
    for one in given:
        if not isinstance(one, list) or len(one) != 3 or not isinstance(one[1], str):
            raise bad_request("a condition is [operator, column, value]")
        if one[0] not in COMPARISONS:
            raise bad_request(f"there is no comparison {one[0]!r}; there are: {', '.join(COMPARISONS)}")
        value = one[2]
        given = tuple(text_of(v, one[1]) for v in value) if isinstance(value, list) else text_of(value, one[1])
        found.append(Condition(COMPARISONS[one[0]], one[1], given))
    return found


def many_rows(given: Any) -> list[Any]:
    if not isinstance(given, list):
        raise bad_request("a batch is a list of rows")
    return given


def unflattened(rows: Any, metadata: Any) -> list[dict[str, Any]]:
    """Rows as objects, by the metadata they came with. Raises `RequestError`."""
    if not isinstance(metadata, list) or not all(
        isinstance(m, dict) and isinstance(m.get("name"), str) for m in metadata
    ):
        raise bad_request("metadata is a list of objects with a name")
    names = [m["name"] for m in metadata]
    if len(set(names)) < len(names):
        raise bad_request("metadata names a column twice")
    listed = many_rows(rows)
    if len(listed) * (sum(map(len, names)) + 1) > UNFLATTENED_CHARS_MAX:
        message = f"{len(listed)} rows with their names are more than {UNFLATTENED_CHARS_MAX} characters"
        raise RequestError(PROGRAM_LIMIT, message, kind="LimitError")
    found = []
    for row in listed:
        if not isinstance(row, list) or len(row) != len(names):
            raise bad_request(f"a row does not have the {len(names)} values that the metadata names")
        found.append(dict(zip(names, row, strict=True)))
    return found
