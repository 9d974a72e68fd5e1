"""Functions of arrays over one row: the twins of the templates in `expressions.values.arrays`. An array is a tuple.

The elements that they look at are counted (`expressions.limits`), and what they make is no longer than a value may be.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from catalog.values.arrays import ELEMENTS_MAX
from expressions.errors import NULL_NOT_ALLOWED, SqlError, unsupported
from expressions.limits import look_over, refuse_array, refuse_length, too_many_elements
from expressions.sqltypes import Type
from expressions.values.arithmetic import COMPARISONS, Compute, order_key

Items = tuple[Any, ...]
NO_PLACE = "array subscript in assignment must not be null"
FROM_ONE = "an array whose elements do not count from 1"


def _keys(items: Items) -> set[Any]:
    look_over(items)
    return {order_key(item) for item in items if item is not None}


def contains(whole: Items, part: Items) -> bool:
    """The operator @>: a NULL is in no array."""
    look_over(part)
    known = _keys(whole)
    return all(item is not None and order_key(item) in known for item in part)


def is_contained(part: Items, whole: Items) -> bool:
    return contains(whole, part)


def overlaps(one: Items, other: Items) -> bool:
    return not _keys(one).isdisjoint(_keys(other))


def bounded(items: Items) -> Items:
    look_over(items)
    refuse_array(items)
    return items


def concatenated(_: Any, one: Callable[[], Any], other: Callable[[], Any]) -> Items | None:
    """array_cat: with NULL the other one."""
    left, right = one(), other()
    if left is None or right is None:
        found: Items | None = left if right is None else right
        return found
    return bounded((*left, *right))


def appended(_: Any, array: Callable[[], Any], item: Callable[[], Any]) -> Items:
    return bounded((*(array() or ()), item()))


def prepended(_: Any, item: Callable[[], Any], array: Callable[[], Any]) -> Items:
    return bounded((item(), *(array() or ())))


def removed(_: Any, array: Callable[[], Any], item: Callable[[], Any]) -> Items | None:
    items, left_out = array(), item()
    if items is None:
        return None
    look_over(items)
    if left_out is None:
        return tuple(one for one in items if one is not None)
    key = order_key(left_out)
    return tuple(one for one in items if one is None or order_key(one) != key)


def position(_: Any, array: Callable[[], Any], item: Callable[[], Any]) -> int | None:
    items, wanted = array(), item()
    if items is None:
        return None
    look_over(items)
    key = None if wanted is None else order_key(wanted)
    keys = (None if one is None else order_key(one) for one in items)
    return next((place for place, one in enumerate(keys, start=1) if one == key), None)


def length(items: Items, dimension: int) -> int | None:
    return len(items) if dimension == 1 and items else None


def lower(items: Items, dimension: int) -> int | None:
    return 1 if dimension == 1 and items else None


def dimensions(items: Items) -> int | None:
    return 1 if items else None


def element(items: Items, number: int) -> Any:
    return items[number - 1] if 1 <= number <= len(items) else None


def with_element(_: Any, array: Callable[[], Any], number: Callable[[], Any], item: Callable[[], Any]) -> Items:
    """The array with another element at this place; places that it did not have before are NULL."""
    items, place, value = array() or (), number(), item()
    if place is None:
        raise SqlError(NULL_NOT_ALLOWED, NO_PLACE)
    if place < 1 or (place > 1 and not items):
        raise unsupported(FROM_ONE)
    if place > ELEMENTS_MAX:
        raise too_many_elements()
    return bounded((*items[: place - 1], *(None for _ in range(place - 1 - len(items))), value, *items[place:]))


def made(_: Any, *thunks: Callable[[], Any]) -> Items:
    return bounded(tuple(thunk() for thunk in thunks))


def _joined(write: Callable[[Any], str]) -> Compute:
    def joined(
        _: Any, array: Callable[[], Any], between: Callable[[], Any], missing: Callable[[], Any] = lambda: None
    ) -> str | None:
        items, word, other = array(), between(), missing()
        if items is None or word is None:
            return None
        look_over(items)
        texts = [other if item is None else write(item) for item in items]
        known = [text for text in texts if text is not None]
        refuse_length(sum(map(len, known)) + len(word) * len(known))
        return str(word).join(known)

    return joined


def split(_: Any, text: Callable[[], Any], between: Callable[[], Any]) -> Items | None:
    """string_to_array: without what stands between, each character."""
    whole, word = text(), between()
    if whole is None:
        return None
    if word is None:
        return bounded(tuple(whole))
    if not whole:
        return ()
    return bounded(tuple(whole.split(word)) if word else (whole,))


_STRICT: Mapping[str, Compute] = {
    "@>": contains, "<@": is_contained, "&&": overlaps, "cardinality": len, "array_length": length,
    "array_upper": length, "array_lower": lower, "array_ndims": dimensions, **COMPARISONS,
}  # fmt: skip
_LAZY: Mapping[str, Compute] = {
    "array_cat": concatenated, "array_append": appended, "array_prepend": prepended, "array_remove": removed,
    "array_position": position, "string_to_array": split,
}  # fmt: skip


def compute_of(name: str, args: Sequence[Type], write: Callable[[Any], str] | None) -> tuple[Compute | None, bool]:
    """The function of that name for arguments of these types, and whether a NULL among them makes its value NULL.

    `write` shows an element as array_to_string does.
    """
    if any(of.first != 1 for of in args):
        return None, True
    if name == "||":
        is_array = [of.element is not None for of in args]
        return (concatenated if all(is_array) else appended if is_array[0] else prepended), False
    if name == "array_to_string":
        return (None if write is None else _joined(write)), False
    if name in _LAZY:
        return _LAZY[name], False
    return _STRICT.get(name), True
