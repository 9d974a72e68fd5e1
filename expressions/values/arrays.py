"""Arrays: lists of values of one type, as PostgreSQL writes, compares and takes them apart.

A list of the query engine counts from 1 as PostgreSQL's does; the two vectors of pg_catalog count from 0. Arrays of
arrays are refused by name. What makes a longer array, or a text of one, is refused before it is longer than a value
may be.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from expressions.errors import PROGRAM_LIMIT, SqlError
from expressions.limits import grown, guarded, guarded_elements
from expressions.sqltypes import (
    ARRAY_OF,
    ARRAYS,
    BOOL,
    INT2VECTOR,
    INT4,
    JSON,
    NAME,
    NUMBERED,
    REGCLASS,
    REGTYPES,
    TEXT,
    VECTORS,
    Type,
    key_text,
    keys_text,
)
from expressions.values import array_makers
from expressions.values.arithmetic import OneOfValues

Line = tuple[str, tuple[Type, ...], Type, str]
"""One way to call a function: its name, the types it takes, the one it gives, the engine's text."""

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


class Contained:
    """The Python twin of = ANY (..), and negated of <> ALL (..): looked up, not compared one by one."""

    def __init__(self, *, negated: bool) -> None:
        self._negated = negated
        self._items: Any = None
        self._known = OneOfValues.of(())

    def __call__(self, context: Any, value: Callable[[], Any], items: Callable[[], Any]) -> bool | None:
        listed = items()
        if listed is None:
            return None
        if not listed:
            return self._negated
        if listed is not self._items:  # a parameter is the same for all rows
            self._items, self._known = listed, OneOfValues.of(listed)
        found = self._known(context, value)
        return None if found is None else found != self._negated


class OfChar:
    """An array's texts as values of char, whose blanks at the end do not count; the same array is taken once."""

    def __init__(self) -> None:
        self._given: Any = None
        self._kept: Any = ()

    def __call__(self, items: Sequence[str | None]) -> Any:
        if items is not self._given:
            self._kept = tuple(None if item is None else item.rstrip(" ") for item in items)
            self._given = items
        return self._kept


def verdict_of(name: str, compare: Callable[..., Any], word: str) -> Callable[..., bool | None]:
    """The Python twin of `tested`: the operands come as thunks."""
    if f"{name} {word}" in CONTAINED:
        return Contained(negated=word == "ALL")
    decided = word == "ANY"

    def compute(_: Any, value: Callable[[], Any], items: Callable[[], Any]) -> bool | None:
        listed, one = items(), value()
        if listed is None:
            return None
        refuse_many_tests(listed)
        tests = [None if one is None or item is None else compare(one, item) for item in listed]
        if decided in tests:
            return decided
        return None if None in tests else not decided

    return compute


CONTAINED = frozenset({"= ANY", "<> ALL"})
"""Tests that look an element up."""
TESTS_MAX = 1000
"""Elements that are compared one by one with the value of each row."""


def refuse_many_tests(items: Sequence[Any]) -> None:
    if len(items) > TESTS_MAX:
        message = f"a value may be compared with at most {TESTS_MAX} elements of an array, but for = ANY and <> ALL"
        raise SqlError(PROGRAM_LIMIT, message, hint="join unnest(..) of the array")


COMPARED = tuple(of for of in ARRAYS if of.element is not JSON)
"""Arrays of what can be compared."""

# -- operators and functions ------------------------------------------------------------------------------------

FEW = 4
"""The engine makes a table of the longer array to find all of the shorter one there: so many times shorter is few."""
_APART = "(CASE {} WHEN true THEN true WHEN false THEN false END)"
"""A comparison that the engine does not join with another to a BETWEEN, which it has not for arrays."""


def operators() -> Iterator[Line]:
    for of in COMPARED:
        for name in ("=", "<>", "<", "<=", ">", ">="):
            test = f"({{0}} {name} {{1}})"
            yield name, (of, of), BOOL, _compared(of, test if name in ("=", "<>") else _APART.format(test))
    for of, element in ((array, of) for of, array in ARRAY_OF.items()):
        for args, template in array_makers.joins(of, element):
            yield "||", args, of, template
        if of not in COMPARED:
            continue
        few = "len(list_distinct(list_intersect({1}, {0}))) = len(list_distinct({1}))"
        every = f"CASE WHEN len({{1}}) * {FEW} < len({{0}}) THEN {few} ELSE list_has_all({{0}}, {{1}}) END"
        holds = f"CASE WHEN {{0}} IS NOT NULL THEN {every} AND len({{1}}) = list_count({{1}}) END"
        yield "@>", (of, of), BOOL, _compared(of, holds)  # a NULL is in no array
        yield "<@", (of, of), BOOL, _compared(of, holds.format("{1}", "{0}"))
        yield "&&", (of, of), BOOL, _compared(of, "list_has_any({0}, {1})")


def _compared(of: Type, template: str) -> str:
    """The comparison of two arrays, of what the engine compares their elements by."""
    assert of.element is not None
    return template.format(*(keys_text(of.element, f"{{{i}}}") for i in range(2)))


def functions(number_texts: Mapping[Type, str]) -> Iterator[Line]:
    """`number_texts` are the engine's texts for a real or double as a client sees it."""
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
        shown = f"'[{of.first}:' || (len({{0}}) - 1 + {of.first}) || ']'"
        yield "array_dims", (of,), TEXT, f"CASE WHEN len({{0}}) > 0 THEN {shown} END"
        texts = _texts_of(element, number_texts)
        yield "array_to_string", (of, TEXT), TEXT, _joined_text(texts, "'l': {0}, 'd': {1}")
        filled = f"list_transform({texts}, lambda t: coalesce(t, s.n))"
        yield "array_to_string", (of, TEXT, TEXT), TEXT, _joined_text(filled, "'l': {0}, 'd': {1}, 'n': {2}")
        if of not in VECTORS:
            for name, (args, template) in zip(
                ("array_cat", "array_append", "array_prepend"), array_makers.joins(of, element), strict=True
            ):
                yield name, args, of, template
            yield from array_makers.lines_of_any(of, element)
        if of not in VECTORS and of in COMPARED:
            keys, key = keys_text(element, "{0}"), key_text(element, "{1}")
            place = f"CAST(nullif(list_position({keys}, {key}), 0) AS INTEGER)"
            yield "array_position", (of, element), INT4, place
            yield from array_makers.lines(of, element)
    yield "string_to_array", (TEXT, TEXT), ARRAY_OF[TEXT], _SPLIT
    yield "string_to_array", (TEXT, TEXT, TEXT), ARRAY_OF[TEXT], _SPLIT_WITH_NULLS
    yield "current_schemas", (BOOL,), ARRAY_OF[NAME], "CASE WHEN {0} THEN ['pg_catalog', 'public'] ELSE ['public'] END"


_SPLIT = (
    "list_transform([CASE WHEN {0} IS NULL THEN NULL WHEN {0} = '' THEN CAST([] AS VARCHAR[]) WHEN {1} = '' THEN [{0}]"
    f" ELSE string_split({{0}}, coalesce({{1}}, '')) END], lambda l: {guarded_elements('l', 'VARCHAR[]')})[1]"
)
_SPLIT_WITH_NULLS = (
    f"list_transform([{{{{'l': {_SPLIT}, 'n': {{2}}}}}}],"
    " lambda s: list_transform(s.l, lambda e: CASE WHEN e = s.n THEN NULL ELSE e END))[1]"
)


def _texts_of(element: Type, number_texts: Mapping[Type, str]) -> str:
    """The list `s.l` as the elements' texts, as a client sees them."""
    if element is BOOL:
        return "list_transform(s.l, lambda e: CASE WHEN e THEN 't' WHEN NOT e THEN 'f' END)"
    if element in number_texts:
        return f"list_transform(s.l, lambda e: {number_texts[element].replace('{0}', 'e')})"
    return "CAST(s.l AS VARCHAR[])"


def _joined_text(texts: str, operands: str) -> str:
    """Texts with `s.d` between them, refused where they are too long together: what is between multiplies.

    The engine joins by constants only, so by NUL first, which no text holds.
    """
    each = "coalesce(list_sum(list_transform(r.t, lambda e: strlen(e))), 0)"
    short = grown("len(r.t) * strlen(r.d)", "r.t", "VARCHAR[]")
    short = guarded(f"{each} + len(r.t) * strlen(r.d)", short, "VARCHAR[]")
    joined = f"replace(coalesce(array_to_string({short}, chr(0)), ''), chr(0), r.d)"
    whole = f"list_transform([{{{{'t': {texts}, 'd': s.d}}}}], lambda r: {joined})[1]"
    verdict = f"CASE WHEN s.l IS NOT NULL AND s.d IS NOT NULL THEN {whole} END"
    return f"list_transform([{{{{{operands}}}}}], lambda s: {verdict})[1]"


def sets() -> Iterator[Line]:
    """Functions that give rows: their rows as a list, of the type that is named."""
    for of in (*ARRAYS, REGTYPES):
        assert of.element is not None
        yield "unnest", (of,), of.element, "{0}"
        numbers = f"CAST(range({of.first}, len({{0}}) + {of.first}) AS INTEGER[])"
        yield "generate_subscripts", (of, INT4), INT4, f"CASE WHEN {{1}} = 1 THEN {numbers} END"
        either = f"CASE WHEN {{2}} THEN list_reverse({numbers}) WHEN NOT {{2}} THEN {numbers} END"
        yield "generate_subscripts", (of, INT4, BOOL), INT4, f"CASE WHEN {{1}} = 1 THEN {either} END"
    for of in (INT2VECTOR, ARRAY_OF[INT4]):
        yield (
            "_pg_expandarray",
            (of,),
            NUMBERED,
            "list_transform({0}, lambda v, i: {{'x': v, 'n': CAST(i AS INTEGER)}})",
        )
    yield "string_to_table", (TEXT, TEXT), TEXT, _SPLIT
    yield "string_to_table", (TEXT, TEXT, TEXT), TEXT, _SPLIT_WITH_NULLS
    yield "pg_partition_ancestors", (REGCLASS,), REGCLASS, "CAST([] AS BIGINT[])"
