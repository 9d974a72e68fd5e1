"""Functions of arrays over one row: the twins of the engine's texts (`arrays`, `array_makers`). An array is a tuple.

The elements that they look at are counted (`expressions.limits`), and what they make is no longer than a value may be.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from catalog.values.arrays import (
    DIMENSIONS_MAX,
    OF_ARRAYS,
    OF_ONE_DIMENSION,
    SIZE_MAX,
    TOO_MANY_DIMENSIONS,
)
from expressions.errors import NULL_NOT_ALLOWED, PROGRAM_LIMIT, SUBSCRIPT_ERROR, SqlError, unsupported
from expressions.limits import look_over, refuse_array, refuse_growth, refuse_length
from expressions.sqltypes import Type
from expressions.values.arithmetic import COMPARISONS, Compute, order_key

Items = tuple[Any, ...]
FROM_ONE = "an array whose elements do not count from 1"
NO_START = "initial position must not be null"
NO_DIMENSIONS = "dimension array or low bound array cannot be null"
NO_DIMENSION = "dimension values cannot be null"
OTHER_BOUNDS = "wrong number of array subscripts"
TOO_LARGE = f"array size exceeds the maximum allowed ({SIZE_MAX})"
NULL_THRESHOLD = "thresholds array must not contain NULLs"
TRIMMED_COUNT = "number of elements to trim must be between 0 and {}"
SAMPLE_SIZE = "sample size must be between 0 and {}"


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


def replaced(_: Any, array: Callable[[], Any], old: Callable[[], Any], new: Callable[[], Any]) -> Items | None:
    items, wanted, other = array(), old(), new()
    if items is None:
        return None
    look_over(items)
    key = _key(wanted)
    return bounded(tuple(other if _key(one) == key else one for one in items))


def _key(item: Any) -> Any:
    return None if item is None else order_key(item)


def places(items: Items, wanted: Any) -> Iterator[int]:
    """The numbers of the elements that are this value, or NULL like it."""
    look_over(items)
    key = _key(wanted)
    return (place for place, one in enumerate(items, start=1) if _key(one) == key)


def position(_: Any, array: Callable[[], Any], item: Callable[[], Any]) -> int | None:
    items, wanted = array(), item()
    return None if items is None else next(places(items, wanted), None)


def position_from(_: Any, array: Callable[[], Any], item: Callable[[], Any], start: Callable[[], Any]) -> int | None:
    items, wanted, first = array(), item(), start()
    if not items or (wanted is None and None not in items):
        return None
    if first is None:
        raise SqlError(NULL_NOT_ALLOWED, NO_START)
    return next((place for place in places(items, wanted) if place >= first), None)


def positions(_: Any, array: Callable[[], Any], item: Callable[[], Any]) -> Items | None:
    items, wanted = array(), item()
    return None if items is None else tuple(places(items, wanted))


def ordered(items: Items, is_descending: bool = False, nulls_first: bool | None = None) -> Items:
    """The elements in their order. NULLs are the greatest unless their place is given."""
    look_over(items)
    known = sorted((one for one in items if one is not None), key=order_key, reverse=is_descending)
    missing = (None,) * (len(items) - len(known))
    is_first = is_descending if nulls_first is None else nulls_first
    return (*missing, *known) if is_first else (*known, *missing)


def trimmed(items: Items, count: int) -> Items:
    """The array without so many of its last elements."""
    if not 0 <= count <= len(items):
        raise SqlError(SUBSCRIPT_ERROR, TRIMMED_COUNT.format(len(items)))
    return items[: len(items) - count]


def bucket(value: Any, thresholds: Items) -> int:
    """width_bucket: how many of the thresholds, which ascend, are not greater."""
    look_over(thresholds)
    if None in thresholds:
        raise SqlError(NULL_NOT_ALLOWED, NULL_THRESHOLD)
    key = order_key(value)
    return sum(order_key(one) <= key for one in thresholds)


def reversed_items(items: Items) -> Items:
    look_over(items)
    return items[::-1]


def filled(_: Any, item: Callable[[], Any], sizes: Callable[[], Any], *bounds: Callable[[], Any]) -> Items:
    """array_fill: an array of one value, where it has one dimension and counts from 1."""
    value, lengths = item(), sizes()
    firsts = bounds[0]() if bounds else (1,) * len(lengths or ())
    if lengths is None or firsts is None:
        raise SqlError(NULL_NOT_ALLOWED, NO_DIMENSIONS)
    if None in lengths:
        raise SqlError(NULL_NOT_ALLOWED, NO_DIMENSION)
    if len(lengths) > DIMENSIONS_MAX:
        raise SqlError(PROGRAM_LIMIT, TOO_MANY_DIMENSIONS)
    if None in firsts:
        raise SqlError(NULL_NOT_ALLOWED, NO_DIMENSION)
    if len(firsts) != len(lengths):
        raise SqlError(SUBSCRIPT_ERROR, OTHER_BOUNDS)
    if any(size < 0 for size in lengths):
        raise SqlError(PROGRAM_LIMIT, TOO_LARGE)
    if not lengths or 0 in lengths:
        return ()
    if len(lengths) > 1:
        raise unsupported(OF_ARRAYS, hint=OF_ONE_DIMENSION)
    if lengths[0] > SIZE_MAX:
        raise SqlError(PROGRAM_LIMIT, TOO_LARGE)
    refuse_growth(lengths[0])
    if firsts[0] != 1:
        raise unsupported(FROM_ONE)
    return bounded((value,) * lengths[0])


def shown_dimensions(items: Items) -> str | None:
    return f"[1:{len(items)}]" if items else None


def length(items: Items, dimension: int) -> int | None:
    return len(items) if dimension == 1 and items else None


def lower(items: Items, dimension: int) -> int | None:
    return 1 if dimension == 1 and items else None


def dimensions(items: Items) -> int | None:
    return 1 if items else None


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


def split(
    _: Any, text: Callable[[], Any], between: Callable[[], Any], missing: Callable[[], Any] = lambda: None
) -> Items | None:
    """string_to_array: without what stands between, each character. What is `missing` is NULL."""
    whole, word, unknown = text(), between(), missing()
    if whole is None:
        return None
    parts = tuple(whole) if word is None else tuple(whole.split(word)) if word and whole else (whole,) * bool(whole)
    return bounded(parts if unknown is None else tuple(None if part == unknown else part for part in parts))


_STRICT: Mapping[str, Compute] = {
    "@>": contains, "<@": is_contained, "&&": overlaps, "cardinality": len, "array_length": length,
    "array_upper": length, "array_lower": lower, "array_ndims": dimensions,
    "array_dims": shown_dimensions, "array_reverse": reversed_items, "array_sort": ordered, "trim_array": trimmed,
    "width_bucket": bucket,
    **COMPARISONS,
}  # fmt: skip
_LAZY: Mapping[str, Compute] = {
    "array_cat": concatenated, "array_append": appended, "array_prepend": prepended, "array_remove": removed,
    "array_position": position, "array_positions": positions, "array_replace": replaced, "array_fill": filled,
    "string_to_array": split,
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
    if name == "array_position" and len(args) == 3:
        return position_from, False
    if name in _LAZY:
        return _LAZY[name], False
    return _STRICT.get(name), True
