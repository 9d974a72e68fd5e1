"""Elements and slices of an array, as typed expressions: a[2], a[2:3], SET a[2] = .., SET a[2:3] = .. of a column."""

from collections.abc import Sequence

from catalog.values.arrays import (
    DIMENSIONS_MAX,
    ELEMENTS_MAX,
    OF_ARRAYS,
    OF_ONE_DIMENSION,
    SIZE_MAX,
    TOO_MANY_ELEMENTS,
)
from expressions.errors import (
    FEATURE_NOT_SUPPORTED,
    NULL_NOT_ALLOWED,
    PROGRAM_LIMIT,
    SUBSCRIPT_ERROR,
    SqlError,
    unsupported,
)
from expressions.limits import GROWN_ELEMENTS_MAX, GROWN_TOO_FAR, refusal
from expressions.sqltypes import ARRAY_OF, INT2, INT2VECTOR, INT4, VECTORS, Type
from expressions.typed import Call, Expr, Literal, lazy_call, modifier_of
from expressions.values import array_parts
from expressions.values.array_parts import BACKWARDS, BOTH_BOUNDS, NO_PLACE, TOO_SMALL
from expressions.values.array_values import FROM_ONE, TOO_LARGE

Bounds = tuple[Expr | None, Expr | None]
"""The numbers of the first and the last element of a slice, where they are given."""
LAST = Literal(2**31 - 1, INT4)


def element_of(array: Expr, number: Expr) -> Expr:
    """array[number]."""
    of, first = array.type.element, array.type.first
    assert of is not None
    place = "{1}" if first == 1 else f"{{1}} + {1 - first}"
    template = f"CASE WHEN {{1}} >= {first} THEN {{0}}[{place}] END"
    compute = array_parts.element if first == 1 else None
    return Call("element", template, (array, number), of, compute, offset=array.offset, modifier=modifier_of(array))


def deeper_element_of(array: Expr, numbers: Sequence[Expr]) -> Expr:
    """array[number][number]: there is none, as an array has one dimension."""
    refuse_many_dimensions(len(numbers), array.offset)
    of = array.type.element
    assert of is not None
    return Call("no element", f"CAST(NULL AS {of.duck})", (array, *numbers), of, lambda *_: None, offset=array.offset)


def slice_of(array: Expr, slices: Sequence[Bounds]) -> Expr:
    """array[first:last]; of more dimensions than one it is empty. A bound that is not given is the array's."""
    refuse_many_dimensions(len(slices), array.offset)
    begin = array.type.first
    of = ARRAY_OF[INT2] if array.type is INT2VECTOR else VECTORS.get(array.type, array.type)
    if len(slices) > 1:
        bounds = [bound for both in slices for bound in both if bound is not None]
        known = " AND ".join(f"{{{place}}} IS NOT NULL" for place in range(len(bounds) + 1))
        template = f"CASE WHEN {known} THEN CAST([] AS {of.duck}) END"
        return Call("no slice", template, (array, *bounds), of, lambda *_: (), offset=array.offset)
    ((first, last),) = slices
    shift = "" if begin == 1 else f" + {1 - begin}"
    part = f"{{0}}[greatest(CAST({{1}} AS BIGINT){shift}, 1):greatest(CAST({{2}} AS BIGINT){shift}, 0)]"
    part = f"CAST({part} AS {of.duck})" if begin != 1 else part
    template = f"CASE WHEN {{1}} IS NOT NULL AND {{2}} IS NOT NULL THEN {part} END"
    args = (array, Literal(begin, INT4) if first is None else first, LAST if last is None else last)
    compute = array_parts.sliced if begin == 1 else None
    return Call("slice", template, args, of, compute, offset=array.offset, modifier=modifier_of(array))


def refuse_many_dimensions(count: int, offset: int) -> None:
    if count > DIMENSIONS_MAX:
        message = f"number of array dimensions ({count}) exceeds the maximum allowed ({DIMENSIONS_MAX})"
        raise SqlError(PROGRAM_LIMIT, message, offset)


def refuse_elements(of: Type, offset: int) -> None:
    """Refuses elements that a node has no array of."""
    if of.element is not None:
        raise unsupported(OF_ARRAYS, offset, hint=OF_ONE_DIMENSION)
    if of not in ARRAY_OF:
        raise unsupported(f"an array of {of}", offset)


Case = tuple[str, str, str]
"""When an assignment is refused, by which code, in which words."""


def element_assigned(array: Expr, number: Expr, element: Expr, offset: int) -> Expr:
    """SET array[number] = element."""
    of = array.type
    refusals = _refusals(
        of,
        ("s.n IS NULL", NULL_NOT_ALLOWED, NO_PLACE),
        ("s.n < 1 OR (s.n > 1 AND len(s.l) = 0)", FEATURE_NOT_SUPPORTED, f"{FROM_ONE} is not supported"),
        _refused_growth("s.n"),
        (f"s.n > {ELEMENTS_MAX}", PROGRAM_LIMIT, TOO_MANY_ELEMENTS),
    )
    found = f"CASE{refusals} ELSE {_put('s.n', '[s.v]', 's.n')} END"
    operands = f"'l': coalesce({{0}}, CAST([] AS {of.duck})), 'n': {{1}}, 'v': {{2}}"
    template = f"list_transform([{{{{{operands}}}}}], lambda s: {found})[1]"
    return lazy_call("with element", template, (array, number, element), of, array_parts.with_element, offset)


def slice_assigned(array: Expr, bounds: Bounds, source: Expr, offset: int) -> Expr:
    """SET array[first:last] = source, an array."""
    of = array.type
    given = [bound for bound in bounds if bound is not None]
    has_first, has_last = (bound is not None for bound in bounds)
    first = "s.a" if has_first else "1"
    last = "s.b" if has_last else "len(s.l)"
    size = f"{last} - {first} + 1"
    unknown = " OR ".join(f"s.{name} IS NULL" for name, has in (("a", has_first), ("b", has_last)) if has)
    whole = f"greatest(len(s.l), {last}) - least(1, {first}) + 1"
    refused: list[Case] = [
        ("len(s.l) = 0", SUBSCRIPT_ERROR, BOTH_BOUNDS)
        if len(given) < 2
        else (f"len(s.l) = 0 AND NOT {size} BETWEEN 0 AND {SIZE_MAX}", PROGRAM_LIMIT, TOO_LARGE),
        (f"len(s.l) > 0 AND {first} > {last}", SUBSCRIPT_ERROR, BACKWARDS),
        (f"len(s.l) > 0 AND {whole} > {SIZE_MAX}", PROGRAM_LIMIT, TOO_LARGE),
        (f"len(s.v) < {size}", SUBSCRIPT_ERROR, TOO_SMALL),
    ]
    after: list[Case] = [
        (f"{first} < 1 OR ({first} > 1 AND len(s.l) = 0)", FEATURE_NOT_SUPPORTED, f"{FROM_ONE} is not supported"),
        (f"{last} > {ELEMENTS_MAX}", PROGRAM_LIMIT, TOO_MANY_ELEMENTS),
        _refused_growth(first),
    ]
    unknown_bound = _refusals(of, (unknown, NULL_NOT_ALLOWED, NO_PLACE)) if unknown else ""
    unchanged = f" WHEN {last} < {first} THEN s.l"
    put = _put(first, f"s.v[1:{size}]", last)
    found = f"CASE{unknown_bound} WHEN s.v IS NULL THEN s.l{_refusals(of, *refused)}{unchanged}"
    found += f"{_refusals(of, *after)} ELSE {put} END"
    names = [name for name, has in (("a", has_first), ("b", has_last)) if has]
    fields = [f"'{name}': CAST({{{place}}} AS BIGINT)" for place, name in enumerate(names, 1)]
    operands = ", ".join([f"'l': coalesce({{0}}, CAST([] AS {of.duck}))", *fields, f"'v': {{{len(given) + 1}}}"])
    template = f"list_transform([{{{{{operands}}}}}], lambda s: {found})[1]"
    name = f"with slice {'a' * has_first}:{'b' * has_last}"
    compute = array_parts.with_slice(has_first=has_first, has_last=has_last)
    return lazy_call(name, template, (array, *given, source), of, compute, offset)


def _refused_growth(first: str) -> Case:
    """For the elements from the end of the list `s.l` to its new place `first`."""
    return f"{first} > len(s.l) + {GROWN_ELEMENTS_MAX}", PROGRAM_LIMIT, GROWN_TOO_FAR


def _put(first: str, new: str, last: str) -> str:
    """The list `s.l` with others from one of its places to another."""
    before = f"list_resize(s.l, greatest(least({first} - 1, len(s.l) + {GROWN_ELEMENTS_MAX}), 0))"
    return f"list_concat({before}, {new}, s.l[{last} + 1:])"


def _refusals(of: Type, *cases: Case) -> str:
    return "".join(f" WHEN {case} THEN {refusal(words, of.duck, code)}" for case, code, words in cases)
