"""Elements and slices of an array, as typed expressions: a[2], a[2:3], SET a[2] = .., SET a[2:3] = .. of a column."""

from collections.abc import Sequence

from catalog.values.arrays import DIMENSIONS_MAX, OF_ARRAYS, OF_ONE_DIMENSION
from expressions.errors import PROGRAM_LIMIT, SqlError, unsupported
from expressions.sqltypes import ARRAY_OF, VECTORS, Type
from expressions.typed import Call, Expr, lazy_call, modifier_of
from expressions.values import array_parts

Bounds = tuple[Expr | None, Expr | None]
"""The numbers of the first and the last element of a slice, where they are given."""


def element_of(array: Expr, number: Expr) -> Expr:
    """array[number]."""
    of = array.type.element
    assert of is not None
    return Call("element", (array, number), of, offset=array.offset, modifier=modifier_of(array))


def deeper_element_of(array: Expr, numbers: Sequence[Expr]) -> Expr:
    """array[number][number]: there is none, as an array has one dimension."""
    refuse_many_dimensions(len(numbers), array.offset)
    of = array.type.element
    assert of is not None
    return Call("no element", (array, *numbers), of, offset=array.offset)


def slice_of(array: Expr, slices: Sequence[Bounds]) -> Expr:
    """array[first:last]; of more dimensions than one it is empty. A bound that is not given is the array's."""
    refuse_many_dimensions(len(slices), array.offset)
    bounds = [bound for both in slices for bound in both if bound is not None]
    of = VECTORS.get(array.type, array.type)
    return Call("slice", (array, *bounds), of, offset=array.offset, modifier=modifier_of(array))


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


def element_assigned(array: Expr, number: Expr, element: Expr, offset: int) -> Expr:
    """SET array[number] = element."""
    return lazy_call("with element", (array, number, element), array.type, array_parts.with_element, offset)


def slice_assigned(array: Expr, bounds: Bounds, source: Expr, offset: int) -> Expr:
    """SET array[first:last] = source, an array."""
    given = [bound for bound in bounds if bound is not None]
    has_first, has_last = (bound is not None for bound in bounds)
    name = f"with slice {'a' * has_first}:{'b' * has_last}"
    compute = array_parts.with_slice(has_first=has_first, has_last=has_last)
    return lazy_call(name, (array, *given, source), array.type, compute, offset)
