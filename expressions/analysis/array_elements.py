"""SET array[number] = element: the assignment of one element of a column."""

from catalog.values.arrays import ELEMENTS_MAX, TOO_MANY_ELEMENTS
from expressions.errors import FEATURE_NOT_SUPPORTED, NULL_NOT_ALLOWED, PROGRAM_LIMIT
from expressions.limits import refusal
from expressions.typed import Expr, lazy_call
from expressions.values.array_values import FROM_ONE, NO_PLACE, with_element


def element_assigned(array: Expr, number: Expr, element: Expr, offset: int) -> Expr:
    """SET array[number] = element."""
    duck = array.type.duck
    refusals = "".join(
        f" WHEN {case} THEN {refusal(words, duck, code)}"
        for case, code, words in (
            ("s.n IS NULL", NULL_NOT_ALLOWED, NO_PLACE),
            ("s.n < 1 OR (s.n > 1 AND len(s.l) = 0)", FEATURE_NOT_SUPPORTED, f"{FROM_ONE} is not supported"),
            (f"s.n > {ELEMENTS_MAX}", PROGRAM_LIMIT, TOO_MANY_ELEMENTS),
        )
    )
    before = f"list_resize(s.l, greatest(least(s.n, {ELEMENTS_MAX}) - 1, 0))"
    found = f"CASE{refusals} ELSE list_concat({before}, [s.v], s.l[s.n + 1:]) END"
    operands = f"'l': coalesce({{0}}, CAST([] AS {duck})), 'n': {{1}}, 'v': {{2}}"
    template = f"list_transform([{{{{{operands}}}}}], lambda s: {found})[1]"
    return lazy_call("with element", template, (array, number, element), array.type, with_element, offset)
