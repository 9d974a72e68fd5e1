"""Arrays made of other arrays and of values: the engine's texts. Their twins are in `expressions.values.array_values`.

Operands are named once, as fields of `s`: a subquery cannot stand inside a lambda of the engine's. What would be longer
than a value may be is refused before it is made.
"""

from collections.abc import Iterator

from catalog.values.arrays import (
    DIMENSIONS_MAX,
    ELEMENTS_MAX,
    OF_ARRAYS,
    SIZE_MAX,
    TOO_MANY_DIMENSIONS,
    TOO_MANY_ELEMENTS,
)
from expressions.errors import (
    FEATURE_NOT_SUPPORTED,
    INVALID_PARAMETER_VALUE,
    NULL_NOT_ALLOWED,
    PROGRAM_LIMIT,
    SUBSCRIPT_ERROR,
)
from expressions.limits import GROWN_ELEMENTS_MAX, GROWN_TOO_FAR, VALUE_BYTES_MAX, grown, guarded, refusal
from expressions.sqltypes import ARRAY_OF, BOOL, INT4, KEYED, Type, key_text, keys_text
from expressions.values.array_values import (
    FROM_ONE,
    NO_DIMENSION,
    NO_DIMENSIONS,
    NO_START,
    NULL_THRESHOLD,
    OTHER_BOUNDS,
    SAMPLE_SIZE,
    TOO_LARGE,
    TRIMMED_COUNT,
)

Line = tuple[str, tuple[Type, ...], Type, str]
LENGTHS = {"VARCHAR": "strlen", "BLOB": "octet_length"}
"""What the engine calls the bytes of a value, for types that have no fixed number of them."""


def named(whole: str, **operands: str) -> str:
    """The engine's text `whole`, in which each operand is a field of `s`."""
    fields = ", ".join(f"'{name}': {text}" for name, text in operands.items())
    return f"list_transform([{{{{{fields}}}}}], lambda s: {whole})[1]"


def joins(of: Type, element: Type) -> Iterator[tuple[tuple[Type, ...], str]]:
    """Array and array, array and element, element and array; what would be longer than a value may be is refused."""
    many, has, has_one = "len({0}) + len({1})", "len({0})", "len({1})"
    refused, most = refusal(TOO_MANY_ELEMENTS, element.duck), ELEMENTS_MAX
    if element.duck in LENGTHS:
        many = has = has_one = "strlen(CAST({0} AS VARCHAR)) + strlen(CAST({1} AS VARCHAR))"
        refused, most = f"CAST({guarded(many, 'NULL')} AS {element.duck})", VALUE_BYTES_MAX
    whole = f"list_concat({{0}}, CASE WHEN {many} > {most} THEN [{refused}] ELSE {{1}} END)"
    yield (of, of), f"CASE WHEN {{0}} IS NOT NULL OR {{1}} IS NOT NULL THEN {whole} END"
    yield (of, element), f"list_append({{0}}, CASE WHEN {has} >= {most} THEN {refused} ELSE {{1}} END)"
    yield (element, of), f"list_prepend(CASE WHEN {has_one} >= {most} THEN {refused} ELSE {{0}} END, {{1}})"


def lines(of: Type, element: Type) -> Iterator[Line]:
    """Functions that make an array of one of type `of`, whose elements can be compared."""
    keys, key = keys_text(element, "s.l"), key_text(element, "{1}")
    kept = f"list_filter(s.l, lambda e: {key_text(element, 'e')} IS DISTINCT FROM s.k)"
    yield "array_remove", (of, element), of, named(kept, l="{0}", k=key)
    same = f"{key_text(element, 'e')} IS NOT DISTINCT FROM s.k"
    new = "s.t"
    if element.duck in LENGTHS:
        length = f"len(list_filter(s.l, lambda e: {same})) * {LENGTHS[element.duck]}(s.t)"
        new = grown(length, "s.t", element.duck)
    replaced = f"list_transform(s.l, lambda e: CASE WHEN {same} THEN {new} ELSE e END)"
    yield "array_replace", (of, element, element), of, named(replaced, l="{0}", k=key, t="{2}")
    places = f"list_transform({keys}, lambda k, i: CASE WHEN k IS NOT DISTINCT FROM s.k THEN i END)"
    found = f"CAST(list_filter({places}, lambda p: p IS NOT NULL) AS INTEGER[])"
    yield "array_positions", (of, element), ARRAY_OF[INT4], named(found, l="{0}", k=key)
    begin = (
        "CASE WHEN s.l IS NULL OR len(s.l) = 0 OR (s.k IS NULL AND len(s.l) = list_count(s.l)) THEN NULL"
        f" WHEN s.n IS NULL THEN {refusal(NO_START, 'INTEGER', NULL_NOT_ALLOWED)}"
        f" ELSE list_filter({found}, lambda p: p >= s.n)[1] END"
    )
    yield "array_position", (of, element, INT4), INT4, named(begin, l="{0}", k=key, n="{2}")
    below = f"CAST(len(list_filter({keys}, lambda k: k <= s.k)) AS INTEGER)"
    refused = refusal(NULL_THRESHOLD, "INTEGER", NULL_NOT_ALLOWED)
    bucket = f"CASE WHEN s.k IS NULL THEN NULL WHEN list_count(s.l) < len(s.l) THEN {refused} ELSE {below} END"
    yield "width_bucket", (element, of), INT4, named(bucket, l="{1}", k=key_text(element, "{0}"))
    yield "array_sort", (of,), of, named(ordered(of, "false", "false"), l="{0}")
    for more, first in (((BOOL,), "s.d"), ((BOOL, BOOL), "s.n")):
        operands = {"l": "{0}", "d": "{1}"} | ({"n": "{2}"} if len(more) == 2 else {})
        whole = f"CASE WHEN s.d IS NOT NULL AND {first} IS NOT NULL THEN {ordered(of, 's.d', first)} END"
        yield "array_sort", (of, *more), of, named(whole, **operands)


def ordered(of: Type, is_descending: str, nulls_first: str) -> str:
    """The elements of the list `s.l` in their order; equal ones stay as they were."""
    element = of.element
    assert element is not None
    known = "list_filter(s.l, lambda e: e IS NOT NULL)"
    if element in KEYED:
        key = key_text(element, "e")

        def sorted_by(sort: str, place: str) -> str:
            pairs = f"list_transform({known}, lambda e, i: {{{{'k': {key}, 'i': {place}, 'v': e}}}})"
            return f"list_transform({sort}({pairs}), lambda p: p.v)"
    else:

        def sorted_by(sort: str, place: str) -> str:
            return f"{sort}({known})"

    values = sorted_by("list_sort", "i")
    if is_descending != "false":
        values = f"CASE WHEN {is_descending} THEN {sorted_by('list_reverse_sort', '-i')} ELSE {values} END"
    missing = "list_filter(s.l, lambda e: e IS NULL)"
    last = f"list_concat({values}, {missing})"
    first = "" if nulls_first == "false" else f" WHEN {nulls_first} THEN list_concat({missing}, {values})"
    return f"CASE WHEN s.l IS NULL THEN NULL{first} ELSE {last} END"


def lines_of_any(of: Type, element: Type) -> Iterator[Line]:
    """Functions that make an array of type `of`, whatever its elements are."""
    yield "array_reverse", (of,), of, "list_reverse({0})"
    rest = "s.l[1:len(s.l) - s.n]"
    yield "trim_array", (of, INT4), of, named(_counted(of, TRIMMED_COUNT, SUBSCRIPT_ERROR, rest), l="{0}", n="{1}")
    places = "list_transform(s.l, lambda e, i: {{'h': md5(CAST(s.r AS VARCHAR) || ':' || CAST(i AS VARCHAR)), 'v': e}})"
    shuffled = f"list_transform(list_sort({places}), lambda p: p.v)"
    yield "array_shuffle", (of,), of, named(shuffled, l="{0}", r="random()")
    sample = _counted(of, SAMPLE_SIZE, INVALID_PARAMETER_VALUE, f"{shuffled}[1:s.n]")
    yield "array_sample", (of, INT4), of, named(sample, l="{0}", n="{1}", r="random()")
    numbers = ARRAY_OF[INT4]
    yield "array_fill", (element, numbers), of, named(_filled(of), v="{0}", d="{1}")
    bounded = _filled(of, "s.b IS NULL OR", "s.b")
    yield "array_fill", (element, numbers, numbers), of, named(bounded, v="{0}", d="{1}", b="{2}")


def _counted(of: Type, words: str, code: str, whole: str) -> str:
    """`whole` for a number `s.n` of elements of `s.l`, refused where it has not so many."""
    refused = refusal(words.format("' || len(s.l) || '"), of.duck, code)
    known = "WHEN s.l IS NULL OR s.n IS NULL THEN NULL"
    return f"CASE {known} WHEN s.n < 0 OR s.n > len(s.l) THEN {refused} ELSE {whole} END"


def _filled(of: Type, is_missing: str = "", bounds: str = "") -> str:
    """array_fill: the value `s.v` as often as the dimensions `s.d` say."""
    element = of.element
    assert element is not None
    cases = [
        (f"{is_missing} s.d IS NULL", NO_DIMENSIONS, NULL_NOT_ALLOWED),
        ("list_count(s.d) < len(s.d)", NO_DIMENSION, NULL_NOT_ALLOWED),
        (f"len(s.d) > {DIMENSIONS_MAX}", TOO_MANY_DIMENSIONS, PROGRAM_LIMIT),
    ]
    if bounds:
        cases.append((f"list_count({bounds}) < len({bounds})", NO_DIMENSION, NULL_NOT_ALLOWED))
        cases.append((f"len({bounds}) <> len(s.d)", OTHER_BOUNDS, SUBSCRIPT_ERROR))
    cases.append(("len(list_filter(s.d, lambda d: d < 0)) > 0", TOO_LARGE, PROGRAM_LIMIT))
    empty = f"WHEN len(s.d) = 0 OR list_contains(s.d, 0) THEN CAST([] AS {of.duck})"
    later = [
        ("len(s.d) > 1", f"{OF_ARRAYS} is not supported", FEATURE_NOT_SUPPORTED),
        (f"s.d[1] > {SIZE_MAX}", TOO_LARGE, PROGRAM_LIMIT),
        (f"s.d[1] > {GROWN_ELEMENTS_MAX}", GROWN_TOO_FAR, PROGRAM_LIMIT),
    ]
    if bounds:
        later.append((f"{bounds}[1] <> 1", f"{FROM_ONE} is not supported", FEATURE_NOT_SUPPORTED))
    value = "s.v"
    if element.duck in LENGTHS:
        value = grown(f"CAST(s.d[1] AS BIGINT) * {LENGTHS[element.duck]}(s.v)", "s.v", element.duck)
    whole = f"list_resize(CAST([] AS {of.duck}), s.d[1], {value})"
    return f"CASE {_refusals(cases, of)} {empty} {_refusals(later, of)} ELSE {whole} END"


def _refusals(cases: list[tuple[str, str, str]], of: Type) -> str:
    return " ".join(f"WHEN {case} THEN {refusal(words, of.duck, code)}" for case, words, code in cases)
