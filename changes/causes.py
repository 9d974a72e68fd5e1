"""Which SQLSTATE a change failed with: of the rules that its rows break, the one a single row would be refused for.

A verification names what it found by clause and element; a rule that rows break is C6. Of several rules NOT NULL
comes first, then CHECK, then unique indexes, as for a row that is written.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from catalog.descriptor import Descriptor
from expressions.errors import CHECK_VIOLATION, NOT_NULL_VIOLATION, UNIQUE_VIOLATION
from storage.constraints import CHECK, NOT_NULL

IN_ORDER = (NOT_NULL_VIOLATION, CHECK_VIOLATION, UNIQUE_VIOLATION)


def sqlstate_of(violations: Iterable[Mapping[str, Any]], versions: Iterable[Descriptor]) -> str | None:
    """The code of what a change's runs found, its constraints as the versions have them; None: it broke no rule."""
    rules = {constraint.name: constraint.rule for version in versions for constraint in version.constraints}
    broken = {_code_of(found["element"], rules) for found in violations if found["clause"] == "C6"}
    return next((code for code in IN_ORDER if code in broken), None)


def _code_of(element: str, rules: Mapping[str, str]) -> str | None:
    """A column breaks its own NOT NULL, an index that its entries are unique."""
    kind, _, name = element.partition(" ")
    by_rule = {NOT_NULL: NOT_NULL_VIOLATION, CHECK: CHECK_VIOLATION}
    by_kind = {"column": NOT_NULL_VIOLATION, "index": UNIQUE_VIOLATION}
    return by_rule.get(rules.get(name, "")) if kind == "constraint" else by_kind.get(kind)
