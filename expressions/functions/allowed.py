"""The operators and functions that an expression may have, by name: those computed here, and others by their types."""

from expressions.functions import local, signatures
from expressions.functions.overloads import Named, Overload


def _table(*groups: Named) -> dict[str, tuple[Overload, ...]]:
    table: dict[str, tuple[Overload, ...]] = {}
    for group in groups:
        for name, overload in group:
            table[name] = (*table.get(name, ()), overload)
    return table


OPERATORS = _table(local.operators(), signatures.overloads_of(signatures.OPERATORS))
FUNCTIONS = _table(local.functions(), signatures.overloads_of(signatures.FUNCTIONS))
SETS = _table(signatures.overloads_of(signatures.SETS))
"""Functions that give rows."""
AGGREGATES = _table(signatures.overloads_of(signatures.AGGREGATES))
WINDOW_ONLY = _table(signatures.overloads_of(signatures.WINDOW_ONLY))
