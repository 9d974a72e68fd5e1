"""Arrays that begin at 0: the lists of numbers of pg_catalog, also where a cast makes arrays of them.

generate_subscripts(indkey::int2[], 1)     0, 1, ..
array_position(indkey, attnum)             the place, from 0 on
conkey = indkey::int2[]                    false: their numbers differ
"""

from collections.abc import Sequence

from expressions.errors import unsupported
from expressions.sqltypes import BOOL, VECTORS
from expressions.typed import Call, Expr

OF_BOUNDS = frozenset({"generate_subscripts", "array_lower", "array_upper", "array_dims"})
PLACES = {
    "array_position": "CAST({0} - 1 AS INTEGER)",
    "array_positions": "list_transform({0}, lambda n: CAST(n - 1 AS INTEGER))",
}
"""Of what those of an array that begins at 1 are."""


def list_below(expr: Expr) -> Expr | None:
    """The list of pg_catalog that an array is a cast of, or that it is; None of arrays that begin at 1."""
    while isinstance(expr, Call) and expr.name == "cast" and len(expr.args) == 1:
        expr = expr.args[0]
    return expr if expr.type in VECTORS else None


def with_bounds(name: str, args: Sequence[Expr]) -> list[Expr]:
    """The arguments of a function that tells the numbers of elements: of a list that was cast the list."""
    below = list_below(args[0]) if name in OF_BOUNDS and args else None
    return list(args) if below is None else [below, *args[1:]]


def places(name: str, args: Sequence[Expr], call: Call) -> Call:
    """The places that array_position and its like found, as the array numbers them."""
    if name not in PLACES or list_below(args[0]) is None:
        return call
    if len(args) > 2:
        hint = "leave the third argument away"
        raise unsupported(f"{name} from a place on in an array that begins at 0", call.offset, hint=hint)
    return Call(f"{name} from 0", PLACES[name], (call,), call.type, offset=call.offset)


def compared(name: str, args: Sequence[Expr], offset: int) -> Call | None:
    """= and <> of two arrays of which one begins at 0: they are never equal. None of others."""
    if name not in ("=", "<>") or len(args) != 2 or not all(arg.type.element for arg in args):
        return None
    if (list_below(args[0]) is None) == (list_below(args[1]) is None):
        return None
    verdict = "true" if name == "<>" else "false"
    template = f"CASE WHEN {{0}} IS NOT NULL AND {{1}} IS NOT NULL THEN {verdict} END"
    return Call(f"{name} from 0", template, tuple(args), BOOL, offset=offset)
