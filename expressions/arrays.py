"""Arrays: lists of values of one of the nine types, as PostgreSQL writes, compares and takes them apart.

They are values of statements only: a column has none. A list of the query engine counts from 1 as PostgreSQL's does;
the two vectors of pg_catalog count from 0. Arrays of arrays are refused by name.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from expressions.errors import SqlError, unsupported
from expressions.limits import VALUE_BYTES_MAX, guarded
from expressions.sqltypes import ARRAY_OF, ARRAYS, BOOL, FLOAT8, INT4, REGCLASS, TEXT, TIMESTAMPTZ, VECTORS, Type

Line = tuple[str, tuple[Type, ...], Type, str]
"""One way to call a function: its name, the types it takes, the one it gives, the engine's text."""

_PLAIN = re.compile(r'[^{}",\\\s]+')


def words_of(text: str) -> list[str | None]:
    """The elements of an array literal such as {1,2,NULL}. Raises 22P02."""
    inner = text.strip()
    if not (inner.startswith("{") and inner.endswith("}")):
        raise SqlError("22P02", f'malformed array literal: "{text}"')
    words: list[str | None] = []
    current, is_quoted, was_quoted, escape = "", False, False, False
    for char in inner[1:-1] + ",":
        if escape:
            current, escape = current + char, False
        elif char == "\\":
            escape = True
        elif char == '"':
            is_quoted, was_quoted = not is_quoted, True
        elif char == "," and not is_quoted:
            word = current if was_quoted else current.strip()
            words.append(None if word.upper() == "NULL" and not was_quoted else word)
            current, was_quoted = "", False
        elif char in "{}" and not is_quoted:
            raise (
                unsupported("an array of arrays")
                if char == "{"
                else SqlError("22P02", f'malformed array literal: "{text}"')
            )
        else:
            current += char
    if is_quoted or escape:
        raise SqlError("22P02", f'malformed array literal: "{text}"')
    return [] if words == [""] and not inner[1:-1].strip() else words


def vector_words(text: str) -> list[str | None]:
    """The elements of a vector of pg_catalog such as "1 2"."""
    return [*text.split()]


def array_text(items: Sequence[Any], write: Callable[[Any], str]) -> str:
    """An array as PostgreSQL shows it; `write` shows an element."""
    return "{" + ",".join("NULL" if item is None else _quoted(write(item)) for item in items) + "}"


def _quoted(text: str) -> str:
    if _PLAIN.fullmatch(text) and text.upper() != "NULL":
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


# -- tests against all elements ---------------------------------------------------------------------------------


def tested(comparison: str, word: str) -> str:
    """`{0} operator ANY (or ALL) ({1})` as the engine's text; `comparison` takes the value and an element.

    Operands are named once: a list function looks at its own names only, and a subquery cannot stand in one.
    """
    each = comparison.format("s.x", "e").replace("{", "{{").replace("}", "}}")
    tests = f"list_transform(s.l, lambda e: {each})"
    decided = "true" if word == "ANY" else "false"
    other = "false" if word == "ANY" else "true"
    verdict = (
        f"CASE WHEN s.l IS NULL THEN NULL WHEN list_contains({tests}, {decided}) THEN {decided}"
        f" WHEN len(list_filter({tests}, lambda t: t IS NULL)) > 0 THEN NULL ELSE {other} END"
    )
    return f"list_transform([{{{{'x': {{0}}, 'l': {{1}}}}}}], lambda s: {verdict})[1]"


def verdict_of(compare: Callable[..., Any], word: str) -> Callable[..., bool | None]:
    """The Python twin of `tested`: the operands come as thunks."""
    decided = word == "ANY"

    def compute(_: Any, value: Callable[[], Any], items: Callable[[], Any]) -> bool | None:
        listed, one = items(), value()
        if listed is None:
            return None
        tests = [None if one is None or item is None else compare(one, item) for item in listed]
        if decided in tests:
            return decided
        return None if None in tests else not decided

    return compute


# -- operators and functions ------------------------------------------------------------------------------------


def operators() -> Iterator[Line]:
    for of in ARRAYS:
        for name in ("=", "<>", "<", "<=", ">", ">="):
            yield name, (of, of), BOOL, f"({{0}} {name} {{1}})"
    for of, element in ((array, of) for of, array in ARRAY_OF.items()):
        for args, template in _joins(of, element):
            yield "||", args, of, template
        yield "@>", (of, of), BOOL, "list_has_all({0}, {1})"
        yield "<@", (of, of), BOOL, "list_has_all({1}, {0})"
        yield "&&", (of, of), BOOL, "list_has_any({0}, {1})"


def functions() -> Iterator[Line]:
    for of in ARRAYS:
        element = of.element
        assert element is not None
        count = "CAST(len({0}) AS INTEGER)"
        yield "cardinality", (of,), INT4, count
        yield "array_length", (of, INT4), INT4, f"CASE WHEN {{1}} = 1 AND len({{0}}) > 0 THEN {count} END"
        yield "array_lower", (of, INT4), INT4, f"CASE WHEN {{1}} = 1 AND len({{0}}) > 0 THEN {of.first} END"
        last = f"CAST(len({{0}}) - 1 + {of.first} AS INTEGER)"
        yield "array_upper", (of, INT4), INT4, f"CASE WHEN {{1}} = 1 AND len({{0}}) > 0 THEN {last} END"
        yield "array_ndims", (of,), INT4, "CASE WHEN len({0}) > 0 THEN 1 END"
        if element is not TIMESTAMPTZ:
            texts = _texts_of(element)
            yield "array_to_string", (of, TEXT), TEXT, f"array_to_string({texts}, {{1}})"
            filled = f"list_transform({texts}, lambda t: coalesce(t, {{2}}))"
            yield "array_to_string", (of, TEXT, TEXT), TEXT, f"array_to_string({filled}, {{1}})"
        if of not in VECTORS:
            place = "CAST(nullif(list_position({0}, {1}), 0) AS INTEGER)"
            yield "array_position", (of, element), INT4, place
            for name, (args, template) in zip(
                ("array_cat", "array_append", "array_prepend"), _joins(of, element), strict=True
            ):
                yield name, args, of, template
            kept = "list_filter({0}, lambda e: e IS DISTINCT FROM {1})"
            yield "array_remove", (of, element), of, kept
    yield "string_to_array", (TEXT, TEXT), ARRAY_OF[TEXT], _SPLIT
    yield "current_schemas", (BOOL,), ARRAY_OF[TEXT], "CASE WHEN {0} THEN ['pg_catalog', 'public'] ELSE ['public'] END"


def _joins(of: Type, element: Type) -> Iterator[tuple[tuple[Type, ...], str]]:
    """Array and array, array and element, element and array; what would be longer than a value may be is refused."""
    length = "strlen(CAST({0} AS VARCHAR)) + strlen(CAST({1} AS VARCHAR))"
    refused = f"CAST({guarded(length, 'NULL')} AS {element.duck})"
    whole = f"list_concat({{0}}, CASE WHEN {length} > {VALUE_BYTES_MAX} THEN [{refused}] ELSE {{1}} END)"
    yield (of, of), whole
    one = f"CASE WHEN {length} > {VALUE_BYTES_MAX} THEN {refused} ELSE {{1}} END"
    yield (of, element), f"list_append({{0}}, {one})"
    yield (element, of), f"list_prepend({one.replace('ELSE {1}', 'ELSE {0}')}, {{1}})"


_SPLIT = (
    "CASE WHEN {0} IS NULL THEN NULL WHEN {0} = '' THEN CAST([] AS VARCHAR[]) WHEN {1} = '' THEN [{0}]"
    " ELSE string_split({0}, coalesce({1}, '')) END"
)


def _texts_of(element: Type) -> str:
    """The list of the elements' texts, as a client sees them."""
    if element is BOOL:
        return "list_transform({0}, lambda e: CASE WHEN e THEN 't' WHEN NOT e THEN 'f' END)"
    if element is FLOAT8:
        return "list_transform({0}, lambda e: regexp_replace(CAST(e AS VARCHAR), '\\.0$', ''))"
    return "CAST({0} AS VARCHAR[])"


def sets() -> Iterator[Line]:
    """Functions that give rows: their rows as a list, of the type that is named."""
    for of in ARRAYS:
        assert of.element is not None
        yield "unnest", (of,), of.element, "{0}"
        numbers = f"CAST(range({of.first}, len({{0}}) + {of.first}) AS INTEGER[])"
        yield "generate_subscripts", (of, INT4), INT4, f"CASE WHEN {{1}} = 1 THEN {numbers} END"
    yield "string_to_table", (TEXT, TEXT), TEXT, _SPLIT
    yield "pg_partition_ancestors", (REGCLASS,), REGCLASS, "CAST([] AS BIGINT[])"
