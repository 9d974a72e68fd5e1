"""The SQLSTATE of a failed change: that of refusing a single row that breaks its rules (C6), by the first of NOT NULL,
CHECK, unique indexes, foreign keys, as for a row that is written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from catalog.descriptor import Descriptor
from catalog.elements import CHECK, FOREIGN_KEY, NOT_NULL, REFERENCED
from expressions.errors import CHECK_VIOLATION, FOREIGN_KEY_VIOLATION, NOT_NULL_VIOLATION, UNIQUE_VIOLATION

IN_ORDER = (NOT_NULL_VIOLATION, CHECK_VIOLATION, UNIQUE_VIOLATION, FOREIGN_KEY_VIOLATION)
BY_RULE = {NOT_NULL: NOT_NULL_VIOLATION, CHECK: CHECK_VIOLATION, FOREIGN_KEY: FOREIGN_KEY_VIOLATION}
BY_KIND = {"column": NOT_NULL_VIOLATION, "index": UNIQUE_VIOLATION}


def sqlstate_of(violations: Iterable[Mapping[str, Any]], versions: Iterable[Descriptor]) -> str | None:
    """The code of the violations that runs found; None when no rule is broken."""
    own_rules = [one for version in versions for one in version.constraints if one.rule != REFERENCED]
    rules = {constraint.name: constraint.rule for constraint in own_rules}
    known = [(found.get("sqlstate"), found) for found in violations]
    broken = {_code_of(found["element"], rules) for code, found in known if found["clause"] == "C6" and not code}
    own = (code for code, _ in known if code)
    return next((code for code in IN_ORDER if code in broken), next(own, None))


def place_of(sqlstate: str | None) -> int:
    return IN_ORDER.index(sqlstate) if sqlstate in IN_ORDER else len(IN_ORDER)


def _code_of(element: str, rules: Mapping[str, str]) -> str | None:
    kind, _, name = element.partition(" ")
    return BY_RULE.get(rules.get(name, "")) if kind == "constraint" else BY_KIND.get(kind)
