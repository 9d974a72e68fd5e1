"""Arrays with other elements and slices assigned. One that would not count from 1 is refused by name."""

from collections.abc import Callable
from typing import Any

from catalog.values.arrays import ELEMENTS_MAX, SIZE_MAX
from expressions.errors import NULL_NOT_ALLOWED, PROGRAM_LIMIT, SUBSCRIPT_ERROR, SqlError, unsupported
from expressions.limits import look_over, refuse_array, refuse_growth, too_many_elements

Items = tuple[Any, ...]
FROM_ONE = "an array whose elements do not count from 1"
TOO_LARGE = f"array size exceeds the maximum allowed ({SIZE_MAX})"

NO_PLACE = "array subscript in assignment must not be null"
BOTH_BOUNDS = "array slice subscript must provide both boundaries"
OF_EMPTY = "When assigning to a slice of an empty array value, slice boundaries must be fully specified."
BACKWARDS = "upper bound cannot be less than lower bound"
TOO_SMALL = "source array too small"


def bounded(items: Items) -> Items:
    look_over(items)
    refuse_array(items)
    return items


def with_element(_: Any, array: Callable[[], Any], number: Callable[[], Any], item: Callable[[], Any]) -> Items:
    """The array with another element at this place; places that it did not have before are NULL."""
    items, place, value = array() or (), number(), item()
    if place is None:
        raise SqlError(NULL_NOT_ALLOWED, NO_PLACE)
    if place < 1 or (place > 1 and not items):
        raise unsupported(FROM_ONE)
    refuse_growth(place - len(items))
    return bounded(_put(items, place, (value,), place))


def _put(items: Items, first: int, new: Items, last: int) -> Items:
    return (*items[: first - 1], *(None for _ in range(first - 1 - len(items))), *new, *items[last:])


def with_slice(*, has_first: bool, has_last: bool) -> Callable[..., Items]:
    def computed(_: Any, array: Callable[[], Any], *given: Callable[[], Any]) -> Items:
        *thunks, source = given
        items, bounds, new = array() or (), [thunk() for thunk in thunks], source()
        if None in bounds:
            raise SqlError(NULL_NOT_ALLOWED, NO_PLACE)
        if new is None:
            return items
        if not items and len(bounds) < 2:
            raise SqlError(SUBSCRIPT_ERROR, BOTH_BOUNDS, detail=OF_EMPTY)
        first = bounds[0] if has_first else 1
        last = bounds[-1] if has_last else len(items)
        _refuse_bounds(items, first, last, len(new))
        if last < first:
            return items
        if first < 1 or (first > 1 and not items):
            raise unsupported(FROM_ONE)
        if last > ELEMENTS_MAX:
            raise too_many_elements()
        refuse_growth(first - len(items))
        return bounded(_put(items, first, new[: last - first + 1], last))

    return computed


def _refuse_bounds(items: Items, first: int, last: int, length: int) -> None:
    size = last - first + 1
    if items and size < 1:
        raise SqlError(SUBSCRIPT_ERROR, BACKWARDS)
    whole = max(len(items), last) - min(1, first) + 1 if items else size
    if not 0 <= whole <= SIZE_MAX:
        raise SqlError(PROGRAM_LIMIT, TOO_LARGE)
    if length < size:
        raise SqlError(SUBSCRIPT_ERROR, TOO_SMALL)
