"""Arguments that PostgreSQL declares anycompatible: arrays and elements that become one type before they are looked at.

array_append(integer[], numeric)   is array_append(numeric[], numeric)
integer[] || bigint                is bigint[] || bigint
"""

from collections.abc import Callable, Sequence

from expressions.errors import SqlError
from expressions.sqltypes import ARRAY_OF, UNKNOWN, VECTORS, Type

_SHAPES = {
    "array_append": "ae", "array_prepend": "ea", "array_cat": "aa", "array_position": "ae", "array_positions": "ae",
    "array_remove": "ae", "array_replace": "aee", "width_bucket": "ea",
}  # fmt: skip
"""Which of the first arguments is an array, which an element."""
OPERATOR = "||"


def matched(name: str, given: Sequence[Type], common: Callable[[list[Type]], Type]) -> list[Type]:
    """The types that arguments of these types become; those that are given where there is nothing in common.

    `common` is PostgreSQL's choice of one type for several.
    """
    arrays = [VECTORS.get(of, of) for of in given]
    shape = _SHAPES.get(name, "")
    if name == OPERATOR and len(given) == 2:
        shape = "".join("a" if of.element is not None or of is UNKNOWN else "e" for of in arrays)
    if len(given) < len(shape) or "a" not in shape:
        return list(given)
    paired = list(zip(shape, arrays, strict=False))
    if any(kind == "a" and of is not UNKNOWN and of.element is None for kind, of in paired):
        return list(given)
    elements = [of.element if kind == "a" and of.element is not None else of for kind, of in paired]
    if all(of is UNKNOWN for of in elements):
        return list(given)
    try:
        element = common(elements)
    except SqlError:
        return list(given)
    if element not in ARRAY_OF:
        return list(given)
    return [*(ARRAY_OF[element] if kind == "a" else element for kind in shape), *given[len(shape) :]]
